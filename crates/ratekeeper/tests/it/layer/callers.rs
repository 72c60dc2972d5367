//! Who the layer takes a caller for: hooks, addresses, and what servers leave with a request.
//!
//! Invariant: two requests are of one caller if and only if they share what is left.

use super::{CALLER, Door, by, from, get, limiter, rule, set, with};
use http::Request;
use ratekeeper::layer::{Peer, RateLimitLayer};
use ratekeeper::rule::{KeyKind, Limits, OnMissing, RuleSet, RuleSpec};
use ratekeeper::{Identity, Limit};
use std::net::{IpAddr, SocketAddr};

/// A door with one rule of two a minute that does not say whom it counts.
fn layer() -> RateLimitLayer {
    RateLimitLayer::new(limiter(set([rule("api", "2/minute")])).0)
}

fn user(layer: RateLimitLayer) -> RateLimitLayer {
    layer.user(|seen| Some(seen.headers().get("x-session")?.to_str().ok()?.to_owned()))
}

fn session(request: Request<()>, name: &str) -> Request<()> {
    with(request, "x-session", name)
}

/// Goal: a user is counted by name wherever it comes from, and who has none by address.
/// Method: one user from two addresses, another, and nobody; an empty name is nobody's.
#[test]
fn users_are_counted_by_name_and_others_by_address() {
    let door = Door::new(&user(layer()));
    let alice = |address| session(from(address, "GET", "/"), "alice");
    assert_eq!(door.admits(["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(alice)), 2);
    assert_eq!(door.admits([(); 3].map(|()| session(get("/"), "bob"))), 2);
    assert_eq!(door.admits([get("/"), session(get("/"), ""), get("/")]), 2);
}

/// Goal: a user who is called like an address is not that address.
/// Method: a user with the caller's address for a name, beside that address.
#[test]
fn a_name_is_no_address() {
    let door = Door::new(&user(layer()));
    assert_eq!(door.admits([(); 3].map(|()| session(from("192.0.2.9", "GET", "/"), CALLER))), 2);
    assert_eq!(door.admits([(); 3].map(|()| get("/"))), 2);
}

/// Goal: `by_ip` counts by address, whoever the user is; a rule that says whom it counts is not changed.
/// Method: users of one address, with a rule of each kind.
#[test]
fn by_ip_counts_by_address() {
    let door = Door::new(&user(layer()).by_ip());
    assert_eq!(door.admits(["a", "b", "c"].map(|name| session(get("/"), name))), 2);
    let by_user = limiter(set([by(KeyKind::User, rule("api", "2/minute"))])).0;
    let door = Door::new(&user(RateLimitLayer::new(by_user)).by_ip());
    assert_eq!(door.admits(["a", "b", "c"].map(|name| session(get("/"), name))), 3);
}

/// Goal: a tier has the limits of its tier; none, and an unknown one, have the first.
/// Method: callers of each, each from an address of its own.
#[test]
fn tiers_have_their_limits() {
    let limits =
        Limits::ByTier([1, 3].map(|most| vec![Limit::per_minute(most).build().unwrap()]).into());
    let rules =
        RuleSet { tiers: vec!["free".into(), "pro".into()], ..set([RuleSpec::new("api", limits)]) };
    let layer = RateLimitLayer::new(limiter(rules).0)
        .tier(|seen| Some(seen.headers().get("x-plan")?.to_str().ok()?.to_owned()));
    let door = Door::new(&layer);
    for (nth, (plan, most)) in
        [("pro", 3), ("free", 1), ("gold", 1), ("", 1), ("PRO", 1)].into_iter().enumerate()
    {
        let asks =
            [(); 4].map(|()| with(from(&format!("192.0.2.{nth}"), "GET", "/"), "x-plan", plan));
        assert_eq!(door.admits(asks), most, "{plan}");
    }
    assert_eq!(door.admits([(); 4].map(|()| from("192.0.2.99", "GET", "/"))), 1);
}

/// Goal: hooks see the method, the target, the header fields and the extensions.
/// Method: a user made of all four.
#[test]
fn hooks_see_the_whole_request() {
    let layer = layer().user(|seen| {
        let length = seen.extensions().get::<usize>()?;
        let host = seen.headers().get("host")?.to_str().ok()?;
        Some(format!("{} {} {host} {length}", seen.method(), seen.uri()))
    });
    let door = Door::new(&layer);
    let ask = |method, target, host, length: usize| {
        let mut request = with(from(CALLER, method, target), "host", host);
        request.extensions_mut().insert(length);
        request
    };
    let same = || ask("GET", "/a?b", "h", 1);
    assert_eq!(door.admits([same(), same(), same()]), 2);
    let others = [
        ask("PUT", "/a?b", "h", 1),
        ask("GET", "/a?c", "h", 1),
        ask("GET", "/a?b", "i", 1),
        ask("GET", "/a?b", "h", 2),
    ];
    assert_eq!(door.admits(others), 4);
}

/// A request with an extension in the place of the address that other tests leave.
fn left_with<T: Clone + Send + Sync + 'static>(extension: T) -> Request<()> {
    Request::builder().uri("/").extension(extension).body(()).unwrap()
}

fn socket(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), 40_000)
}

