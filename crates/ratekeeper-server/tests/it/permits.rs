//! Concurrency rules on the wire: permits in the answer, given back by a call or by their time.

use crate::server::Holds;
use crate::server::Server;
use crate::wire::{check, post};
use ratekeeper::{Limit, Limiter};
use ratekeeper_server::serve::Bounds;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

const ALICE: &str = r#"{"rule":"exports","key":"alice"}"#;

fn remaining(server: &Server) -> u64 {
    let peek = check(server.address, r#"{"rule":"exports","key":"alice","cost":0}"#).json();
    peek["remaining"].as_u64().expect("an answer has `remaining`")
}

/// The permit of an answer.
fn permit(answer: &Value) -> String {
    answer["permit"].as_str().expect("there is a permit").to_owned()
}

fn release(server: &Server, permit: &str) -> String {
    post(server.address, "/v1/release", &format!(r#"{{"permit":"{permit}"}}"#)).body
}

/// Goal: an answer under a concurrency rule has a permit and every other member, and no hold.
/// Method: the whole body, its permit cut out.
#[test]
fn a_check_is_answered_with_a_permit() {
    let server = Server::more(Holds::default());
    let reply = check(server.address, ALICE);
    let permit = permit(&reply.json());
    assert!(permit.len() == 16 && permit.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
    assert_eq!(
        reply.body.replace(&permit, "PERMIT"),
        concat!(
            r#"{"allowed":true,"rule":"exports","limit":4,"remaining":3,"retry_after":null,"#,
            r#""reset_after":null,"delay":null,"never":false,"source":"store","id":null,"#,
            r#""version":1,"permit":"PERMIT","results":[{"rule":"exports","allowed":true,"#,
            r#""limit":4,"remaining":3,"retry_after":null,"reset_after":null,"delay":null,"#,
            r#""never":false,"shadow":false}]}"#
        )
    );
}

/// Goal: a permit is given back once, and only by its own name.
/// Method: take all four; a fifth is refused without a permit or a wait; give one back, twice.
#[test]
fn a_permit_is_released_once() {
    let server = Server::more(Holds::default());
    let permits: BTreeSet<String> =
        (0..4).map(|_| permit(&check(server.address, ALICE).json())).collect();
    assert_eq!(permits.len(), 4, "each has a name of its own");
    let refusal = check(server.address, ALICE).json();
    assert_eq!(refusal["allowed"], false);
    assert_eq!((&refusal["retry_after"], &refusal["never"]), (&Value::Null, &false.into()));
    assert_eq!((refusal.get("permit"), refusal.get("hold")), (None, None));

    let first = permits.first().expect("there are four");
    assert_eq!(release(&server, first), r#"{"released":true}"#);
    assert_eq!(release(&server, first), r#"{"released":false}"#);
    assert_eq!(release(&server, "0123456789abcdef"), r#"{"released":false}"#);
    assert_eq!(remaining(&server), 1);
}

/// Goal: a permit that nobody gives back is free after the rule's time, and not before.
/// Method: move the clock to a microsecond before its minute is over, then to its end.
#[test]
fn a_permit_ends_with_its_time() {
    let server = Server::more(Holds::default());
    let permit = permit(&check(server.address, ALICE).json());
    server.clock.advance(Duration::from_micros(59_999_999));
    assert_eq!(remaining(&server), 3);
    server.clock.advance(Duration::from_micros(1));
    assert_eq!(remaining(&server), 4);
    assert_eq!(release(&server, &permit), r#"{"released":false}"#);
}

/// Goal: each check of a batch has a permit of its own where it took one.
/// Method: a batch of a peek, permits until they are out, one for another key, and another rule.
#[test]
fn a_batch_has_a_permit_for_each_check_that_took_one() {
    let server = Server::more(Holds::default());
    let item = |rule: &str, key: &str, cost: u64| {
        format!(r#"{{"rule":"{rule}","key":"{key}","cost":{cost}}}"#)
    };
    let batch = [
        item("exports", "alice", 0),
        item("exports", "alice", 1),
        item("exports", "alice", 3),
        item("exports", "alice", 1),
        item("exports", "bob", 1),
        item("tokens", "alice", 1),
    ];
    let answers = check(server.address, &format!("[{}]", batch.join(","))).json();
    let answers = answers.as_array().expect("a batch is answered by an array");
    let seen: Vec<(bool, u64, bool)> = answers
        .iter()
        .map(|it| (it["allowed"] == true, it["remaining"].as_u64(), it.get("permit").is_some()))
        .map(|(allowed, left, permit)| (allowed, left.expect("a figure"), permit))
        .collect();
    let (peek, first, rest) = ((true, 4, false), (true, 3, true), (true, 0, true));
    let (refused, bob, other) = ((false, 0, false), (true, 3, true), (true, 99, false));
    assert_eq!(seen, [peek, first, rest, refused, bob, other]);

    let permits = [1, 2, 4].map(|index: usize| permit(&answers[index]));
    assert_eq!(BTreeSet::from_iter(&permits).len(), 3);
    assert_eq!(release(&server, &permits[1]), r#"{"released":true}"#);
    assert_eq!(remaining(&server), 3, "all that one check took is one permit");
}

/// Goal: a hold has permits until it is settled, cancelled, or its time is over.
/// Method: reserve under the rule and end the hold in each way; others see the permits come back.
#[test]
fn a_hold_keeps_its_permits_until_it_ends() {
    // The rule's own time is a minute, less than the table's.
    let time = Duration::from_secs(60);
    let server = Server::more(Holds::new(8, Duration::from_secs(90)));
    let reserve = || {
        let body = r#"{"rule":"exports","key":"alice","cost":4}"#;
        let answer = post(server.address, "/v1/reserve", body).json();
        assert_eq!((&answer["allowed"], answer.get("permit")), (&true.into(), None));
        assert_eq!(check(server.address, ALICE).json()["allowed"], false);
        answer["hold"].clone()
    };
    // What was used is of no account: a permit is held or it is not.
    let settle = format!(r#"{{"hold":{},"cost":4}}"#, reserve());
    assert_eq!(post(server.address, "/v1/settle", &settle).body, r#"{"settled":true}"#);
    assert_eq!(remaining(&server), 4);
    let cancel = format!(r#"{{"hold":{}}}"#, reserve());
    assert_eq!(post(server.address, "/v1/cancel", &cancel).body, r#"{"cancelled":true}"#);
    assert_eq!(remaining(&server), 4);
    reserve();
    server.clock.advance(time - Duration::from_micros(1));
    assert_eq!(remaining(&server), 0, "a check finds it held");
    server.clock.advance(Duration::from_micros(1));
    assert_eq!(remaining(&server), 4, "a check finds it free");
}

/// Goal: a hold under a rule that shapes, too, keeps its permits for their time from its turn on.
/// Method: the second reservation has its turn in six seconds; look before and after five more.
#[test]
fn a_hold_keeps_its_permits_from_its_turn_on() {
    let limits =
        [Limit::per_minute(10).shaping(), Limit::concurrent(2).hold(Duration::from_secs(5))];
    let builder = Limiter::memory().rule("exports", limits).expect("these are limits");
    let server = Server::of(builder, Holds::default(), Bounds::default());
    let reserve = || post(server.address, "/v1/reserve", ALICE).json();
    let (first, second) = (reserve(), reserve());
    assert_eq!((&first["delay"], &second["delay"]), (&0.0.into(), &6.0.into()));
    assert_eq!(remaining(&server), 0);
    server.clock.advance(Duration::from_secs(5));
    assert_eq!(remaining(&server), 1, "the first one's time is over");
    server.clock.advance(Duration::from_secs(6) - Duration::from_micros(1));
    assert_eq!(remaining(&server), 1, "the second one's began with its turn");
    server.clock.advance(Duration::from_micros(1));
    assert_eq!(remaining(&server), 2);
}
