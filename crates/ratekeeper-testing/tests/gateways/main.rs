//! Real gateways before the real program: nginx, Caddy, Traefik, `HAProxy` and Envoy, set up by the files in
//! `examples/`, with nothing but ports changed.
//!
//! Invariant: each test starts what it needs on free ports of loopback, and ends it.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod client;
mod files;
mod process;
mod rls;
mod site;
mod upstream;

use client::{Reply, ask};
use files::{Gateway, Mode};
use site::{Site, wait_until};

/// A client, and another; gateways and the program are on 127.0.0.1.
const CLIENT: u8 = 3;
const OTHER: u8 = 4;

/// How often a gateway is asked while nobody answers it.
const UNASKED: usize = 5;

/// Fields by which a client tries to be somebody else, or to have asked for something else.
fn forged(number: usize) -> String {
    format!(
        "X-Forwarded-For: 6.6.6.{number}\r\nX-Real-IP: 6.6.6.{number}\r\nX-Forwarded-Uri: /elsewhere\r\n\
         X-Forwarded-Method: DELETE\r\nX-Original-URI: /elsewhere\r\nX-Original-Method: DELETE\r\n\
         X-Forwarded-Host: elsewhere.example\r\n"
    )
}

/// A refusal as every client is to see it, whoever stands before the program.
fn is_refusal(reply: &Reply, rule: &str) {
    assert_eq!(reply.status, 429, "{reply:?}");
    let wait: u64 = reply.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{reply:?}");
    assert_eq!(reply.field("x-ratelimit-remaining"), Some("0"));
    assert!(reply.field("ratelimit").unwrap().starts_with(&format!(r#""{rule}";r=0;t="#)));
    assert!(reply.field("ratelimit-policy").unwrap().starts_with(&format!(r#""{rule}";q="#)));
    assert_eq!(reply.field("content-type"), Some("application/problem+json"));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    let name = reply.field("x-ratekeeper-decision").unwrap();
    assert!(reply.body.contains(&format!(r#""instance":"{name}""#)), "{reply:?}");
    for part in
        [r#""status":429"#, &format!(r#""violated-policies":["{rule}"]"#), r#""retry_after":"#]
    {
        assert!(reply.body.contains(part), "{part} in {reply:?}");
    }
}

/// What is allowed reaches the application, what is refused does not, and the client sees the decision.
fn limits(site: &Site, gateway: Gateway) {
    let get = |from: u8, target: &str, fields: &str| ask(site.port, from, "GET", target, fields);
    for number in 0..3 {
        let reply = get(CLIENT, "/api/x?y=1", &forged(number));
        assert_eq!((reply.status, reply.body.as_str()), (200, "GET /api/x?y=1"), "{reply:?}");
        let left = (2 - number).to_string();
        let told = gateway.tells_figures().then_some(&*left);
        assert_eq!(reply.field("x-ratelimit-remaining"), told, "{reply:?}");
        assert_eq!(reply.field("ratelimit").is_some(), told.is_some());
        assert_eq!(reply.field("retry-after"), None);
    }
    assert_eq!(site.upstream.targets("/api/x?y=1"), 3);
    for number in 3..6 {
        is_refusal(&get(CLIENT, "/api/x?y=1", &forged(number)), "api");
    }
    assert_eq!(site.upstream.targets("/api/x?y=1"), 3, "what is refused does not get through");
    if gateway.tells_clients_apart() {
        assert_eq!(get(OTHER, "/api/x", "").status, 200, "another client has its own bucket");
    }
    // The rule is for POST alone, so the method has to be told.
    assert_eq!(get(CLIENT, "/login", "").status, 200);
    let post = || ask(site.port, CLIENT, "POST", "/login", "");
    assert_eq!(post().body, "POST /login");
    is_refusal(&post(), "login");
    assert_eq!(get(CLIENT, "/login", "").status, 200);
    let closed = get(CLIENT, "/internal/x", "");
    assert_eq!(
        (closed.status, closed.field("content-type")),
        (403, Some("application/problem+json"))
    );
    assert_eq!(site.upstream.targets("/internal/x"), 0);
}

/// While the program is away, requests pass or do not, as the file says; then it is asked again.
fn without_the_program(site: &mut Site, mode: Mode) {
    site.stop();
    let get = |site: &Site| ask(site.port, CLIENT, "GET", "/api/away", "");
    for _ in 0..UNASKED {
        let reply = get(site);
        match mode {
            Mode::Open => {
                assert_eq!(
                    (reply.status, reply.body.as_str()),
                    (200, "GET /api/away"),
                    "{reply:?}"
                );
            }
            Mode::Closed => assert!(matches!(reply.status, 500 | 502 | 503), "{reply:?}"),
        }
        assert_eq!(reply.field("x-ratelimit-remaining"), None, "no figures without a decision");
    }
    let reached = if mode == Mode::Open { UNASKED } else { 0 };
    assert_eq!(site.upstream.targets("/api/away"), reached);
    site.start();
    wait_until("the program is asked again", || {
        ask(site.port, CLIENT, "GET", "/internal/x", "").status == 403
    });
}

fn runs(gateway: Gateway, mode: Mode) {
    let mut site = Site::new(gateway, mode);
    limits(&site, gateway);
    without_the_program(&mut site, mode);
}

macro_rules! gateways {
    ($($name:ident, $gateway:ident, $mode:ident;)*) => {$(
        /// Goal: this gateway, set up as in `examples/`, lets pass what may, refuses as the rules say, is not
        /// fooled by what clients send, and fails as the file says.
        /// Method: the real one, the real program, and an application that counts what reaches it.
        #[test]
        fn $name() {
            runs(Gateway::$gateway, Mode::$mode);
        }
    )*};
}

gateways! {
    nginx_that_fails_open, Nginx, Open;
    nginx_that_fails_closed, Nginx, Closed;
    caddy_that_fails_open, Caddy, Open;
    caddy_that_fails_closed, Caddy, Closed;
    traefik_that_fails_open, Traefik, Open;
    traefik_that_fails_closed, Traefik, Closed;
    haproxy_that_fails_open, Haproxy, Open;
    haproxy_that_fails_closed, Haproxy, Closed;
    envoy_that_fails_open, Envoy, Open;
    envoy_that_fails_closed, Envoy, Closed;
}