/// Goal: the address is read where servers leave it, and is the same caller wherever that is; the port
/// is no part of it.
/// Method: one address in each place.
#[test]
fn an_address_is_found_where_servers_leave_it() {
    let door = Door::new(&layer().by_ip());
    let address: IpAddr = CALLER.parse().unwrap();
    let mut asks = vec![
        left_with(Peer(address)),
        left_with(socket(CALLER)),
        left_with(SocketAddr::new(address, 9)),
    ];
    #[cfg(feature = "axum")]
    asks.push(left_with(axum::extract::ConnectInfo(socket(CALLER))));
    assert_eq!(door.admits(asks), 2);
    assert_eq!(door.admits([left_with(socket("192.0.2.2"))]), 1);
}

/// Goal: what an application says of the address counts for more than what the server left, and where
/// it says nothing the server's counts.
/// Method: a hook that reads a header field.
#[test]
fn the_hook_for_the_address_comes_first() {
    let layer =
        layer().by_ip().peer(|seen| seen.headers().get("x-peer")?.to_str().ok()?.parse().ok());
    let door = Door::new(&layer);
    assert_eq!(
        door.admits(["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|own| with(
            from(own, "GET", "/"),
            "x-peer",
            "198.51.100.1"
        ))),
        2
    );
    assert_eq!(
        door.admits(["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|own| with(
            from(own, "GET", "/"),
            "x-peer",
            "nonsense"
        ))),
        3
    );
}

/// Goal: a rule that does not need the address is asked without one; one that does is a fault of the
/// set-up, unless it says otherwise.
/// Method: requests without an address, with rules that count by something else, skip, or deny.
#[test]
fn without_an_address() {
    let ask = || Request::builder().uri("/").body(()).unwrap();
    let missing =
        |on_missing| RuleSpec { on_missing, ..by(KeyKind::User, rule("api", "1/minute")) };
    for (rule, statuses) in [
        (by(KeyKind::Global, rule("api", "1/minute")), [200, 429]),
        (by(KeyKind::Ip, rule("api", "1/minute")), [500, 500]),
        (missing(OnMissing::Ip), [500, 500]),
        (missing(OnMissing::Skip), [200, 200]),
        (missing(OnMissing::Deny), [403, 403]),
    ] {
        let shown = format!("{rule:?}");
        let door = super::door([rule]);
        assert_eq!([door.status(ask()), door.status(ask())], statuses, "{shown}");
        assert_eq!(door.calls(), statuses.iter().filter(|status| **status == 200).count());
    }
}

/// Goal: behind a trusted proxy the address is the one that it vouches for, also for the hook.
/// Method: a proxy that is told of by the hook, speaking for two callers.
#[test]
fn a_proxy_that_the_hook_tells_of_speaks_for_others() {
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let rules = RuleSet { identity, ..set([rule("api", "2/minute")]) };
    let layer = RateLimitLayer::new(limiter(rules).0).by_ip().peer(|_| "10.0.0.1".parse().ok());
    let door = Door::new(&layer);
    for caller in ["198.51.100.1", "198.51.100.2"] {
        assert_eq!(door.admits([(); 3].map(|()| with(get("/"), "x-forwarded-for", caller))), 2);
    }
}

/// Goal: with axum, a router behind the layer is limited by the address of the connection.
/// Method: a router with one route, asked as axum's server asks it.
#[test]
#[cfg(feature = "axum")]
fn a_router_of_axum_is_limited_by_address() {
    use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
    use tower::ServiceExt;
    let router = Router::new().route("/", get(|| async { "hello" })).layer(layer().by_ip());
    let status = |address: &str| {
        let request = Request::builder().uri("/").extension(ConnectInfo(socket(address)));
        let response = super::now(router.clone().oneshot(request.body(Body::empty()).unwrap()));
        response.unwrap().status().as_u16()
    };
    assert_eq!([CALLER; 3].map(status), [200, 200, 429]);
    assert_eq!(status("192.0.2.2"), 200);
}
