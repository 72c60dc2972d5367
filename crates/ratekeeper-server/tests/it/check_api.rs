//! `POST /v1/check`: decisions, byte by byte, over real connections.

use crate::server::Server;
use crate::wire::{Reply, check, connect, read_reply, request};
use std::io::Write;
use std::time::Duration;

const ALICE: &str = r#"{"rule":"token-bucket","key":"alice"}"#;

fn remaining(reply: &Reply) -> u64 {
    reply.json()["remaining"].as_u64().expect("an answer has `remaining`")
}

/// Goal: an allowed check has every member of a decision, in order, and no other.
/// Method: compare the whole body of a first call, while the clock stands still.
#[test]
fn an_allowed_check_is_answered_by_a_whole_decision() {
    let server = Server::start();
    let reply = check(server.address, ALICE);
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("application/json")));
    assert_eq!(
        reply.body,
        concat!(
            r#"{"allowed":true,"rule":"token-bucket","limit":10,"remaining":9,"retry_after":null,"#,
            r#""reset_after":1.0,"delay":null,"never":false,"source":"store","id":null,"version":1,"#,
            r#""results":[{"rule":"token-bucket","allowed":true,"limit":10,"remaining":9,"#,
            r#""retry_after":null,"reset_after":1.0,"delay":null,"never":false,"shadow":false}]}"#
        )
    );
}

/// Goal: each demo rule admits ten and refuses the eleventh, with status 200 and an exact wait.
/// Method: eleven calls at one instant; then wait as told, less a microsecond, then that one too.
#[test]
fn the_eleventh_check_is_refused_until_the_time_it_names() {
    let rules = [
        "fixed-window",
        "sliding-window-log",
        "sliding-window-counter",
        "token-bucket",
        "leaky-bucket",
        "leaky-bucket-shaping",
    ];
    let server = Server::start();
    for rule in rules {
        let ask = || check(server.address, &format!(r#"{{"rule":"{rule}","key":"alice"}}"#));
        for left in (0..10).rev() {
            assert_eq!(remaining(&ask()), left, "{rule} admits ten");
        }
        let refusal = ask();
        let json = refusal.json();
        assert_eq!((refusal.status, json["allowed"].as_bool()), (200, Some(false)), "{rule}");
        assert_eq!(json["results"][0]["retry_after"], json["retry_after"], "{rule}");
        let wait = Duration::from_secs_f64(json["retry_after"].as_f64().expect("a wait"));
        let tick = Duration::from_micros(1);
        server.clock.advance(wait - tick);
        assert_eq!(ask().json()["retry_after"], 1e-6, "{rule} refuses a tick before");
        server.clock.advance(tick);
        assert_eq!(ask().json()["allowed"], true, "{rule} admits at the time it named");
    }
}

/// Goal: times are decimals, exact to the microsecond.
/// Method: ask a drained bucket after times whose doubles are awkward.
#[test]
fn times_are_decimals_exact_to_the_microsecond() {
    let server = Server::start();
    check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":10}"#);
    for (micros, wait) in [(600_000, "0.4"), (1, "0.399999"), (299_999, "0.1"), (99_990, "0.00001")]
    {
        server.clock.advance(Duration::from_micros(micros));
        let body = check(server.address, ALICE).body;
        assert!(body.contains(&format!(r#""retry_after":{wait},"#)), "{wait} in {body}");
    }
}

/// Goal: a cost above the limit is refused for good, and a cost of 0 charges nothing.
/// Method: ask for eleven of ten, look, and look again.
#[test]
fn a_cost_that_never_fits_says_so_and_a_peek_charges_nothing() {
    let server = Server::start();
    let never = check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":4294967296}"#);
    let json = never.json();
    assert_eq!((json["allowed"].as_bool(), json["never"].as_bool()), (Some(false), Some(true)));
    assert!(json["retry_after"].is_null(), "no wait helps");
    for _ in 0..2 {
        let peek = check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":0}"#);
        assert_eq!(remaining(&peek), 10);
    }
}

/// Goal: a key's parts are told apart, and one part is the same alone and in an array.
/// Method: charge such keys once each and look at what is left.
#[test]
fn keys_are_told_apart_by_their_parts() {
    let server = Server::start();
    let ask = |key: &str| {
        let body = format!(r#"{{"rule":"token-bucket","key":{key}}}"#);
        remaining(&check(server.address, &body))
    };
    assert_eq!(ask(r#""alice""#), 9);
    assert_eq!(ask(r#"["alice"]"#), 8);
    assert_eq!(ask(r#""\u0061lice""#), 7);
    assert_eq!(ask(r#"["a","bc"]"#), 9);
    assert_eq!(ask(r#"["ab","c"]"#), 9);
    assert_eq!(ask(r#""abc""#), 9);
}

/// Goal: a batch is answered in order, each check by itself, up to 64 of them.
/// Method: two keys in turn, one of them over its limit; then the largest batch.
#[test]
fn a_batch_is_answered_in_order() {
    let server = Server::start();
    let item =
        |key: &str, cost: u64| format!(r#"{{"rule":"token-bucket","key":"{key}","cost":{cost}}}"#);
    let batch = [item("alice", 9), item("bob", 1), item("alice", 2), item("alice", 1)].join(",");
    let json = check(server.address, &format!("[{batch}]")).json();
    let answers = json.as_array().expect("a batch is answered by an array");
    let seen: Vec<_> =
        answers.iter().map(|it| (it["allowed"].as_bool(), it["remaining"].as_u64())).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(seen, [(yes, Some(1)), (yes, Some(9)), (no, Some(1)), (yes, Some(0))]);

    let largest = vec![item("carol", 0); 64].join(",");
    let json = check(server.address, &format!("[{largest}]")).json();
    assert_eq!(json.as_array().map(Vec::len), Some(64));
}

/// Goal: a batch with one bad item is refused before anything is charged.
/// Method: a good item, then a bad one; look at the good one's key.
#[test]
fn a_bad_item_refuses_the_whole_batch_and_charges_nothing() {
    let server = Server::start();
    let reply = check(
        server.address,
        &format!(r#"[{ALICE},{{"rule":"token-bucket","key":"b","cost":-1}}]"#),
    );
    assert_eq!((reply.status, reply.json()["field"].as_str()), (400, Some("[1].cost")));
    let peek = check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":0}"#);
    assert_eq!(remaining(&peek), 10);
}

/// Goal: a connection is good for many checks, also after a bad one.
/// Method: one connection; a check, a bad check, a check.
#[test]
fn a_connection_is_kept_for_more_checks() {
    let server = Server::start();
    let mut stream = connect(server.address);
    for (body, status) in [(ALICE, 200), ("{", 400), (ALICE, 200)] {
        let bytes = request("POST /v1/check", "", body);
        stream.write_all(bytes.as_bytes()).expect("the connection is open");
        assert_eq!(read_reply(&mut stream).status, status);
    }
}
