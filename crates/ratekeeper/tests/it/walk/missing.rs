//! What becomes of a request that lacks a part of the key.

use super::{Site, by, get, ip, keyed, rule};
use ratekeeper::request::Rejection;
use ratekeeper::rule::{KeyKind, OnMissing, RuleSpec};
use ratekeeper::{Identity, Request, RuleSet};

fn header(name: &str) -> KeyKind {
    KeyKind::Header(name.into())
}

/// Every kind of part that a request may lack, without credentials.
fn kinds() -> [KeyKind; 6] {
    [
        KeyKind::User,
        KeyKind::ApiKey,
        KeyKind::Host,
        header("x-org"),
        KeyKind::Claim("org".into()),
        KeyKind::Descriptor("d".into()),
    ]
}

/// Goal: `ip` counts by address, `skip` does not apply, `deny` refuses for good.
/// Method: every kind of part that can be missing, under each.
#[test]
fn each_policy_does_what_it_says() {
    for kind in kinds() {
        let site = |on_missing| {
            let lacking = RuleSpec { on_missing, ..keyed(&[std::slice::from_ref(&kind)]) };
            Site::of([lacking, rule("other", "9/day")])
        };
        let by_ip = site(OnMissing::Ip);
        let elsewhere = Request { peer: Some(ip("198.51.100.7")), ..get("/") };
        assert!(by_ip.together(&get("/"), &get("/x")), "{kind:?}");
        assert!(!by_ip.together(&get("/"), &elsewhere), "{kind:?}");
        assert_eq!(site(OnMissing::Skip).applied(&get("/")), ["other"], "{kind:?}");
        let denied = site(OnMissing::Deny).ask(&get("/"));
        assert!(denied.is_refused() && denied.is_never(), "{kind:?}");
        assert_eq!(denied.rule(), Some("keyed"), "{kind:?}");
    }
}

/// Goal: what is refused for its key charges nothing elsewhere.
/// Method: a rule beside it, before and after it in the file.
#[test]
fn who_is_denied_is_charged_nothing() {
    let denied = RuleSpec { on_missing: OnMissing::Deny, ..keyed(&[&[header("x-org")]]) };
    let site = Site::of([rule("before", "9/day"), denied, rule("after", "9/day")]);
    for _ in 0..3 {
        assert!(site.ask(&by("alice")).is_refused());
    }
    let fields = [("x-org", "acme")];
    let decisions = site.ask(&Request { headers: &fields, ..by("alice") });
    let left: Vec<u64> = decisions.results().map(|(_, own)| own.remaining()).collect();
    assert_eq!(left, [8, 999_999, 8]);
}

/// Goal: an empty value is a missing one.
/// Method: empty users, hosts and header fields, and such of spaces.
#[test]
fn an_empty_value_is_missing() {
    let skipping = |kind| Site::of([RuleSpec { on_missing: OnMissing::Skip, ..keyed(&[&[kind]]) }]);
    assert!(skipping(KeyKind::User).applied(&by("")).is_empty());
    let host = Request { host: Some(""), ..get("/") };
    assert!(skipping(KeyKind::Host).applied(&host).is_empty());
    for value in ["", " ", "\t "] {
        let fields = [("x-org", value)];
        let request = Request { headers: &fields, ..get("/") };
        assert!(skipping(header("x-org")).applied(&request).is_empty(), "{value:?}");
    }
}

/// Goal: a tuple with a missing part is that part's policy; the others stay.
/// Method: (user, header) without the header: under `ip` the address takes its place, apart for each user.
#[test]
fn a_tuple_may_lack_a_part() {
    let tuple: [&[KeyKind]; 2] = [&[KeyKind::User], &[header("x-org")]];
    let of = |on_missing| Site::of([RuleSpec { on_missing, ..keyed(&tuple) }]);
    let by_ip = of(OnMissing::Ip);
    let elsewhere = Request { peer: Some(ip("198.51.100.7")), ..by("alice") };
    assert!(by_ip.together(&by("alice"), &by("alice")));
    assert!(!by_ip.together(&by("alice"), &by("bob")));
    assert!(!by_ip.together(&by("alice"), &elsewhere));
    let fields = [("x-org", "192.0.2.1")];
    let says_so = Request { headers: &fields, ..by("alice") };
    assert!(!by_ip.together(&by("alice"), &says_so), "a value is not the address that stands in");
    assert!(of(OnMissing::Skip).applied(&by("alice")).is_empty());
    assert!(of(OnMissing::Deny).ask(&by("alice")).is_never());
}

/// Goal: without an address nobody is counted by one, and never all together.
/// Method: no peer, under a rule of addresses and under one that falls back on them: refused as the
/// set-up's fault; with a user, the latter needs none.
#[test]
fn without_an_address_nobody_is_counted_by_it() {
    let nowhere = Request { peer: None, ..get("/") };
    for kinds in [&[KeyKind::Ip][..], &[KeyKind::User], &[KeyKind::User, KeyKind::Ip]] {
        let site = Site::of([keyed(&[kinds])]);
        let rejected = site.refusal(&nowhere);
        assert_eq!((rejected.kind(), rejected.status()), (Rejection::Unknown, 500), "{kinds:?}");
        assert!(!rejected.to_string().is_empty());
        assert_eq!(site.peek(&get("/")).remaining(), 1_000_000, "nothing was charged");
    }
    let site = Site::of([keyed(&[&[KeyKind::User, KeyKind::Ip]])]);
    assert!(site.ask(&Request { peer: None, ..by("alice") }).is_allowed());
}

/// Goal: a trusted proxy that names no client that can be read is no reason to count all as one.
/// Method: junk in the header that the proxy is believed in, behind it and without it.
#[test]
fn junk_from_a_trusted_proxy_is_not_a_client() {
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let set = RuleSet { identity, ..super::set([keyed(&[&[KeyKind::Ip]])]) };
    let site = Site::new(set);
    let from = |fields| Request { peer: Some(ip("10.0.0.1")), headers: fields, ..get("/") };
    let [one, other] = ["203.0.113.5", "203.0.113.6"].map(|client| [("X-Forwarded-For", client)]);
    assert!(!site.together(&from(&one), &from(&other)));
    assert!(site.together(&from(&one), &from(&one)));
    let forged = Request { peer: Some(ip("198.51.100.7")), headers: &one, ..get("/") };
    assert!(!site.together(&forged, &from(&one)), "not trusted, not believed");
}
