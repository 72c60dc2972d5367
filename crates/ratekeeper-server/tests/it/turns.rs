//! Shaping rules on the wire: what is admitted is told at once when to pass.

use crate::server::Holds;
use crate::server::Server;
use crate::wire::{check, post};
use std::time::Duration;

const ALICE: &str = r#"{"rule":"leaky-bucket-shaping","key":"alice"}"#;

/// Goal: the demo rule `leaky-bucket-shaping` accepts ten in all, at delays 0 to 9 s, and no more.
/// Method: the whole answers of eleven calls at one instant, against figures written down.
#[test]
fn ten_are_accepted_at_delays_0_to_9_and_the_eleventh_is_refused() {
    let server = Server::start();
    for turn in 0..10 {
        let figures = format!(
            r#""limit":10,"remaining":{},"retry_after":null,"reset_after":{}.0,"delay":{turn}.0,"never":false"#,
            9 - turn,
            turn + 1,
        );
        let expected = format!(
            concat!(
                r#"{{"allowed":true,"rule":"leaky-bucket-shaping",{figures},"source":"store","#,
                r#""id":null,"version":1,"results":[{{"rule":"leaky-bucket-shaping","#,
                r#""allowed":true,{figures},"shadow":false}}]}}"#
            ),
            figures = figures
        );
        assert_eq!(check(server.address, ALICE).body, expected);
    }
    let refusal = check(server.address, ALICE).json();
    assert_eq!((&refusal["allowed"], &refusal["delay"]), (&false.into(), &().into()));
    assert_eq!(refusal["retry_after"], 1.0);
}

/// Goal: turns pass with time, and the delay is a number also where there is none to wait.
/// Method: ask after half a turn, and after all of them.
#[test]
fn a_delay_shrinks_with_time_and_is_0_when_the_line_is_empty() {
    let server = Server::start();
    let delay = || check(server.address, ALICE).json()["delay"].clone();
    assert_eq!(delay(), 0.0);
    server.clock.advance(Duration::from_millis(400));
    assert_eq!(delay(), 0.6);
    server.clock.advance(Duration::from_micros(1_600_000));
    assert_eq!(delay(), 0.0);
}

/// Goal: only what is admitted under a shaping rule has a delay.
/// Method: look at the member under every other rule.
#[test]
fn other_rules_have_no_delay() {
    let server = Server::more(Holds::default());
    for rule in ["fixed-window", "token-bucket", "leaky-bucket", "exports", "tokens"] {
        for path in ["/v1/check", "/v1/reserve"] {
            let body = format!(r#"{{"rule":"{rule}","key":"alice"}}"#);
            let json = post(server.address, path, &body).json();
            assert_eq!((&json["allowed"], &json["delay"]), (&true.into(), &().into()), "{rule}");
            assert!(json.get("delay").is_some() && json["results"][0].get("delay").is_some());
        }
    }
}

/// Goal: a reservation takes its turn like a check, and the last turn can be given back.
/// Method: reserve twice, cancel the second, and ask for a turn.
#[test]
fn a_reserved_turn_is_told_and_given_back() {
    let server = Server::start();
    let reserve = || {
        let body = r#"{"rule":"leaky-bucket-shaping","key":"alice","cost":3}"#;
        post(server.address, "/v1/reserve", body).json()
    };
    assert_eq!(reserve()["delay"], 0.0);
    let second = reserve();
    assert_eq!(second["delay"], 3.0);
    let cancel = format!(r#"{{"hold":{}}}"#, second["hold"]);
    assert_eq!(post(server.address, "/v1/cancel", &cancel).body, r#"{"cancelled":true}"#);
    assert_eq!(check(server.address, ALICE).json()["delay"], 3.0);
}
