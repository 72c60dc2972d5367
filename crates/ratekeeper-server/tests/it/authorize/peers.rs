//! Who may ask, and who is counted.

use super::{RULES, ask, detail, forwarded, get};
use crate::server::Server;

/// Goal: who is not named as a proxy is told so, with its address, on every path, whatever it sends; this
/// machine is no exception.
/// Method: no proxies, and others; a good request. Nothing may be charged by it.
#[test]
fn a_peer_that_is_not_trusted_is_told_which_setting_it_is() {
    let rules =
        RULES.lines().filter(|line| !line.starts_with("identity")).collect::<Vec<_>>().join("\n");
    for identity in ["", "identity: {trusted_proxies: [10.0.0.0/8, '::1', 127.0.0.2]}"] {
        let server = Server::by(&format!("{identity}\n{rules}"));
        for line in
            ["GET /v1/authorize", "GET /v1/authorize/nginx", "GET /v1/authorize/envoy/api/x"]
        {
            for _ in 0..3 {
                let reply = ask(&server, line, &forwarded("/api/x", "10.0.0.1"));
                assert_eq!(reply.status, 403);
                let fault = "127.0.0.1 is not in `identity.trusted_proxies`; ";
                assert!(detail(&reply).starts_with(fault), "{reply:?}");
                assert_eq!(reply.field("ratelimit"), None);
            }
        }
    }
}

/// Goal: the client is who the gateway saw: forged entries before it are no fresh bucket, and clients
/// are told apart.
/// Method: entries that change, on one line and on two, before the one that the gateway appends.
#[test]
fn forged_entries_open_no_bucket() {
    let server = Server::by(RULES);
    let status = |list: &str| get(&server, "/api/x", list).status;
    assert_eq!(status("192.0.2.1"), 200);
    assert_eq!(status("6.6.6.6, 192.0.2.1"), 200);
    assert_eq!(status("6.6.6.7, 127.0.0.1, 192.0.2.1"), 429);
    let two = "X-Forwarded-For: 6.6.6.8\r\n".to_owned() + &forwarded("/api/x", "192.0.2.1");
    assert_eq!(ask(&server, "GET /v1/authorize", &two).status, 429);
    assert_eq!(status("192.0.2.1, 192.0.2.2"), 200, "another client");
    assert_eq!(status("192.0.2.3, 127.0.0.1"), 200, "through a second proxy that is trusted");
    // Without the field the gateway itself is counted, for all of its clients.
    let silent = forwarded("/api/x", "x").replace("X-Forwarded-For: x\r\n", "");
    let each = [(); 3].map(|()| ask(&server, "GET /v1/authorize", &silent).status);
    assert_eq!(each, [200, 200, 429]);
    assert_eq!(
        status("not an address"),
        429,
        "what is no address is the gateway's word for nobody"
    );
}
