//! Conditions in CEL.
//!
//! Invariant: a condition that cannot be read, or worked out, leaves the rule in force.

use super::{Site, by, get, ip, rule};
use proptest::prelude::*;
use ratekeeper::rule::{CostSpec, RuleSpec};
use ratekeeper::{Request, RuleSet};

/// Words and signs of CEL, in any order.
const WORDS: &str = concat!(
    r"((method|path|headers|cost|claims|true|1|0u|-1|'a'|b'x'|null|in|size|matches|has|all|x",
    r"|&&|\|\||==|<|\+|-|!|\?|:|\(|\)|\[|\]|\{|\}|\.|,|\n) ?){0,14}",
);

fn when(condition: &str) -> RuleSpec {
    let cost = CostSpec::Header { name: "x-cost".into(), default: 5, max: 100 };
    RuleSpec { when: Some(condition.into()), cost, ..rule("when", "1000/day") }
}

fn site(condition: &str) -> Site {
    let tiers = ["free".into(), "pro".into()].to_vec();
    Site::new(RuleSet { tiers, ..super::set([when(condition)]) })
}

fn applies(condition: &str, request: &Request<'_>) -> bool {
    !site(condition).applied(request).is_empty()
}

/// Goal: a condition can ask for everything that it may name, and for nothing else.
/// Method: each variable in a condition that holds, and in one that does not.
#[test]
fn every_variable_can_be_asked_for() {
    let fields = [("X-Plan", "a"), ("x-plan", "b"), ("X-Cost", "11")];
    let request = Request {
        method: "POST",
        host: Some("API.example.com:443"),
        headers: &fields,
        tier: Some("pro"),
        cost: Some(1),
        ..Request { path: "//api/./x?q=1", ..by("alice") }
    };
    for (holds, fails) in [
        ("method == 'POST'", "method == 'GET'"),
        ("path == '/api/x'", "path == '//api/./x'"),
        ("path.startsWith('/api/')", "path.startsWith('/other')"),
        ("host == 'api.example.com'", "host == 'API.example.com:443'"),
        ("headers['x-plan'] == 'a, b'", "headers['x-plan'] == 'a'"),
        ("'x-plan' in headers", "'X-Plan' in headers"),
        ("ip == '192.0.2.1'", "ip == '192.0.2.2'"),
        ("user == 'alice'", "user == ''"),
        ("tier == 'pro'", "tier == 'free'"),
        ("cost == 11u", "cost == 5u"),
        ("cost > 10", "cost > 11"),
        ("cost >= 11", "cost < 11"),
        ("size(claims) == 0", "size(claims) > 0"),
        ("true", "false"),
        ("headers.exists(name, name == 'x-plan')", "headers.all(name, name == 'x-plan')"),
        ("method == 'POST' && cost > 10", "method == 'POST' && cost > 100"),
    ] {
        let site = |condition| {
            let decisions = site(condition).ask(&request);
            decisions.rules().len() == 1
        };
        #[cfg(not(feature = "jwt"))]
        if holds.contains("claims") {
            continue;
        }
        assert!(site(holds), "{holds}");
        assert!(!site(fails), "{fails}");
    }
}

/// Goal: the method is asked for in the form in which rules match it.
/// Method: a method in lower case, which servers take for the same.
#[test]
fn a_spelling_of_the_method_passes_no_condition_by() {
    for method in ["POST", "post", "Post"] {
        assert!(applies("method == 'POST'", &Request { method, ..get("/") }), "{method}");
    }
}

/// Goal: what the request does not have is empty.
/// Method: no user, no host, no tier, no address.
#[test]
fn what_is_not_there_is_empty() {
    let nothing = Request { peer: None, ..by("alice") };
    for condition in ["host == ''", "ip == ''", "tier == 'free'", "size(headers) == 0"] {
        assert!(applies(condition, &nothing), "{condition}");
    }
    assert!(applies("user == ''", &get("/")));
    let from = Request { peer: Some(ip("::ffff:192.0.2.1")), ..get("/") };
    assert!(applies("ip == '192.0.2.1'", &from), "an address in its one form");
    assert!(!applies("ip != '192.0.2.1'", &from));
}

/// Goal: a condition that cannot be worked out, or is no yes or no, applies the rule.
/// Method: fields that are not there, wrong types, division by nothing, overflow.
#[test]
fn what_cannot_be_worked_out_applies() {
    for condition in [
        "headers['missing'] == 'x'",
        "1 / 0 == 1",
        "cost / 0u == 1u",
        "method > 5",
        "'text'",
        "1",
        "9223372036854775807 + 1 == 0",
        "method.unknown()",
        "size(5) == 1",
        "path.matches('[')",
        "timestamp('x') == timestamp('y')",
    ] {
        assert!(applies(condition, &get("/")), "{condition}");
    }
}

/// Goal: a condition that cannot be read leaves the rule in force.
/// Method: no CEL, unknown names, two walks, too long; each with a `false` that it must not follow.
#[test]
fn what_cannot_be_read_applies() {
    let long = format!("false && {} == 1", "1".repeat(1024));
    for condition in [
        "",
        "(",
        "false &&",
        "unknown == 1 && false",
        "false && headers.all(a, true) && headers.all(b, true)",
        "false && headers.all(a, headers.exists(b, true))",
        &long,
    ] {
        assert!(applies(condition, &get("/")), "{condition}");
    }
}

/// Goal: a condition of the greatest length is read, and of one more is not.
/// Method: `false`, made long by spaces.
#[test]
fn a_condition_has_a_greatest_length() {
    let padded = |length: usize| format!("false{}", " ".repeat(length - 5));
    assert!(!applies(&padded(1024), &get("/")));
    assert!(applies(&padded(1025), &get("/")));
}

proptest! {
    #![proptest_config(crate::laws::cases(400))]

    /// Goal: no text is a panic, neither read nor asked.
    /// Method: arbitrary text, and words and signs of CEL in any order.
    #[test]
    fn no_condition_panics(
        text in prop_oneof![
            "\\PC{0,40}",
            "[ -~]{0,60}",
            WORDS,
        ],
        path in "/[a-z/]{0,8}",
    ) {
        let fields = [("x-a", "1")];
        let site = site(&text);
        let request = Request { headers: &fields, ..get(&path) };
        let decisions = site.ask(&request);
        prop_assert!(decisions.is_allowed());
        prop_assert!(decisions.rules().len() <= 1);
    }
}

/// Goal: nesting of any depth is read or refused, and nothing else.
/// Method: brackets and signs as deep as a condition is long.
#[test]
fn deep_nesting_is_no_panic() {
    for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("{1:", "}"), ("a.", "")] {
        let depth = 1000 / (open.len() + close.len());
        let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(applies(&text, &get("/")), "{open}");
    }
}
