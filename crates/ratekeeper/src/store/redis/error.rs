//! What can go wrong with the store, each with what is done about it.
//!
//! Invariant: every class of error has one row in [`Class::policy`]; no error is handled by its text
//! anywhere else.

use std::fmt;

/// Why the store did not answer, or what is wrong with how it is set up. Shows no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    place: String,
    class: Class,
    fault: String,
}

/// What kind of error it is; the name is that of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The URL or an option makes no sense.
    Config,
    /// It took longer than the deadline.
    Timeout,
    /// No connection, or it was lost.
    Connection,
    /// The server does not know the script.
    NoScript,
    /// The slot is on another server, or about to be.
    Moved,
    /// The slot is on its way to another server.
    Ask,
    /// Keys of one slot are in two places for a moment.
    TryAgain,
    /// The server cannot serve for now: loading, busy, out of memory, without its cluster or replicas.
    Unavailable,
    /// The server is a replica.
    ReadOnly,
    /// The server does not let us in, or does not let us do our work.
    Denied,
    /// The server has as many clients as it takes.
    MaxClients,
    /// One key holds something that is not ours.
    BadValue,
    /// An answer that no Redis would give, or a fault of ours.
    Alien,
    /// The breaker is open: the store failed a moment ago.
    Open,
    /// There are as many calls under way as may be.
    Busy,
}

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether the connection is dropped.
    pub drops: bool,
    /// When to try once more, inside of the deadline.
    pub retry: Again,
    /// What the breaker makes of it.
    pub breaker: Breaks,
    /// What becomes of the decision, if there is no retry or it fails, too.
    pub decision: Outcome,
}

/// When a call is made once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Never.
    No,
    /// If it was not sent yet.
    Unsent,
    /// With the whole script.
    Whole,
    /// At the place that the answer names.
    There,
    /// After a millisecond or two.
    Soon,
    /// After looking up where the master is.
    Resolved,
}

/// What the breaker makes of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// Nothing.
    No,
    /// One failure.
    Counts,
    /// It opens at once.
    Opens,
}

/// What becomes of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule's policy for outages decides.
    Outage,
    /// This key is refused.
    Refused,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 15] = [
        Class::Config,
        Class::Timeout,
        Class::Connection,
        Class::NoScript,
        Class::Moved,
        Class::Ask,
        Class::TryAgain,
        Class::Unavailable,
        Class::ReadOnly,
        Class::Denied,
        Class::MaxClients,
        Class::BadValue,
        Class::Alien,
        Class::Open,
        Class::Busy,
    ];

    /// What is done about it.
    pub const fn policy(self) -> Policy {
        use Again::{Resolved, Soon, There, Unsent, Whole};
        use Breaks::{Counts, Opens};
        use Outcome::{Outage, Refused};
        let (drops, retry, breaker, decision) = match self {
            Class::Config => (false, Again::No, Breaks::No, Outage),
            Class::Timeout | Class::Connection => (true, Unsent, Counts, Outage),
            Class::NoScript => (false, Whole, Breaks::No, Outage),
            Class::Moved | Class::Ask => (false, There, Breaks::No, Outage),
            Class::TryAgain => (false, Soon, Breaks::No, Outage),
            Class::Unavailable => (false, Again::No, Counts, Outage),
            Class::ReadOnly => (true, Resolved, Counts, Outage),
            Class::Denied => (true, Again::No, Opens, Outage),
            Class::MaxClients => (true, Again::No, Counts, Outage),
            Class::BadValue => (false, Again::No, Breaks::No, Refused),
            Class::Alien => (true, Again::No, Counts, Outage),
            Class::Open | Class::Busy => (false, Again::No, Breaks::No, Outage),
        };
        Policy { drops, retry, breaker, decision }
    }

    /// The name that metrics have.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Config => "config",
            Class::Timeout => "timeout",
            Class::Connection => "connection",
            Class::NoScript => "no_script",
            Class::Moved => "moved",
            Class::Ask => "ask",
            Class::TryAgain => "try_again",
            Class::Unavailable => "unavailable",
            Class::ReadOnly => "read_only",
            Class::Denied => "denied",
            Class::MaxClients => "max_clients",
            Class::BadValue => "bad_value",
            Class::Alien => "alien",
            Class::Open => "open",
            Class::Busy => "busy",
        }
    }

    /// The class of an error inside of a script: that of the call which failed, where the server tells it;
    /// else a value that is not ours made the script stumble.
    fn of_script(detail: &str) -> Class {
        let words = detail.split_whitespace().map(|word| word.trim_start_matches('-'));
        let known =
            words.map(|word| Class::of_reply(word, "")).find(|class| *class != Class::Alien);
        known.unwrap_or(Class::BadValue)
    }

    /// The class of a server's error, by its first word; or by all of it, where that word says little.
    pub fn of_reply(code: &str, detail: &str) -> Class {
        match code {
            "NOSCRIPT" => Class::NoScript,
            "MOVED" => Class::Moved,
            "ASK" => Class::Ask,
            "TRYAGAIN" => Class::TryAgain,
            "CLUSTERDOWN" | "MASTERDOWN" | "LOADING" | "BUSY" | "MISCONF" | "OOM"
            | "NOREPLICAS" => Class::Unavailable,
            "READONLY" => Class::ReadOnly,
            "NOAUTH" | "WRONGPASS" | "NOPERM" => Class::Denied,
            "WRONGTYPE" => Class::BadValue,
            "ERR" if detail.contains("max number of clients") => Class::MaxClients,
            // What a user may not do inside of a script.
            "ERR" if detail.contains("user executing the script") => Class::Denied,
            "ERR" if detail.contains("user_script") => Class::of_script(detail),
            "ERR" if detail.contains("AUTH") || detail.contains("invalid password") => {
                Class::Denied
            }
            _ => Class::Alien,
        }
    }
}

impl StoreError {
    pub(super) fn new(place: &str, class: Class, fault: impl Into<String>) -> StoreError {
        // What a server says is shown without what could steer a terminal, and not without end.
        let fault = fault.into();
        let fault = fault.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
        StoreError { place: place.to_owned(), class, fault }
    }

    pub(super) fn config(place: &str, fault: &str) -> StoreError {
        StoreError::new(place, Class::Config, fault)
    }

    /// What kind of error it is.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The server that it came from, as a URL or an address; its secrets are masked.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The address that an answer of a cluster sends us to: `MOVED 3999 127.0.0.1:6381`.
    pub(super) fn redirection(&self) -> Option<&str> {
        self.fault.split(' ').nth(2)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store `{}`: {}", self.place, self.fault)
    }
}

impl std::error::Error for StoreError {}
