//! The playground: every algorithm decides and tells what it holds, and nothing else is touched.
//!
//! Invariant: what is expected is counted by hand; the clock moves only when a test moves it.

use crate::server::{Holds, Server};
use crate::wire::{check, post, read_reply, request, send};
use ratekeeper::{Limiter, ManualClock};
use ratekeeper_server::app::Parts;
use ratekeeper_server::demo;
use ratekeeper_server::door::Playground;
use ratekeeper_server::serve::Bounds;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

const VISITOR: &str = "visitor-1";

/// Keys of the playground.
const KEYS: usize = 100;

/// A server whose playground has a clock of its own, which stands at an edge of every window.
fn site() -> (Server, ManualClock) {
    let clock = ManualClock::new();
    let rules = demo::rules(Limiter::memory()).expect("the demo rules are rules");
    let playground = Playground::new(Limiter::memory().keys(KEYS).clock(&clock).build());
    let set_up = |parts| Parts { playground, ..parts };
    (Server::set_up(rules, Holds::default(), Bounds::default(), set_up), clock)
}

fn card(algorithm: &str, limit: &str) -> Value {
    json!({ "algorithm": algorithm, "limit": limit })
}

fn shaping(limit: &str) -> Value {
    json!({ "algorithm": "leaky_bucket", "mode": "shaping", "limit": limit })
}

