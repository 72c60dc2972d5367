//! Limits at the edge: who is refused costs the upstream nothing, and who waits keeps the order.

use super::message::Wire;
use super::site::{Site, get, post};
use super::upstream::{OK, Upstream};
use crate::program::poll;
use std::thread;

/// Goal: a refused request never touches the upstream; its client is told all there is to know, and an
/// administrator finds out why.
/// Method: two of a limit of two, then three more, on one connection; what the last says, field by field.
#[test]
fn a_refusal_never_touches_the_upstream() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: api, key: ip, limit: 2/day}]");
    let mut wire = Wire::open(site.address);
    let mut answers = Vec::new();
    for number in 0..5 {
        wire.send(post(&format!("/{number}"), "", "a body that nobody reads"));
        answers.push(wire.answer("POST").expect("an answer comes"));
    }
    let statuses: Vec<u16> = answers.iter().map(super::message::Message::status).collect();
    assert_eq!(statuses, [200, 200, 429, 429, 429]);
    let paths: Vec<String> = upstream.seen().into_iter().map(|request| request.start).collect();
    assert_eq!(paths, ["POST /0 HTTP/1.1", "POST /1 HTTP/1.1"]);
    assert_eq!((site.decided("api", "allowed"), site.decided("api", "refused")), (2, 3));

    assert_eq!(answers[0].field("x-ratelimit-remaining"), Some("1"));
    assert_eq!(answers[0].field("ratelimit-policy"), Some("\"api\";q=2;w=86400"));
    let refusal = answers.pop().expect("there are five");
    assert_eq!(refusal.field("content-type"), Some("application/problem+json"));
    assert_eq!(refusal.field("cache-control"), Some("no-store"));
    assert_eq!(refusal.field("x-ratelimit-limit"), Some("2"));
    assert_eq!(refusal.field("x-ratelimit-remaining"), Some("0"));
    let wait: u64 = refusal.field("retry-after").and_then(|it| it.parse().ok()).expect("seconds");
    assert!((43_000..=43_200).contains(&wait), "half a day until there is one again: {wait}");
    let problem = refusal.json();
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["violated-policies"][0], "api");
    let id = refusal.field("x-ratekeeper-decision").expect("a refusal has a name");
    assert_eq!(problem["instance"], id);
    let why = site.api(&format!("/v1/decisions/{id}"));
    assert_eq!(why.status, 200, "{}", why.body);
    assert!(why.body.contains("\"api\"") && why.body.contains(id), "{}", why.body);
}

/// Goal: a closed rule is answered with 403, a cost that makes no sense with 400, and neither reaches the
/// upstream.
/// Method: one of each.
#[test]
fn what_is_closed_or_makes_no_sense_never_touches_the_upstream() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(
        &[&upstream],
        "[{id: closed, match: {path: /closed}, key: ip, deny: true}, \
          {id: api, key: ip, limit: 100/day, cost: {header: X-Cost, max: 10}}]",
    );
    assert_eq!(site.get("/closed").status(), 403);
    assert_eq!(site.ask(&get("/", "X-Cost: many\r\n")).status(), 400);
    assert_eq!(site.ask(&get("/", "X-Cost: 1\r\nX-Cost: 2\r\n")).status(), 400);
    assert_eq!(site.get("/a%2Fb").status(), 400);
    assert_eq!((upstream.seen().len(), upstream.accepted(), site.left("api")), (0, 0, 100));
    assert_eq!(site.ask(&get("/", "X-Cost: 4\r\n")).status(), 200);
    assert_eq!((upstream.seen().len(), site.left("api")), (1, 96));
}

/// Goal: requests under several rules are one decision: the one that is refused charges none.
/// Method: a wide rule and a narrow one; the wide one has counted only what passed.
#[test]
fn several_rules_are_one_decision() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(
        &[&upstream],
        "[{id: wide, key: ip, limit: 10/day}, {id: narrow, key: ip, limit: 3/day}]",
    );
    let statuses: Vec<u16> = (0..6).map(|_| site.get("/").status()).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429]);
    assert_eq!((upstream.seen().len(), site.left("wide"), site.left("narrow")), (3, 7, 0));
}

