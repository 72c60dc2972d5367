//! The store is away: each rule does what it was told, and gateways can tell it from a refusal.

use super::{detail, forwarded};
use crate::server::{Holds, Server};
use crate::wire::{request, send};
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, RedisConfig};
use ratekeeper_server::serve::Bounds;

const RULES: &str = "
identity: {trusted_proxies: [127.0.0.1]}
rules:
  - {id: deny, match: {path: /deny}, key: ip, limit: 2/minute, on_store_failure: deny}
  - {id: allow, match: {path: /allow}, key: ip, limit: 2/minute, on_store_failure: allow}
  - {id: local, match: {path: /local}, key: ip, limit: 2/minute, on_store_failure: local}
";

/// Goal: `deny` is a 503 to come back from in a second, on nginx's path a 403; `allow` passes without
/// figures; `local` goes on counting.
/// Method: a store on whose port nobody listens.
#[test]
fn each_rule_does_what_it_was_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = free.local_addr().expect("it has an address");
    drop(free);
    let url: RedisConfig = format!("redis://{address}/0").parse().expect("it is a URL");
    let file = RuleFile::parse(RULES).expect("the file is fine");
    let server =
        Server::of(Limiter::redis(url).rules(file.rules), Holds::default(), Bounds::default());
    let ask = |path: &str, target: &str| {
        let line = format!("GET /v1/authorize{path}");
        send(server.address, &request(&line, &forwarded(target, "192.0.2.1"), ""))
    };
    for (path, status, told) in
        [("", 503, None), ("/nginx", 403, Some("503")), ("/envoy/deny", 503, None)]
    {
        let reply = ask(path, "/deny");
        assert_eq!((reply.status, reply.field("x-ratelimit-status")), (status, told));
        assert_eq!((reply.field("retry-after"), reply.field("ratelimit")), (Some("1"), None));
        assert_eq!(reply.field("cache-control"), Some("no-store"));
        assert_eq!(detail(&reply), r#"policy "deny" cannot be checked for now, retry in 1 s"#);
    }
    for path in ["", "/nginx", "/envoy/allow"] {
        let reply = ask(path, "/allow");
        assert_eq!((reply.status, reply.field("ratelimit")), (200, None));
    }
    let each = [(); 3].map(|()| ask("", "/local").status);
    assert_eq!(each, [200, 200, 429]);
}