/// What one card answers.
fn play(server: &Server, call: &str, visitor: &str, card: &Value, cost: u64) -> Value {
    let body = json!({ "visitor": visitor, "cards": [card], "cost": cost });
    let reply = post(server.address, &format!("/v1/playground/{call}"), &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()["answers"][0].clone()
}

/// Goal: each algorithm tells what its bucket holds, as the pictures need it.
/// Method: a few requests at known times, and the whole state of each.
#[test]
fn every_algorithm_tells_its_state() {
    let (server, clock) = site();
    let start = clock.now().as_secs_f64();
    let send = |card: &Value, cost| play(&server, "send", VISITOR, card, cost);
    let windows = ["fixed_window", "sliding_window_log", "sliding_window_counter"];
    for algorithm in windows {
        assert_eq!(send(&card(algorithm, "10/10s"), 4)["remaining"], 6, "{algorithm}");
    }
    let bucket = card("token_bucket", "1/second burst 10");
    let queue = shaping("1/second burst 10");
    send(&bucket, 4);
    assert_eq!((&send(&queue, 1)["delay"], &send(&queue, 2)["delay"]), (&json!(0.0), &json!(1.0)));
    clock.advance(Duration::from_secs(1));
    let state = |card: &Value| play(&server, "state", VISITOR, card, 1)["state"].clone();
    let fixed = json!({ "kind": "window", "start": start, "end": start + 10.0, "count": 4 });
    assert_eq!(state(&card("fixed_window", "10/10s")), fixed);
    let log = json!({ "kind": "log", "entries": [{ "at": start, "cost": 4 }] });
    assert_eq!(state(&card("sliding_window_log", "10/10s")), log);
    let bucket_state = json!({ "kind": "bucket", "level": 3.0, "whole_at": start + 4.0 });
    assert_eq!(state(&bucket), bucket_state);
    let queue_state = json!({ "kind": "queue", "level": 2.0, "whole_at": start + 3.0 });
    assert_eq!(state(&queue), queue_state);
    clock.advance(Duration::from_secs(9));
    let (start, end) = (start + 10.0, start + 20.0);
    let both =
        json!({ "kind": "windows", "start": start, "end": end, "current": 0, "previous": 4 });
    assert_eq!(state(&card("sliding_window_counter", "10/10s")), both);
    assert_eq!(state(&card("fixed_window", "10/10s"))["count"], 0);
}

/// Goal: a refusal tells what a caller would be told, with the time at which it was decided.
/// Method: one more than fits, half a second into the window.
#[test]
fn a_refusal_has_its_figures_and_fields() {
    let (server, clock) = site();
    clock.advance(Duration::from_millis(500));
    let fixed = card("fixed_window", "10/10s");
    for left in (0..10).rev() {
        let told = play(&server, "send", VISITOR, &fixed, 1);
        assert_eq!((&told["remaining"], &told["status"]), (&json!(left), &json!(200)));
    }
    let told = play(&server, "send", VISITOR, &fixed, 1);
    assert_eq!((&told["allowed"], &told["status"]), (&json!(false), &json!(429)));
    assert_eq!(
        (&told["retry_after"], &told["at"]),
        (&json!(9.5), &json!(clock.now().as_secs_f64()))
    );
    let fields = told["fields"].as_array().expect("there are fields");
    let field = |name: &str| fields.iter().find(|own| own[0] == name).map(|own| own[1].clone());
    assert_eq!(field("retry-after"), Some(json!("10")));
    assert_eq!(field("ratelimit-policy"), Some(json!("\"fixed_window\";q=10;w=10")));
    assert_eq!(
        (&told["amount"], &told["period"], &told["burst"]),
        (&json!(10), &json!(10.0), &json!(10))
    );
}

/// Goal: around an edge of the clock the fixed window lets twice its amount pass, and nobody else does.
/// Method: ten just before the edge and ten at it, to every card in one call each.
#[test]
fn a_boundary_burst_tells_the_algorithms_apart() {
    let (server, clock) = site();
    clock.advance(Duration::from_millis(9_900));
    let cards = json!([
        card("fixed_window", "10/10s"),
        card("sliding_window_log", "10/10s"),
        card("sliding_window_counter", "10/10s"),
        card("token_bucket", "1/second burst 10"),
        card("leaky_bucket", "1/second burst 10"),
        shaping("1/second burst 10"),
    ]);
    let mut passed = [0; 6];
    for number in 0..20 {
        if number == 10 {
            clock.advance(Duration::from_millis(100));
        }
        let body = json!({ "visitor": VISITOR, "cards": cards }).to_string();
        let told = post(server.address, "/v1/playground/send", &body).json();
        for (count, own) in passed.iter_mut().zip(told["answers"].as_array().expect("answers")) {
            *count += u32::from(own["allowed"] == true);
        }
    }
    assert_eq!(passed, [20, 10, 10, 10, 10, 10]);
}

/// Goal: visitors do not meet each other, a reset is a visitor's own, and no rule of the server is touched or counted.
/// Method: two visitors on one card; the demo rule of the same algorithm and limit; the metrics and live figures.
#[test]
fn visitors_are_apart_from_each_other_and_from_rules() {
    let (server, _clock) = site();
    let bucket = card("token_bucket", "1/second burst 10");
    assert_eq!(play(&server, "send", VISITOR, &bucket, 10)["remaining"], 0);
    assert_eq!(play(&server, "send", "visitor-2", &bucket, 1)["remaining"], 9);
    assert_eq!(play(&server, "reset", "visitor-2", &bucket, 1)["remaining"], 10);
    assert_eq!(play(&server, "state", VISITOR, &bucket, 1)["remaining"], 0);
    let left = check(server.address, r#"{"rule":"token-bucket","key":"visitor-1","cost":0}"#);
    assert_eq!(left.json()["remaining"], 10, "the rule has a bucket of its own");
    assert_eq!(play(&server, "reset", VISITOR, &bucket, 1)["remaining"], 10);
    let get = |path: &str| send(server.address, &request(&format!("GET {path}"), "", "")).body;
    assert!(!get("/metrics").contains("ratekeeper_decisions_total{"), "nobody counts it");
    assert!(get("/metrics").contains("ratekeeper_keys 0"));
    assert!(!get("/v1/top").contains("token_bucket"));
    assert!(get("/v1/decisions").contains("\"refusals\":[]"));
}

/// Goal: other numbers keep what was used, as a release does, and another period or mode starts afresh; the answer
/// says which.
/// Method: every algorithm with another amount; another period; the other mode.
#[test]
fn a_changed_card_says_what_becomes_of_its_state() {
    let (server, _clock) = site();
    let change = |from: &Value, to: &Value| {
        let body = json!({ "visitor": VISITOR, "from": from, "to": to }).to_string();
        let reply = post(server.address, "/v1/playground/change", &body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    };
    for algorithm in
        ["fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket"]
    {
        let few = card(algorithm, "10/10s");
        play(&server, "send", VISITOR, &few, 3);
        let told = change(&few, &card(algorithm, "50/10s"));
        let text = "What was used is kept. 7 of 10 left before, 47 of 50 now.";
        assert_eq!(told["text"], text, "{algorithm}");
        assert_eq!((&told["kept"], &told["answer"]["remaining"]), (&json!(true), &json!(47)));
        let told = change(&card(algorithm, "50/10s"), &card(algorithm, "2/10s"));
        let text = "What was used is kept. 47 of 50 left before, 0 of 2 now. Nothing passes until enough of \
                    it is over.";
        assert_eq!(told["text"], text, "{algorithm}");
        // And back: a window remembers more than the smaller limit could say, a bucket as much as it holds.
        let told = change(&card(algorithm, "2/10s"), &card(algorithm, "50/10s"));
        let left = if algorithm == "token_bucket" { 48 } else { 47 };
        let text = format!("What was used is kept. 0 of 2 left before, {left} of 50 now.");
        assert_eq!(told["text"], text, "{algorithm}");
        change(&card(algorithm, "50/10s"), &card(algorithm, "2/10s"));
        let told = change(&card(algorithm, "2/10s"), &card(algorithm, "50/20s"));
        assert_eq!((&told["kept"], &told["answer"]["remaining"]), (&json!(false), &json!(50)));
        assert!(told["text"].as_str().is_some_and(|text| text.starts_with("Begun afresh")));
    }
    let police = card("leaky_bucket", "1/second burst 10");
    play(&server, "send", VISITOR, &police, 2);
    let told = change(&police, &shaping("1/second burst 10"));
    assert_eq!((&told["kept"], &told["answer"]["remaining"]), (&json!(false), &json!(10)));
    // And back: it begins afresh, too, whatever was there before.
    let told = change(&shaping("1/second burst 10"), &police);
    assert_eq!((&told["kept"], &told["answer"]["remaining"]), (&json!(false), &json!(10)));
    // There and back again with a rate of its own: what was used last is what counts.
    let other = card("leaky_bucket", "2/second burst 10");
    play(&server, "send", VISITOR, &police, 3);
    change(&police, &other);
    play(&server, "send", VISITOR, &other, 4);
    let text = "What was used is kept. 3 of 10 left before, 3 of 10 now.";
    assert_eq!(change(&other, &police)["text"], text);
}

/// Goal: the cards begin as the demo rules are.
/// Method: compare the list with them.
#[test]
fn cards_begin_as_the_demo_rules() {
    let (server, clock) = site();
    let told = send(server.address, &request("GET /v1/playground", "", "")).json();
    assert_eq!(told["now"], clock.now().as_secs_f64());
    let cards = told["cards"].as_array().expect("there are cards");
    let names: Vec<&str> = cards.iter().filter_map(|card| card["name"].as_str()).collect();
    assert_eq!(names, demo::limits().map(|(name, _)| name));
    assert_eq!((&cards[0]["limit"], &cards[5]["mode"]), (&json!("10/10s"), &json!("shaping")));
}

/// Goal: bad calls name the field, the fault and the repair, and charge nothing.
/// Method: each fault with the field and words that it must name; then a look.
#[test]
fn bad_calls_to_the_playground_are_told() {
    let (server, _clock) = site();
    let with = |card: &str| format!(r#"{{"visitor":"visitor-1","cards":[{card}]}}"#);
    let fixed = r#"{"algorithm":"fixed_window","limit":"10/10s"}"#;
    let nine = [fixed; 9].join(",");
    for (body, field, words) in [
        (with(fixed).replace("visitor-1", "short"), "visitor", "8 to 64 letters"),
        (with(fixed).replace("visitor-1", "visitor 1"), "visitor", "8 to 64 letters"),
        (with(fixed).replace("\"visitor-1\"", "7"), "visitor", "is a number"),
        (format!(r#"{{"cards":[{fixed}]}}"#), "visitor", "is missing"),
        (r#"{"visitor":"visitor-1"}"#.into(), "cards", "is missing"),
        (with(""), "cards", "is empty"),
        (with(&nine), "cards", "has too many"),
        (with("7"), "cards[0]", "is not an object"),
        (with(r#"{"limit":"10/10s"}"#), "cards[0].algorithm", "is missing"),
        (with(r#"{"algorithm":"gcra","limit":"10/10s"}"#), "cards[0].algorithm", "is unknown"),
        (with(&fixed.replace("10/10s", "0/10s")), "cards[0].limit", "a limit of 0"),
        (with(&fixed.replace("10/10s", "1001/10s")), "cards[0].limit", "too large"),
        (with(&fixed.replace("10/10s", "10/301s")), "cards[0].limit", "too large"),
        (
            with(r#"{"algorithm":"token_bucket","limit":"1/second burst 301"}"#),
            "cards[0].limit",
            "too large",
        ),
        (with(&fixed.replace('}', ",\"name\":7}")), "cards[0].name", "is a number"),
        (with(&fixed.replace("10/10s", "10/10s burst 5")), "cards[0].limit", "burst"),
        (with(&fixed.replace("10/10s", "unlimited")), "cards[0].limit", "too large"),
        (with(&fixed.replace('}', ",\"mode\":\"shaping\"}")), "cards[0].limit", "shap"),
        (with(&fixed.replace('}', ",\"mode\":\"x\"}")), "cards[0].mode", "policing"),
        (with(&fixed.replace('}', ",\"x\":1}")), "x", "is not a field"),
        (with(fixed).replace("]}", "],\"cost\":0}"), "cost", "from 1"),
        (with(fixed).replace("]}", "],\"cost\":1001}"), "cost", "at most 1000"),
    ] {
        for call in ["send", "state", "reset"] {
            let reply = post(server.address, &format!("/v1/playground/{call}"), &body);
            assert_eq!((reply.status, &reply.json()["field"]), (400, &json!(field)), "{body}");
            let detail = reply.json()["detail"].as_str().unwrap_or_default().to_owned();
            assert!(detail.contains(words), "{body}: {detail}");
        }
    }
    let fixed: Value = serde_json::from_str(fixed).expect("it is JSON");
    assert_eq!(play(&server, "state", VISITOR, &fixed, 1)["remaining"], 10);
}

/// Goal: a playground that is full says so, instead of deciding by a bucket that visitors share.
/// Method: more visitors than there are keys, each with a card that is spent; then those that were there.
#[test]
fn a_full_playground_says_so() {
    let (server, _clock) = site();
    let bucket = card("token_bucket", "1/second burst 10");
    let send = |number: usize| {
        let visitor = format!("visitor-{number:04}");
        let body = json!({ "visitor": visitor, "cards": [bucket], "cost": 10 }).to_string();
        post(server.address, "/v1/playground/send", &body)
    };
    let replies: Vec<_> = (0..2 * KEYS).map(send).collect();
    let full = replies.iter().find(|reply| reply.status != 200).expect("it is full");
    assert_eq!(full.status, 503);
    assert!(full.body.contains("as many visitors as it can hold"), "{}", full.body);
    let first = play(&server, "send", "visitor-0000", &bucket, 1);
    assert_eq!((&first["allowed"], &first["source"]), (&json!(false), &json!("store")));
}

/// Goal: nobody asks the playground more than it answers, so that it does not fill a store that others need.
/// Method: many more cards at once than the bound lets pass.
#[test]
fn the_playground_has_a_bound_for_all() {
    let (server, _clock) = site();
    let cards = vec![card("fixed_window", "10/10s"); 8];
    let body = json!({ "visitor": VISITOR, "cards": cards }).to_string();
    let mut stream = crate::wire::connect(server.address);
    let json = "Content-Type: application/json\r\n";
    let bytes = request("POST /v1/playground/state", json, &body);
    let refused = (0..2_000).find_map(|_| {
        stream.write_all(bytes.as_bytes()).expect("it is open");
        Some(read_reply(&mut stream)).filter(|reply| reply.status == 429)
    });
    let refused = refused.expect("16 000 cards in a moment are too many");
    assert_eq!(refused.field("retry-after"), Some("1"));
}
