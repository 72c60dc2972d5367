//! Concurrency limits, which a gateway cannot meet: it does not say when a request has ended.

use super::{ask, forwarded, get};
use crate::folder::Folder;
use crate::program::{Program, command};
use crate::server::Server;

const RULES: &str = "
identity: {trusted_proxies: [127.0.0.1]}
tiers: [free, pro]
rules:
  - {id: exports, match: {path: '/exports/**'}, key: ip, limit: 1 concurrent}
  - {id: both, match: {path: '/both'}, key: ip, limit: [1 concurrent, 2/minute]}
  - {id: by-tier, match: {path: '/tier'}, key: ip, limit: {free: 3/minute, pro: 4 concurrent}}
  - {id: plain, match: {path: '/exports/plain'}, key: ip, limit: 5/minute}
";

/// Goal: concurrency limits are left out, and nothing but them.
/// Method: more calls than permits, under a rule that gives only permits, and one that has a rate as well.
#[test]
fn permits_are_not_taken_and_rates_are() {
    let server = Server::by(RULES);
    for _ in 0..10 {
        let reply = get(&server, "/exports/a", "192.0.2.1");
        assert_eq!((reply.status, reply.field("ratelimit")), (200, None));
    }
    let each = [(); 3].map(|()| get(&server, "/both", "192.0.2.1").status);
    assert_eq!(each, [200, 200, 429]);
    let reply = ask(&server, "GET /v1/authorize/nginx", &forwarded("/exports/plain", "192.0.2.1"));
    assert_eq!(reply.field("ratelimit-policy"), Some(r#""plain";q=5;w=60"#));
}

/// Goal: whoever starts the server is told which rules a gateway does not meet as they are written, if a
/// gateway may ask at all.
/// Method: the program's warnings, with trusted proxies and without.
#[test]
fn rules_that_give_permits_are_named_at_start() {
    let without = RULES.replace("identity: {trusted_proxies: [127.0.0.1]}", "");
    for (rules, expected) in [(RULES, &["exports", "both", "by-tier"][..]), (&without, &[])] {
        let folder = Folder::of(&[("ratekeeper.yaml", rules)]);
        let mut serve = command();
        serve.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
            &folder.path("ratekeeper.yaml"),
        ]);
        let mut server = Program::start(serve);
        server.signal("TERM");
        assert!(server.ended().is_some());
        let warnings: Vec<String> = server.err.iter().collect();
        let named = |line: &String| {
            let (rule, rest) = line.strip_prefix("warning: rule `")?.split_once("`: ")?;
            rest.contains("/v1/authorize").then(|| rule.to_owned())
        };
        let told: Vec<String> = warnings.iter().filter_map(named).collect();
        assert_eq!(told, expected, "{warnings:?}");
    }
}
