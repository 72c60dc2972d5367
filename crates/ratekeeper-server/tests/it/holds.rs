//! Reservations on the wire: an estimate is charged by one call, and settled or cancelled by another.

use crate::bad_calls::told;
use crate::golden::assert_golden;
use crate::program::Program;
use crate::server::Holds;
use crate::server::Server;
use crate::wire::{check, post};
use ratekeeper::limiter::HOLD_TIME;
use std::fmt::Write;
use std::time::Duration;

/// Units left of the 100 that `tokens` has.
fn left(server: &Server, key: &str) -> u64 {
    let peek = format!(r#"{{"rule":"tokens","key":"{key}","cost":0}}"#);
    let peek = check(server.address, &peek).json();
    peek["remaining"].as_u64().expect("an answer has `remaining`")
}

/// Reserves so many tokens, which are to be had, and returns the hold.
fn reserve(server: &Server, key: &str, cost: u64) -> String {
    let body = format!(r#"{{"rule":"tokens","key":"{key}","cost":{cost}}}"#);
    let answer = post(server.address, "/v1/reserve", &body).json();
    answer["hold"].as_str().expect("an admitted reservation has a hold").to_owned()
}

fn settle(server: &Server, hold: &str, cost: u64) -> String {
    let body = format!(r#"{{"hold":"{hold}","cost":{cost}}}"#);
    post(server.address, "/v1/settle", &body).body
}

fn cancel(server: &Server, hold: &str) -> String {
    post(server.address, "/v1/cancel", &format!(r#"{{"hold":"{hold}"}}"#)).body
}

/// Goal: an admitted reservation is answered by a whole decision with a hold; a refused one has none.
/// Method: compare the whole bodies, the hold cut out.
#[test]
fn a_reservation_is_answered_by_a_decision_with_a_hold() {
    let server = Server::more(Holds::default());
    let ask = || {
        post(server.address, "/v1/reserve", r#"{"rule":"tokens","key":["alice","chat"],"cost":60}"#)
    };
    let reply = ask();
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("application/json")));
    let json = reply.json();
    let hold = json["hold"].as_str().expect("there is a hold");
    assert!(hold.len() == 16 && hold.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
    assert_eq!(
        reply.body.replace(hold, "HOLD"),
        concat!(
            r#"{"allowed":true,"rule":"tokens","limit":100,"remaining":40,"retry_after":null,"#,
            r#""reset_after":60.0,"delay":null,"never":false,"source":"store","id":null,"#,
            r#""version":1,"hold":"HOLD","results":[{"rule":"tokens","allowed":true,"#,
            r#""limit":100,"remaining":40,"retry_after":null,"reset_after":60.0,"delay":null,"#,
            r#""never":false,"shadow":false}]}"#
        )
    );
    let refused = ask();
    let id = refused.json()["id"].as_str().expect("a refusal has a name").to_owned();
    assert_eq!(
        refused.body.replace(&format!("\"{id}\""), "null"),
        concat!(
            r#"{"allowed":false,"rule":"tokens","limit":100,"remaining":40,"retry_after":60.0,"#,
            r#""reset_after":60.0,"delay":null,"never":false,"source":"store","id":null,"#,
            r#""version":1,"results":[{"rule":"tokens","allowed":false,"limit":100,"#,
            r#""remaining":40,"retry_after":60.0,"reset_after":60.0,"delay":null,"never":false,"#,
            r#""shadow":false}]}"#
        )
    );
}

/// Goal: settling gives back what was not used and charges what was used beyond, once.
/// Method: a table of estimates and prices; each is settled again at another price, and cancelled.
#[test]
fn settling_charges_what_was_used_and_only_once() {
    let server = Server::more(Holds::default());
    for (key, used, after) in
        [("same", 40, 60), ("less", 25, 75), ("none", 0, 100), ("more", 70, 30), ("most", 900, 0)]
    {
        let hold = reserve(&server, key, 40);
        assert_eq!(left(&server, key), 60, "{key}");
        assert_eq!(settle(&server, &hold, used), r#"{"settled":true}"#, "{key}");
        assert_eq!(left(&server, key), after, "{key}");
        assert_eq!(settle(&server, &hold, 1), r#"{"settled":false}"#, "{key}");
        assert_eq!(cancel(&server, &hold), r#"{"cancelled":false}"#, "{key}");
        assert_eq!(left(&server, key), after, "{key}");
    }
    assert_eq!(settle(&server, "0123456789abcdef", 1), r#"{"settled":false}"#, "an unknown hold");
}

/// Goal: cancelling gives all of its own hold back, once.
/// Method: two holds of one key; cancel one of them, twice, and try to settle it.
#[test]
fn cancelling_gives_one_hold_back_and_only_once() {
    let server = Server::more(Holds::default());
    let (first, second) = (reserve(&server, "alice", 30), reserve(&server, "alice", 20));
    assert_ne!(first, second);
    assert_eq!(cancel(&server, &first), r#"{"cancelled":true}"#);
    assert_eq!(left(&server, "alice"), 80);
    assert_eq!(cancel(&server, &first), r#"{"cancelled":false}"#);
    assert_eq!(settle(&server, &first, 1), r#"{"settled":false}"#);
    assert_eq!(left(&server, "alice"), 80);
    assert_eq!(settle(&server, &second, 5), r#"{"settled":true}"#);
    assert_eq!(left(&server, "alice"), 95);
}

/// Goal: a hold lives for ten minutes, and then stays charged.
/// Method: of two holds, a microsecond apart, one has ended when the other has not; a third ends while
/// its window lasts.
#[test]
fn a_hold_whose_time_is_over_stays_charged() {
    let server = Server::more(Holds::default());
    assert_eq!(HOLD_TIME, Duration::from_secs(600));
    let (tick, window) = (Duration::from_micros(1), Duration::from_secs(60));
    let early = reserve(&server, "early", 40);
    server.clock.advance(tick);
    let late = reserve(&server, "late", 40);
    server.clock.advance(HOLD_TIME - tick);
    assert_eq!(settle(&server, &early, 0), r#"{"settled":false}"#);
    assert_eq!(settle(&server, &late, 0), r#"{"settled":true}"#);

    // Shorter than the window, so that the charge is still to be seen.
    let server = Server::more(Holds::new(8, window / 2));
    let hold = reserve(&server, "alice", 40);
    server.clock.advance(window / 2);
    assert_eq!(cancel(&server, &hold), r#"{"cancelled":false}"#);
    assert_eq!(left(&server, "alice"), 60);
}

/// Goal: at the bound a reservation is refused with 503 and charges nothing; room that comes free is
/// used again, and refusals take none.
/// Method: a table of two holds; fill it, ask for more, and free a place in each of three ways.
#[test]
fn the_table_of_holds_has_a_bound() {
    let time = Duration::from_secs(10);
    let server = Server::more(Holds::new(2, time));
    let ask = |cost: u64| {
        let body = format!(r#"{{"rule":"tokens","key":"alice","cost":{cost}}}"#);
        post(server.address, "/v1/reserve", &body)
    };
    for _ in 0..5 {
        assert_eq!(ask(101).json()["allowed"], false, "a refusal takes no place");
    }
    let full = || {
        let before = left(&server, "alice");
        let detail = "there are 2 holds, which is the most; settle or cancel some first";
        assert_eq!(told(&ask(1)), format!("  503 -\n  {detail}\n"));
        assert_eq!(left(&server, "alice"), before, "nothing was charged");
    };
    let (first, second) = (reserve(&server, "alice", 10), reserve(&server, "alice", 10));
    full();
    settle(&server, &first, 10);
    let third = reserve(&server, "alice", 10);
    full();
    cancel(&server, &second);
    server.clock.advance(Duration::from_secs(1));
    let fourth = reserve(&server, "alice", 10);
    full();
    server.clock.advance(time - Duration::from_secs(1));
    reserve(&server, "alice", 10);
    full();
    assert_eq!(settle(&server, &third, 0), r#"{"settled":false}"#, "its time made room");
    assert_eq!(settle(&server, &fourth, 0), r#"{"settled":true}"#);
}

/// Goal: the program itself keeps holds, by the machine's own clock.
/// Method: reserve all that a demo rule has, and settle it twice.
#[test]
fn the_program_keeps_holds() {
    let program = Program::serve();
    let body = r#"{"rule":"fixed-window","key":"alice","cost":10}"#;
    let hold = post(program.address, "/v1/reserve", body).json()["hold"].clone();
    let body = format!(r#"{{"hold":{hold},"cost":3}}"#);
    assert_eq!(post(program.address, "/v1/settle", &body).body, r#"{"settled":true}"#);
    assert_eq!(post(program.address, "/v1/settle", &body).body, r#"{"settled":false}"#);
}

/// Calls that are wrong in one way each.
const BAD_CALLS: &[(&str, &str)] = &[
    ("reserve", ""),
    ("reserve", "null"),
    ("reserve", r#"[{"rule":"tokens","key":"alice"}]"#),
    ("reserve", r#"{"rule":"tokens"}"#),
    ("reserve", r#"{"rule":"nope","key":"alice"}"#),
    ("reserve", r#"{"rule":"tokens","key":"alice","cost":0}"#),
    ("reserve", r#"{"rule":"tokens","key":"alice","cost":-1}"#),
    ("reserve", r#"{"rule":"tokens","key":"alice","cost":null}"#),
    ("reserve", r#"{"rule":"tokens","key":"alice","cost":4294967297}"#),
    ("reserve", r#"{"rule":"tokens","key":"alice","hold":"0123456789abcdef"}"#),
    ("settle", " "),
    ("settle", "{"),
    ("settle", "[]"),
    ("settle", r#"{"hold":"0123456789abcdef"}"#),
    ("settle", r#"{"cost":1}"#),
    ("settle", r#"{"hold":7,"cost":1}"#),
    ("settle", r#"{"hold":"0123456789ABCDEF","cost":1}"#),
    ("settle", r#"{"hold":"\ud800","cost":1}"#),
    ("settle", r#"{"hold":"0123456789abcdef","cost":null}"#),
    ("settle", r#"{"hold":"0123456789abcdef","cost":1.5}"#),
    ("settle", r#"{"hold":"0123456789abcdef","cost":4294967297}"#),
    ("settle", r#"{"hold":"0123456789abcdef","cost":1,"cost":1}"#),
    ("settle", r#"{"hold":"0123456789abcdef","cost":1,"key":"alice"}"#),
    ("cancel", ""),
    ("cancel", r#""0123456789abcdef""#),
    ("cancel", "{}"),
    ("cancel", r#"{"hold":null}"#),
    ("cancel", r#"{"hold":""}"#),
    ("cancel", r#"{"hold":"0123456789abcde"}"#),
    ("cancel", r#"{"hold":"0123456789abcdef","cost":1}"#),
    ("cancel", r#"{"hold":"0123456789abcdef","hold":"0123456789abcdef"}"#),
    ("release", ""),
    ("release", r#"["0123456789abcdef"]"#),
    ("release", "{}"),
    ("release", r#"{"permit":["0123456789abcdef"]}"#),
    ("release", r#"{"permit":"0000000000000000"}"#),
    ("release", r#"{"permit":"0123456789abcdefg"}"#),
    ("release", r#"{"hold":"0123456789abcdef"}"#),
];

/// Goal: every bad call is answered by a problem that names the place, the fault and the repair.
/// Method: the whole table against the golden file; nothing is charged by any of it.
#[test]
fn a_bad_call_is_answered_by_a_problem_that_names_the_field() {
    let server = Server::more(Holds::default());
    let mut table = String::new();
    for (path, body) in BAD_CALLS {
        let told = told(&post(server.address, &format!("/v1/{path}"), body));
        writeln!(table, "{path} {body}\n{told}").expect("memory");
    }
    assert_golden("bad_holds.txt", &table);
    assert_eq!(left(&server, "alice"), 100);
}
