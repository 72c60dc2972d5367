//! The files of examples/gateway, run as they are: only ports are others.

use super::message::{Message, Wire};
use super::site::{Site, get, post};
use super::upstream::{After, OK, Upstream};
use crate::folder::Folder;
use crate::wire::DEADLINE;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A file of the example.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway").join(name);
    std::fs::read_to_string(path).expect("the example has such a file")
}

/// The key that a comment of `keys.yaml` tells for this tier, as a header field.
fn key(tier: &str) -> String {
    let keys = file("keys.yaml");
    let key = keys.lines().find_map(|line| line.strip_prefix(&format!("# {tier}:")));
    format!("X-Api-Key: {}\r\n", key.expect("the file tells a key").trim())
}

/// The gateway of the example, before these services.
fn site(shop: &Upstream, model: &Upstream) -> Site {
    let text = file("ratekeeper.yaml")
        .replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace("listen: 127.0.0.1:8000", "listen: 127.0.0.1:0")
        .replace("127.0.0.1:9001", &shop.address.to_string())
        .replace("127.0.0.1:9002", &model.address.to_string());
    Site::start(Folder::of(&[("ratekeeper.yaml", &text), ("keys.yaml", &file("keys.yaml"))]))
}

fn statuses(count: usize, ask: impl Fn() -> Message) -> Vec<u16> {
    (0..count).map(|_| ask().status()).collect()
}

/// Goal: callers have the limit of their tier, whoever they say that they are, and the shop is told who has a
/// key.
/// Method: six requests without a key, six with the free one, twenty with the better one.
#[test]
fn tiers_have_limits_of_their_own() {
    let (shop, model) = (Upstream::saying(OK), Upstream::saying(OK));
    let site = site(&shop, &model);
    let five = [200, 200, 200, 200, 200, 429];
    let forged = "X-Ratekeeper-User: globex\r\nX-Forwarded-For: 6.6.6.6\r\n";
    assert_eq!(statuses(6, || site.ask(&get("/api/orders", forged))), five);
    assert_eq!(statuses(6, || site.ask(&get("/api/orders", &key("free")))), five);
    assert_eq!(statuses(20, || site.ask(&get("/api/orders", &key("pro")))), [200; 20]);
    let seen = shop.seen();
    assert_eq!(seen.len(), 30);
    let told = |index: usize| {
        let request: &Message = &seen[index];
        (request.field("x-ratekeeper-user"), request.field("x-ratekeeper-tier"))
    };
    assert_eq!(told(0), (None, None));
    assert_eq!(told(5), (Some("acme"), Some("free")));
    assert_eq!(told(29), (Some("globex"), Some("pro")));
    assert_eq!(site.get("/elsewhere").status(), 404);
}

/// Goal: who guesses passwords is stopped, who logs in well is not.
/// Method: ten logins that are right, then wrong ones; the shop is asked five times for those.
#[test]
fn guesses_of_passwords_have_a_limit() {
    let shop = Upstream::telling(|request| match request.body == b"right" {
        true => OK.to_owned(),
        false => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned(),
    });
    let model = Upstream::saying(OK);
    let site = site(&shop, &model);
    assert_eq!(statuses(10, || site.ask(&post("/login", "", "right"))), [200; 10]);
    let guesses = statuses(7, || site.ask(&post("/login", "", "wrong")));
    assert_eq!(guesses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(site.ask(&post("/login", "", "right")).status(), 429);
    assert_eq!(shop.seen().len(), 15);
}

/// A model that begins its answer, and ends it when the test says so.
fn model() -> (Upstream, SyncSender<()>) {
    let (go, gate): (SyncSender<()>, Receiver<()>) = sync_channel(8);
    let gate = Mutex::new(gate);
    let upstream = Upstream::acting(move |request, wire| {
        wire.send("HTTP/1.1 200 OK\r\nX-Total-Tokens: 300\r\nTransfer-Encoding: chunked\r\n\r\n");
        wire.send("3\r\nonc\r\n");
        if request.start.contains("/slow") {
            let _ = gate.lock().expect("nobody failed").recv_timeout(DEADLINE);
        }
        wire.send("1\r\ne\r\n0\r\n\r\n");
        After::Keep
    });
    (upstream, go)
}

/// Goal: the model is asked by known callers alone; an estimate is charged and corrected; a free caller has one
/// answer at a time.
/// Method: a request without a key; an estimate, and what is left; one that does not end yet, and another.
#[test]
fn the_model_is_metered() {
    let shop = Upstream::saying(OK);
    let (model, go) = model();
    let site = site(&shop, &model);
    assert_eq!(site.ask(&post("/v1/chat/completions", "", "{}")).status(), 401);
    assert_eq!(model.seen().len(), 0);

    let free = key("free");
    let left = |fields: &str| {
        let answer = site.ask(&post("/v1/chat/completions", fields, "{}"));
        assert_eq!((answer.status(), answer.text()), (200, "once"), "{answer:?}");
        let body = r#"{"rule":"tokens","key":"acme","tier":"free","cost":0}"#;
        crate::wire::check(site.program.address, body).json()["remaining"].as_u64()
    };
    assert_eq!(left(&free), Some(9_700), "300 of an estimate of 1 000 were used");
    assert_eq!(left(&format!("{free}X-Estimated-Tokens: 8000\r\n")), Some(9_400));

    let mut slow = Wire::open(site.address);
    slow.send(post("/v1/chat/slow", &free, "{}"));
    assert_eq!(slow.head().expect("the head comes").status(), 200);
    let refusal = site.ask(&post("/v1/chat/completions", &free, "{}"));
    assert_eq!(refusal.status(), 429);
    assert_eq!(refusal.json()["violated-policies"][0], "answers");
    let pro = key("pro");
    assert_eq!(site.ask(&post("/v1/chat/completions", &pro, "{}")).status(), 200);
    go.send(()).expect("the model waits");
    let done = crate::program::poll(|| {
        let again = site.ask(&post("/v1/chat/completions", &free, "{}"));
        (again.status() == 200).then_some(())
    });
    assert!(done.is_some(), "the next one passes");
    assert_eq!(shop.seen().len(), 0);
}
