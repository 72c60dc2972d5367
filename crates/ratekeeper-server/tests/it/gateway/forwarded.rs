//! Who the client is, as the upstream is told: never by a client that is not trusted.

use super::site::{MANY, Site, get, head};
use super::upstream::{OK, Upstream};
use crate::program::output;

/// All ways in which a client could say that it is another.
const FORGED: &str = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7\r\n\
    X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Port: 1\r\n\
    X-Forwarded-Prefix: /evil\r\nX-Forwarded-Uri: /evil\r\nX-Forwarded-Method: DELETE\r\n\
    X-Forwarded-Anything: 1\r\nX_Forwarded_For: 6.6.6.6\r\nX_Forwarded-Proto: https\r\n\
    X-Real-IP: 6.6.6.6\r\nX_Real_Ip: 6.6.6.6\r\nTrue-Client-IP: 6.6.6.6\r\n\
    X-Client-IP: 6.6.6.6\r\nX-Original-URL: /evil\r\nX-Original-Uri: /evil\r\n\
    X-Original-Method: PUT\r\nForwarded: for=6.6.6.6\r\nX-Ratekeeper-User: root\r\n\
    X_Ratekeeper_User: root\r\nX-Ratekeeper-Tier: pro\r\nX-Ratekeeper-Anything: 1\r\n";

/// Goal: nothing that a client says of where it came from reaches the upstream.
/// Method: the whole family, also as spelled with `_`; the upstream reads ours, once each.
#[test]
fn a_client_cannot_say_who_it_is() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    assert_eq!(site.ask(&get("/", FORGED)).status(), 200);
    let request = upstream.only();
    for (name, value) in &request.fields {
        for forged in ["6.6.6.6", "7.7.7.7", "evil", "root", "https", "DELETE"] {
            assert!(!value.contains(forged), "{name}: {value}");
        }
        let name = name.to_lowercase().replace('_', "-");
        assert!(!name.starts_with("x-ratekeeper-") && name != "x-forwarded-anything", "{name}");
    }
    assert_eq!(request.field("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(request.field("x-forwarded-proto"), Some("http"));
    assert_eq!(request.field("x-forwarded-host"), Some("api.example"));
}

/// Goal: what a trusted proxy says is passed on, with its own address behind it.
/// Method: the same fields from an address that is trusted; rules count by the address in them.
#[test]
fn a_trusted_proxy_is_believed() {
    let upstream = Upstream::saying(OK);
    let text = format!(
        "{}  routes: [{{path: \"/**\", upstream: \"{}\"}}]\nidentity: {{trusted_proxies: [127.0.0.0/8]}}\n\
         rules: [{{id: all, key: ip, limit: 1/day}}]\n",
        head(""),
        upstream.url()
    );
    let site = Site::of(&[], &text);
    let sent = "X-Forwarded-For: 6.6.6.6, 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\
                X-Forwarded-Host: www.example\r\nX-Ratekeeper-User: root\r\n";
    assert_eq!(site.ask(&get("/", sent)).status(), 200);
    assert_eq!(site.ask(&get("/", sent)).status(), 429, "the address behind the proxy is counted");
    let other = sent.replace("192.0.2.7", "192.0.2.8");
    assert_eq!(site.ask(&get("/", &other)).status(), 200);
    let request = upstream.seen().remove(0);
    assert_eq!(request.all("x-forwarded-for").join(", "), "6.6.6.6, 192.0.2.7, 127.0.0.1");
    assert_eq!(request.field("x-forwarded-proto"), Some("https"));
    assert_eq!(request.field("x-forwarded-host"), Some("www.example"));
    assert!(!request.has("x-ratekeeper-user"), "{request:?}");
}

/// Goal: what must not be said in front of a body cannot be said behind it.
/// Method: trailers that are announced and name the caller; one that means nothing passes.
#[test]
fn a_client_cannot_say_who_it_is_in_trailers() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    let answer = site.ask(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\
         Trailer: X-Sum, X-Ratekeeper-User, X_Ratekeeper_Tier, X-Forwarded-For, X-Original-URL, \
         X-HTTP-Method-Override, Connection, Content-Length, Host\r\n\r\n1\r\nx\r\n0\r\n\
         X-Sum: 7\r\nX-Ratekeeper-User: root\r\nX_Ratekeeper_Tier: pro\r\n\
         X-Forwarded-For: 6.6.6.6\r\nX-Original-URL: /evil\r\nX-HTTP-Method-Override: PUT\r\n\
         Connection: x\r\nContent-Length: 4\r\nHost: evil\r\n\r\n",
    );
    assert_eq!(answer.status(), 200);
    let trailers = upstream.only().trailers;
    let names: Vec<String> = trailers.iter().map(|(name, _)| name.to_lowercase()).collect();
    assert_eq!(names, ["x-sum"]);
}

