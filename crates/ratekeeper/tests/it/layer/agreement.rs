//! The layer decides what the limiter behind it decides.
//!
//! Invariant: the twin is asked through `Limiter::check`, by a request that is made by hand, and shares
//! only the rules and the clock.

use super::{Door, KEYS, by, now, on, rule, set};
use crate::one_key::millis;
use http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;
use ratekeeper::fields::Refusal;
use ratekeeper::layer::{Peer, RateLimitLayer};
use ratekeeper::rule::pattern::{HostPattern, PathPattern, canonical_host};
use ratekeeper::rule::{CostSpec, Exempt, KeyKind, Limits, Match, OnMissing, RuleSet, RuleSpec};
use ratekeeper::{Identity, Limiter, ManualClock, Rejected};
use std::net::IpAddr;

/// A request as it may come in.
#[derive(Clone, Debug)]
struct Sent {
    method: &'static str,
    target: String,
    peer: Option<IpAddr>,
    headers: Vec<(&'static str, Vec<u8>)>,
    waits: u64,
}

fn rules() -> RuleSet {
    let cost = CostSpec::Header { name: "x-cost".into(), default: 2, max: 6 };
    let header = KeyKind::Header("x-tenant".into());
    let exempt = Match { paths: vec![PathPattern::parse("/healthz").unwrap()], ..Match::default() };
    let mut on_host = by(KeyKind::Host, rule("host", "7/minute"));
    on_host.matches.hosts.push(HostPattern::parse("*.example.com").unwrap());
    let rules = [
        on("/api/**", rule("api", ["8/minute", "20/hour"])),
        on(
            "/api/*/items",
            RuleSpec { cost, ..by(header.clone(), rule("tenant", "12/minute burst 9")) },
        ),
        RuleSpec { on_missing: OnMissing::Skip, ..by(header, rule("skips", "30/minute")) },
        on("/closed/**", RuleSpec::new("closed", Limits::Closed)),
        by(KeyKind::Path, on("/**", rule("path", "25/minute"))),
        on_host,
    ];
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let exempt = vec![Exempt { matches: exempt, ips: vec![] }];
    RuleSet { identity, exempt, ..set(rules) }
}

/// Targets that rules are for, and spellings of them.
const TARGETS: [&str; 8] = [
    "/api/x",
    "/api/7/items",
    "/closed/x",
    "/healthz",
    "/",
    "/API//x/",
    "*",
    "http://a.example.com/api/x",
];

fn sent() -> impl Strategy<Value = Sent> {
    let target = prop_oneof![
        3 => prop::sample::select(&TARGETS[..]).prop_map(String::from),
        1 => "/[a-z./%;?A-F0-9]{0,12}",
        1 => "/[!-~]{0,24}",
    ];
    let peer = prop_oneof![
        5 => prop::sample::select(&["192.0.2.1", "192.0.2.2", "10.0.0.1", "2001:db8::1", "::ffff:192.0.2.1"][..])
            .prop_map(|text| text.parse().ok()),
        1 => Just(None),
    ];
    let name = prop::sample::select(
        &[
            "x-tenant",
            "x-cost",
            "x-forwarded-for",
            "host",
            "accept",
            "connection",
            "x-api-key",
            "authorization",
        ][..],
    );
    let value = prop_oneof![
        Just(b"1".to_vec()),
        Just(b"a.example.com:80".to_vec()),
        Just(b"198.51.100.7, 10.0.0.9".to_vec()),
        "[ -~]{0,12}".prop_map(String::into_bytes),
        prop::collection::vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff], 0..12),
    ];
    let headers = prop::collection::vec((name, value), 0..4);
    let method = prop::sample::select(&["GET", "HEAD", "POST", "OPTIONS", "get", "PURGE"][..]);
    (method, target, peer, headers, prop_oneof![Just(0_u64), 0_u64..20_000]).prop_map(
        |(method, target, peer, headers, waits)| Sent { method, target, peer, headers, waits },
    )
}

/// The request as the layer gets it; `None` if no server could have read it.
fn request(sent: &Sent) -> Option<Request<()>> {
    let mut request = Request::builder().method(sent.method).uri(&sent.target).body(()).ok()?;
    if let Some(peer) = sent.peer {
        request.extensions_mut().insert(Peer(peer));
    }
    for (name, value) in &sent.headers {
        let value = HeaderValue::from_bytes(value).ok()?;
        request.headers_mut().append(HeaderName::from_static(name), value);
    }
    Some(request)
}

/// What the twin makes of it: the status, and what is left for the rule that decides.
fn twin(limiter: &Limiter, request: &Request<()>, sent: &Sent) -> (u16, Option<u64>) {
    let hosts: Vec<&HeaderValue> = request.headers().get_all("host").iter().collect();
    let named = request.uri().host().or_else(|| hosts.first()?.to_str().ok());
    let canonical = |host| canonical_host(host).into_owned();
    let field = hosts.first().and_then(|host| host.to_str().ok());
    let differ = field.is_some_and(|own| {
        request.uri().host().is_some_and(|other| canonical(own) != canonical(other))
    });
    if hosts.len() > 1 || differ {
        return (400, None);
    }
    let asked = ratekeeper::Request {
        host: named,
        peer: sent.peer,
        headers: request.headers(),
        ..ratekeeper::Request::new(sent.method, request.uri().path())
    };
    let decisions = match now(limiter.check(&asked)) {
        Ok(decisions) => decisions,
        Err(rejected) => return (Rejected::status(&rejected), None),
    };
    let status = Refusal::of(&decisions).map_or(200, |refusal| refusal.status());
    let told = decisions.rule().is_some() && status != 403;
    (status, told.then(|| decisions.remaining()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Goal: whatever is sent, the layer answers, and as the limiter decides.
    /// Method: any requests, one after another, to the layer and to a twin with the same clock.
    #[test]
    fn the_layer_says_what_the_limiter_decides(all in prop::collection::vec(sent(), 1..40)) {
        let clock = ManualClock::new();
        let build = || Limiter::memory().keys(KEYS).clock(&clock).rules(rules()).build();
        let (door, other) = (Door::new(&RateLimitLayer::new(build())), build());
        let mut passed = 0;
        for sent in all {
            clock.advance(millis(sent.waits));
            let Some(asked) = request(&sent) else { continue };
            let (status, left) = twin(&other, &asked, &sent);
            let told = door.ask(asked);
            prop_assert_eq!((told.status, told.remaining()), (status, left), "{:?}", sent);
            passed += usize::from(status == 200);
            prop_assert_eq!(door.calls(), passed);
        }
    }
}