/// Goal: requests that have to wait reach the upstream one after the other, in the order in which they came;
/// one for which there is no place is refused at once, and one whose client leaves gives up its place.
/// Method: a line of four a second apart; a fifth; the third leaves.
#[test]
fn who_waits_keeps_the_order() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(
        &[&upstream],
        "[{id: line, key: ip, limit: 1/second burst 5, algorithm: leaky_bucket, mode: shaping}]",
    );
    let mut waiting = Vec::new();
    for number in 1..=5 {
        let before = site.left("line");
        let mut wire = Wire::open(site.address);
        wire.send(get(&format!("/{number}"), ""));
        waiting.push(wire);
        // The next comes when this one stands in line.
        let stands = poll(|| (site.left("line") < before).then_some(()));
        assert!(stands.is_some(), "{number} stands in line");
    }
    assert_eq!(site.get("/6").status(), 429);
    drop(waiting.remove(2));
    let answered: Vec<_> = waiting
        .into_iter()
        .map(|mut wire| thread::spawn(move || wire.answer("GET").map(|answer| answer.status())))
        .collect();
    for answer in answered {
        assert_eq!(answer.join().expect("it ends"), Ok(200));
    }
    let paths: Vec<String> = upstream.seen().into_iter().map(|request| request.start).collect();
    assert_eq!(paths, ["/1", "/2", "/4", "/5"].map(|path| format!("GET {path} HTTP/1.1")));
}

/// Goal: a change of rules holds at the gateway without a restart.
/// Method: write another limit into the file; the gateway refuses by it.
#[test]
fn rules_change_while_it_runs() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: api, key: ip, limit: 1000/day}]");
    assert_eq!(site.get("/").status(), 200);
    let path = site.folder.path("ratekeeper.yaml");
    let text = std::fs::read_to_string(path).expect("the file is there");
    site.folder.write("ratekeeper.yaml", &text.replace("1000/day", "2/day"));
    crate::live::becomes(site.program.address, 2);
    assert_eq!((site.get("/").status(), site.get("/").status()), (200, 429));
    assert_eq!(upstream.seen().len(), 2);
}

/// Goal: the answer to a refused HEAD has no body, and the connection goes on.
/// Method: two on one connection, beyond the limit.
#[test]
fn a_refused_head_has_no_body() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: api, key: ip, limit: 1/day}]");
    assert_eq!(site.get("/").status(), 200);
    let mut wire = Wire::open(site.address);
    for _ in 0..2 {
        wire.send(get("/", "").replacen("GET", "HEAD", 1));
        let answer = wire.answer("HEAD").expect("an answer comes");
        assert_eq!((answer.status(), answer.field("retry-after").is_some()), (429, true));
    }
    assert_eq!((wire.unused(), upstream.seen().len()), (0, 1));
}

/// Goal: of many who come at once exactly as many pass as the limit admits.
/// Method: twenty clients of fifty requests each, a limit of half of them; what arrives is what was charged.
#[test]
fn of_many_at_once_exactly_the_limit_passes() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: api, key: ip, limit: 500/day}]");
    let address = site.address;
    let clients: Vec<_> = (0..20)
        .map(|_| {
            thread::spawn(move || {
                let mut wire = Wire::open(address);
                let mut ask = || {
                    wire.send(get("/", ""));
                    wire.answer("GET").expect("an answer comes").status()
                };
                (0..50).map(|_| ask()).filter(|status| *status == 200).count()
            })
        })
        .collect();
    let passed: usize = clients.into_iter().map(|client| client.join().expect("it ends")).sum();
    assert_eq!((passed, upstream.seen().len()), (500, 500));
    assert_eq!((site.decided("api", "allowed"), site.decided("api", "refused")), (500, 500));
}
