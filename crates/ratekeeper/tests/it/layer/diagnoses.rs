//! What the layer tells of a set-up that is most likely not meant.
//!
//! Invariant: each diagnosis is told when there is reason to, once, and never without one.

use super::{Door, Inner, by, from, get, rule, set, with};
use http::{Request, Response};
use ratekeeper::diagnosis::Diagnosis;
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{KeyKind, KeySpec, RuleSet, RuleSpec};
use ratekeeper::{Decision, Identity, Limiter, Observer};
use std::sync::{Arc, Mutex};
use tower::Layer;

/// Codes in the order in which they were told.
#[derive(Clone, Default)]
struct Codes(Arc<Mutex<Vec<String>>>);

impl Observer for Codes {
    fn decided(&self, _: &str, _: &Decision) {}

    fn diagnosed(&self, diagnosis: &Diagnosis) {
        let text = diagnosis.to_string();
        let link = format!("(docs/codes.md#{})", diagnosis.code().to_lowercase());
        assert!(text.starts_with(diagnosis.code()) && text.ends_with(&link), "{text}");
        self.0.lock().unwrap().push(diagnosis.code().to_owned());
    }
}

impl Codes {
    fn told(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A layer with these rules, and what it tells.
fn watched(rules: RuleSet) -> (RateLimitLayer, Codes) {
    let codes = Codes::default();
    let limiter = Limiter::memory().keys(1_024).rules(rules).observer(codes.clone()).build();
    (RateLimitLayer::new(limiter), codes)
}

fn plain() -> RuleSet {
    set([rule("api", "100000/minute")])
}

/// Rules behind proxies in this network.
fn behind(network: &[&str]) -> RuleSet {
    let networks = network.iter().map(|text| text.parse().unwrap());
    RuleSet { identity: Identity::default().trusted_proxies(networks), ..plain() }
}

/// What is told after these requests, each of them three times.
fn told(rules: RuleSet, requests: &[Request<()>]) -> Vec<String> {
    let (layer, codes) = watched(rules);
    let door = Door::new(&layer);
    for request in requests.iter().cycle().take(3 * requests.len()) {
        door.ask(request.clone());
    }
    codes.told()
}

/// Goal: RK001. A forwarded field from somebody who is not trusted is told of; one from a proxy, or any
/// other field, is not.
/// Method: each field by which others are spoken for.
#[test]
fn rk001_a_forwarded_field_that_is_not_believed() {
    for name in [
        "x-forwarded-for",
        "forwarded",
        "x-real-ip",
        "x_forwarded_for",
        "true-client-ip",
        "cf-connecting-ip",
    ] {
        let (layer, codes) = watched(plain());
        let door = Door::new(&layer);
        for _ in 0..3 {
            assert_eq!(door.status(with(get("/"), name, "198.51.100.7")), 200);
        }
        assert_eq!(codes.told(), ["RK001"], "{name}");
    }
    assert_eq!(told(plain(), &[with(get("/"), "x-request-id", "1")]), [""; 0]);
    let proxied = with(from("10.0.0.1", "GET", "/"), "x-forwarded-for", "198.51.100.7");
    assert_eq!(told(behind(&["10.0.0.0/8"]), &[proxied]), [""; 0]);
}

/// Goal: RK002. A server that does not say who is at the other end is told of, where a rule needs it.
/// Method: requests without an address, under a rule that counts by it, and one that does not.
#[test]
fn rk002_no_address() {
    let nobody = Request::builder().uri("/").body(()).unwrap();
    assert_eq!(told(plain(), std::slice::from_ref(&nobody)), ["RK002"]);
    assert_eq!(told(set([by(KeyKind::Global, rule("api", "9/minute"))]), &[nobody]), [""; 0]);
    let malformed = get("/a%2Fb");
    assert_eq!(told(set([super::on("/**", rule("api", "9/minute"))]), &[malformed]), [""; 0]);
}

/// How many requests in a row from an address it takes, up to this many.
fn in_a_row(address: &str, most: usize) -> Option<usize> {
    let (layer, codes) = watched(plain());
    let door = Door::new(&layer);
    (1..=most).find(|_| {
        door.ask(from(address, "GET", "/"));
        !codes.told().is_empty()
    })
}

/// Goal: RK003. A thousand requests in a row from one private address are told of, also where a socket
/// for both families shows it in the form of IPv6; from a public address they are not.
/// Method: count; then go on, and see that it is told once.
#[test]
fn rk003_one_private_address() {
    assert_eq!(in_a_row("10.1.2.3", 1_100), Some(1_000));
    assert_eq!(in_a_row("::ffff:192.168.0.9", 1_100), Some(1_000));
    assert_eq!(in_a_row("198.51.100.7", 1_100), None);
    let (layer, codes) = watched(plain());
    let door = Door::new(&layer);
    for nth in 0..3_000 {
        let address = if nth % 999 == 0 { "10.9.9.9" } else { "10.1.2.3" };
        door.ask(from(address, "GET", "/"));
    }
    assert_eq!(codes.told(), [""; 0], "never a thousand in a row");
    for _ in 0..3_000 {
        door.ask(from("10.1.2.3", "GET", "/"));
    }
    assert_eq!(codes.told(), ["RK003"]);
}

/// Goal: another caller between starts the row anew.
/// Method: nine hundred and ninety-nine before and after a public address.
#[test]
fn rk003_counts_those_in_a_row() {
    let (layer, codes) = watched(plain());
    let door = Door::new(&layer);
    for _ in 0..3 {
        for _ in 0..999 {
            door.ask(from("10.1.2.3", "GET", "/"));
        }
        door.ask(from("198.51.100.7", "GET", "/"));
    }
    assert_eq!(codes.told(), [""; 0]);
}

/// Goal: RK004. Rules of which none can apply are told of at the start, once for a layer.
/// Method: no rule, one of a domain, and one more; layered twice.
#[test]
fn rk004_no_rules() {
    let envoy = || RuleSpec { domain: Some("envoy".into()), ..rule("edge", "9/minute") };
    for (rules, expected) in
        [(vec![], 1), (vec![envoy()], 1), (vec![envoy(), rule("api", "9/minute")], 0)]
    {
        let (layer, codes) = watched(set(rules));
        let doors = [Door::new(&layer), Door::new(&layer.clone())];
        doors.iter().for_each(|door| drop(door.ask(get("/"))));
        assert_eq!(codes.told(), vec!["RK004"; expected]);
    }
}

/// Goal: RK005. A rule that counts by what nothing finds out is told of at the start; one that has an
/// alternative is not, nor where the application finds users out.
/// Method: keys of each kind, with and without the hook.
#[test]
fn rk005_nobody_finds_users_out() {
    let keyed = |parts: &[&[KeyKind]]| {
        let key = KeySpec { parts: parts.iter().map(|part| part.to_vec()).collect() };
        set([RuleSpec { key, ..rule("api", "9/minute") }])
    };
    use KeyKind::{ApiKey, Ip, Route, User};
    let claim = KeyKind::Claim("org".into());
    for (parts, without, with_users) in [
        (&[&[User][..]][..], 1, 0),
        (&[&[User, Ip]], 0, 0),
        (&[&[Route], &[User]], 1, 0),
        (&[&[ApiKey]], 1, 1),
        (&[&[User, ApiKey]], 1, 0),
        (&[&[claim]], 1, 1),
        (&[&[KeyKind::Given]], 0, 0),
    ] {
        let (layer, codes) = watched(keyed(parts));
        Door::new(&layer).ask(get("/"));
        assert_eq!(codes.told(), vec!["RK005"; without], "{parts:?}");
        let (layer, codes) = watched(keyed(parts));
        Door::new(&layer.user(|_| Some("alice".to_owned()))).ask(get("/"));
        assert_eq!(codes.told(), vec!["RK005"; with_users], "{parts:?}");
    }
}

/// Goal: RK006. A trusted proxy that does not say for whom it speaks is told of.
/// Method: a proxy without the field, with another field, and with the right one.
#[test]
fn rk006_a_silent_proxy() {
    let proxy = || behind(&["10.0.0.0/8"]);
    let silent = from("10.0.0.1", "GET", "/");
    assert_eq!(told(proxy(), &[silent]), ["RK006"]);
    let other = with(from("10.0.0.1", "GET", "/"), "x-real-ip", "198.51.100.7");
    assert_eq!(told(proxy(), &[other]), ["RK006"]);
    let right = with(from("10.0.0.1", "GET", "/"), "x-forwarded-for", "198.51.100.7");
    let direct = get("/");
    assert_eq!(told(proxy(), &[right, direct]), [""; 0]);
    let malformed = with(from("10.0.0.1", "GET", "/"), "x-forwarded-for", b"\xff");
    assert_eq!(told(proxy(), &[malformed]), [""; 0], "it does say something");
}

/// Goal: RK007. A request that meets one limiter twice is told of; one that meets two is not.
/// Method: a layer behind a layer, with the same limiter, and with another.
#[test]
fn rk007_one_limiter_twice() {
    let inner = || Inner::new(|_| Response::new("hello".into()));
    let (layer, codes) = watched(plain());
    let service = layer.layer(layer.layer(inner()));
    for _ in 0..3 {
        assert_eq!(super::ask(&service, get("/")).status, 200);
    }
    assert_eq!(codes.told(), ["RK007"]);
    let ((one, first), (other, second)) = (watched(plain()), watched(plain()));
    let service = one.layer(other.layer(inner()));
    assert_eq!(super::ask(&service, get("/")).status, 200);
    assert_eq!([first.told(), second.told()], [vec![], Vec::<String>::new()]);
}

/// Goal: RK008. Whoever trusts everybody is told so at the start; whoever trusts many is not.
/// Method: all of either family, in one network or two, and networks of one's own.
#[test]
fn rk008_everybody_is_trusted() {
    for (networks, expected) in [
        (&["0.0.0.0/0"][..], 1),
        (&["0.0.0.0/1", "128.0.0.0/1"], 1),
        (&["10.0.0.0/8", "192.168.0.0/16"], 0),
        (&["::/0"], 1),
        (&["2000::/3"], 1),
        (&["2001:db8::/32", "fc00::/7"], 0),
    ] {
        let (layer, codes) = watched(behind(networks));
        let _doors = [Door::new(&layer), Door::new(&layer)];
        assert_eq!(codes.told(), vec!["RK008"; expected], "{networks:?}");
    }
}

/// Goal: a set-up as it should be is told nothing about.
/// Method: callers of both families, users and proxies that say for whom they speak.
#[test]
fn a_good_set_up_is_told_nothing_about() {
    let asks = [
        get("/"),
        from("2001:db8::7", "POST", "/login"),
        with(from("10.0.0.1", "GET", "/"), "x-forwarded-for", "198.51.100.7, 10.0.0.2"),
    ];
    assert_eq!(told(behind(&["10.0.0.0/8"]), &asks), [""; 0]);
}