/// A key, and the entry of the file that knows it.
pub(super) fn api_key(owner: &str, tier: &str) -> (String, String) {
    let output = output(&["api-key", "new", "--owner", owner, "--tier", tier, "--json"]);
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let key = made["key"].as_str().expect("a key").to_owned();
    (key, format!("- {}\n", made["entry"]))
}

/// Goal: the upstream is told who was verified, on routes that ask for it, and nobody gets in without where
/// that is required; guesses are counted.
/// Method: routes of all three kinds; a known key, an unknown one, none.
#[test]
fn the_upstream_is_told_who_was_verified() {
    let upstream = Upstream::saying(OK);
    let (key, entry) = api_key("alice", "pro");
    let url = upstream.url();
    let text = format!(
        "{}  routes:\n    - {{path: /open, upstream: \"{url}\"}}\n    \
         - {{path: /either, upstream: \"{url}\", auth: optional}}\n    \
         - {{path: /closed, upstream: \"{url}\", auth: required}}\n\
         identity: {{api_key: {{header: X-Api-Key, keys: keys.yaml}}}}\ntiers: [free, pro]\n\
         rules: [{{id: all, key: ip, limit: 9/day}}]\n",
        head("")
    );
    let site = Site::of(&[("keys.yaml", &entry)], &text);
    let known = format!("X-Api-Key: {key}\r\nX-Ratekeeper-User: root\r\n");
    let unknown = "X-Api-Key: rk_guess\r\nX-Ratekeeper-User: root\r\nX_Ratekeeper_Tier: pro\r\n";
    for (path, fields, status) in [
        ("/open", known.as_str(), 200),
        ("/open", unknown, 200),
        ("/either", &known, 200),
        ("/either", unknown, 200),
        ("/closed", &known, 200),
        ("/closed", "", 401),
        ("/closed", unknown, 401),
    ] {
        let answer = site.ask(&get(path, fields));
        assert_eq!(answer.status(), status, "{path} {answer:?}");
        if status == 401 {
            assert_eq!(answer.field("content-type"), Some("application/problem+json"));
            assert_eq!(answer.json()["status"], 401);
            assert!(answer.field("www-authenticate").is_some(), "{answer:?}");
        }
    }
    let seen = upstream.seen();
    let told = |index: usize| {
        (seen[index].field("x-ratekeeper-user"), seen[index].field("x-ratekeeper-tier"))
    };
    let alice = (Some("alice"), Some("pro"));
    let told: Vec<_> = (0..5).map(told).collect();
    assert_eq!(told, [(None, None), (None, None), alice, (None, None), alice]);
    assert!(
        seen.iter()
            .all(|request| !request.has("x_ratekeeper_tier") || request.has("x-ratekeeper-user"))
    );
    assert_eq!(site.left("all"), 2, "all seven were counted");
    assert_eq!((site.get("/closed").status(), site.get("/closed").status()), (401, 401));
    assert_eq!(site.get("/closed").status(), 429, "guessing has a limit");
    assert_eq!(upstream.seen().len(), 5);
}
