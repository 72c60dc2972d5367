//! What passes uncounted, and what never passes.

use super::{Site, by, get, ip, on_paths, patterns, rule, set};
use ratekeeper::rule::{Exempt, Limits, Match, RuleSpec};
use ratekeeper::{Identity, Request, RuleSet};

fn paths(paths: &[&str]) -> Exempt {
    Exempt { matches: on_paths(paths), ips: Vec::new() }
}

fn nets(nets: &[&str]) -> Exempt {
    let ips = nets.iter().map(|net| net.parse().unwrap()).collect();
    Exempt { ips, ..Exempt::default() }
}

fn exempting(exempt: Vec<Exempt>) -> Site {
    Site::new(RuleSet { exempt, ..set([rule("api", "1000/day")]) })
}

fn is_exempt(site: &Site, request: &Request<'_>) -> bool {
    let decisions = site.peek(request);
    assert!(decisions.is_allowed());
    decisions.rules().is_empty() && decisions.rule().is_none()
}

/// Goal: an exempt path passes uncounted, in every spelling of exactly that path, and no other.
/// Method: spellings, and paths that only a server might take for it.
#[test]
fn an_exempt_path_passes_uncounted() {
    let site = exempting(vec![paths(&["/healthz", "/static/**"])]);
    for path in
        ["/healthz", "//healthz", "/x/../healthz", "/h%65althz", "/healthz?a=1", "/static/a"]
    {
        assert!(is_exempt(&site, &get(path)), "{path}");
        for _ in 0..3 {
            assert!(site.ask(&get(path)).rules().is_empty());
        }
    }
    for path in ["/Healthz", "/healthz/x", "/healthz;a", "/healthz/", "/api", "/static/../api"] {
        assert!(!is_exempt(&site, &get(path)), "{path}");
    }
    assert_eq!(site.peek(&get("/api")).remaining(), 1_000, "nothing was counted");
}

/// Goal: an exempt network passes uncounted, by the peer's address, and by nothing that the peer says.
/// Method: both sides of the networks' bounds; a forwarded address from whom nobody trusts.
#[test]
fn an_exempt_network_passes_uncounted() {
    let site = exempting(vec![nets(&["10.0.0.0/8", "2001:db8::/32"])]);
    let from = |peer| Request { peer: Some(ip(peer)), ..Request::new("GET", "/") };
    for (peer, exempt) in [
        ("10.0.0.0", true),
        ("10.255.255.255", true),
        ("9.255.255.255", false),
        ("11.0.0.0", false),
        ("::ffff:10.1.2.3", true),
        ("2001:db8:ffff::1", true),
        ("2001:db9::", false),
    ] {
        assert_eq!(is_exempt(&site, &from(peer)), exempt, "{peer}");
    }
    let forged = [("X-Forwarded-For", "10.1.2.3"), ("X-Real-IP", "10.1.2.3")];
    assert!(!is_exempt(&site, &Request { headers: &forged, ..get("/") }));
    let nowhere = Request { peer: None, ..by("alice") };
    assert!(!is_exempt(&site, &nowhere), "who has no address is in no network");
}

/// Goal: behind a trusted proxy the client's address counts, not the proxy's.
/// Method: a trusted proxy of an exempt network speaks for a client of neither, and the other way round.
#[test]
fn behind_a_proxy_the_client_is_exempt_or_not() {
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let exempt = vec![nets(&["10.0.0.0/8", "203.0.113.0/24"])];
    let site = Site::new(RuleSet { identity, exempt, ..set([rule("api", "9/day")]) });
    let behind = |client: &str| {
        let fields = [("X-Forwarded-For", client.to_owned())];
        let peer = Some(ip("10.0.0.1"));
        is_exempt(&site, &Request { peer, headers: &fields, ..Request::new("GET", "/") })
    };
    assert!(behind("203.0.113.9"));
    assert!(!behind("198.51.100.9"));
    assert!(!behind("203.0.113.9, 198.51.100.9"), "the nearest that is not trusted");
    assert!(behind("198.51.100.9, 203.0.113.9"));
}

/// Goal: an exemption with several conditions needs all of them; several exemptions, one.
/// Method: a path from a network, methods, header fields; and one without conditions on the path but with
/// an exception.
#[test]
fn an_exemption_needs_all_that_it_names() {
    let both = Exempt { matches: on_paths(&["/metrics"]), ..nets(&["10.0.0.0/8"]) };
    let options = Match { methods: vec!["OPTIONS".into()], ..Match::default() };
    let options = Exempt { matches: options, ips: Vec::new() };
    let site = exempting(vec![both, options]);
    let inside = Request { peer: Some(ip("10.0.0.1")), ..Request::new("GET", "/metrics") };
    assert!(is_exempt(&site, &inside));
    assert!(!is_exempt(&site, &Request { path: "/", ..inside }));
    assert!(!is_exempt(&site, &get("/metrics")));
    assert!(is_exempt(&site, &Request { method: "options", ..get("/x") }));
    let except = Match { except: patterns(&["/api"]), ..Match::default() };
    let site = exempting(vec![Exempt { matches: except, ..nets(&["10.0.0.0/8"]) }]);
    assert!(is_exempt(&site, &Request { path: "/other", ..inside }));
    assert!(!is_exempt(&site, &Request { path: "/api", ..inside }));
}

/// Goal: a closed rule refuses for good, charges nothing anywhere, and is passed only by what is exempt.
/// Method: `deny` on a path, beside a rule that counts.
#[test]
fn a_closed_route_lets_nobody_pass() {
    let matches = on_paths(&["/old/**"]);
    let closed = RuleSpec { limits: Limits::Closed, matches, ..rule("closed", "1/day") };
    let exempt = vec![paths(&["/old/robots.txt"])];
    let rules = [rule("before", "9/day"), closed, rule("after", "9/day")];
    let site = Site::new(RuleSet { exempt, ..set(rules) });
    for _ in 0..3 {
        let refused = site.ask(&get("/old/x"));
        assert!(refused.is_refused() && refused.is_never());
        assert_eq!((refused.rule(), refused.retry_after()), (Some("closed"), None));
        assert_eq!((refused.limit(), refused.remaining()), (0, 0));
    }
    assert!(is_exempt(&site, &get("/old/robots.txt")));
    let passes = site.ask(&get("/new"));
    let left: Vec<_> = passes.results().map(|(id, own)| (id, own.remaining())).collect();
    assert_eq!(left, [("before", 8), ("after", 8)]);
}
