//! Every error that a store can answer with, and what is done about it, as the contract has it.
//!
//! Invariant: the rows below are written down here, not taken from the library.

use ratekeeper::outage::{Again, Breaks, Class, Outcome, Policy};

/// What a server says, and what follows.
const REPLIES: [(&str, &str, Class); 22] = [
    ("NOSCRIPT", "No matching script. Please use EVAL.", Class::NoScript),
    ("MOVED", "3999 127.0.0.1:6381", Class::Moved),
    ("ASK", "3999 127.0.0.1:6381", Class::Ask),
    ("TRYAGAIN", "Multiple keys request during rehashing of slot", Class::TryAgain),
    ("CLUSTERDOWN", "Hash slot not served", Class::Unavailable),
    ("MASTERDOWN", "Link with MASTER is down", Class::Unavailable),
    ("LOADING", "Redis is loading the dataset in memory", Class::Unavailable),
    ("BUSY", "Redis is busy running a script.", Class::Unavailable),
    ("MISCONF", "Redis is configured to save RDB snapshots", Class::Unavailable),
    ("OOM", "command not allowed when used memory > 'maxmemory'.", Class::Unavailable),
    ("NOREPLICAS", "Not enough good replicas to write.", Class::Unavailable),
    ("READONLY", "You can't write against a read only replica.", Class::ReadOnly),
    ("NOAUTH", "Authentication required.", Class::Denied),
    ("WRONGPASS", "invalid username-password pair or user is disabled.", Class::Denied),
    ("NOPERM", "User rk has no permissions to run the 'eval' command", Class::Denied),
    ("ERR", "Client sent AUTH, but no password is set", Class::Denied),
    ("ERR", "max number of clients reached", Class::MaxClients),
    ("WRONGTYPE", "Operation against a key holding the wrong kind of value", Class::BadValue),
    ("CROSSSLOT", "Keys in request don't hash to the same slot", Class::Alien),
    ("ERR", "unknown command 'EVALSHA'", Class::Alien),
    ("ERR", "user_script:1: attempt to index a nil value", Class::BadValue),
    ("WHATEVER", "nobody has heard of this", Class::Alien),
];

/// Goal: each reply of a server is of the kind that the contract says.
/// Method: the replies as servers write them.
#[test]
fn every_reply_has_its_class() {
    for (code, detail, class) in REPLIES {
        assert_eq!(Class::of_reply(code, detail), class, "{code} {detail}");
    }
}

/// Goal: each kind of error is handled as the contract says, and none is without a row.
/// Method: the rows, written down again.
#[test]
fn every_class_has_its_row() {
    use Again::{No, Resolved, Soon, There, Unsent, Whole};
    use Breaks::{Counts, Opens};
    use Outcome::{Outage, Refused};
    let rows = [
        (Class::Config, false, No, Breaks::No, Outage),
        (Class::Timeout, true, Unsent, Counts, Outage),
        (Class::Connection, true, Unsent, Counts, Outage),
        (Class::NoScript, false, Whole, Breaks::No, Outage),
        (Class::Moved, false, There, Breaks::No, Outage),
        (Class::Ask, false, There, Breaks::No, Outage),
        (Class::TryAgain, false, Soon, Breaks::No, Outage),
        (Class::Unavailable, false, No, Counts, Outage),
        (Class::ReadOnly, true, Resolved, Counts, Outage),
        (Class::Denied, true, No, Opens, Outage),
        (Class::MaxClients, true, No, Counts, Outage),
        (Class::BadValue, false, No, Breaks::No, Refused),
        (Class::Alien, true, No, Counts, Outage),
        (Class::Open, false, No, Breaks::No, Outage),
        (Class::Busy, false, No, Breaks::No, Outage),
    ];
    assert_eq!(rows.map(|(class, ..)| class), Class::ALL);
    for (class, drops, retry, breaker, decision) in rows {
        assert_eq!(class.policy(), Policy { drops, retry, breaker, decision }, "{class:?}");
    }
}
