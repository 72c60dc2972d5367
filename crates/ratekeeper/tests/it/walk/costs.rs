//! What a request costs.

use super::{Site, by, rule};
use proptest::prelude::*;
use ratekeeper::request::Rejection;
use ratekeeper::rule::{CostSpec, RuleSpec};
use ratekeeper::{Rejected, Request};

/// Most units that are believed, and what is taken where nothing is said.
const MAX: u64 = 32_000;
const DEFAULT: u64 = 4_000;

fn spec(max: u64) -> RuleSpec {
    let cost = CostSpec::Header { name: "x-cost".into(), default: DEFAULT, max };
    RuleSpec { cost, ..rule("tokens", "1000000/hour") }
}

/// Units that a fresh key is charged for these lines.
fn charged(max: u64, lines: &[&[u8]]) -> Result<u64, Rejected> {
    let fields: Vec<(&str, &[u8])> = lines.iter().map(|line| ("X-Cost", *line)).collect();
    let site = Site::of([spec(max)]);
    let request = Request { headers: &fields, ..by("alice") };
    let decisions = crate::limiter::block_on(site.limiter.check(&request))?;
    assert!(decisions.is_allowed());
    let left = site.peek(&by("alice")).remaining();
    assert_eq!(decisions.remaining(), left);
    Ok(1_000_000 - left)
}

/// Goal: a cost is at least 1 and at most `max`; absent, it is the default.
/// Method: both sides of every bound, and of those of numbers.
#[test]
fn a_cost_is_within_its_bounds() {
    assert_eq!(charged(MAX, &[]), Ok(DEFAULT));
    for (text, units) in [
        ("1", 1),
        ("7", 7),
        ("31999", 31_999),
        ("32000", MAX),
        ("32001", MAX),
        ("2147483648", MAX),
        ("4294967295", MAX),
        ("4294967296", MAX),
        ("9223372036854775807", MAX),
        ("18446744073709551615", MAX),
        ("18446744073709551616", MAX),
        ("99999999999999999999", MAX),
    ] {
        assert_eq!(charged(MAX, &[text.as_bytes()]), Ok(units), "{text}");
    }
}

/// Goal: what is no cost is the caller's fault, and is never a small one.
/// Method: signs, spaces, other bases and notations, bytes that are no text, and two lines.
#[test]
fn what_is_no_cost_is_refused() {
    let texts: [&[u8]; 26] = [
        b"-1",
        b"0",
        b"00",
        b"007",
        b"-0",
        b"+5",
        b" 7",
        b"7 ",
        b"\t7",
        b"",
        b" ",
        b"NaN",
        b"inf",
        b"1e400",
        b"1e3",
        b"0x10",
        b"1.0",
        b"1,000",
        b"1_000",
        b"7,7",
        b"seven",
        b"\xff",
        b"7\0",
        "７".as_bytes(),
        "٧".as_bytes(),
        b"-9223372036854775808",
    ];
    for text in texts {
        let rejected = charged(MAX, &[text]).unwrap_err();
        assert_eq!((rejected.kind(), rejected.status()), (Rejection::Malformed, 400), "{text:?}");
        assert!(rejected.to_string().contains("`x-cost`"), "{rejected}");
    }
    for lines in [[&b"7"[..], b"7"], [b"7", b"8"], [b"", b"7"]] {
        assert_eq!(charged(MAX, &lines).unwrap_err().kind(), Rejection::Malformed);
    }
}

proptest! {
    #![proptest_config(crate::laws::cases(500))]

    /// Goal: for whatever a field says, the cost is from 1 to `max`, or the request is refused.
    /// Method: arbitrary bytes, and digits of any length.
    #[test]
    fn no_field_costs_nothing(
        text in prop_oneof!["[0-9]{1,40}", "[ +0-9a-fxeE.-]{0,8}", "\\PC{0,6}"],
        max in 1..=MAX,
    ) {
        if let Ok(units) = charged(max, &[text.as_bytes()]) {
            prop_assert!((1..=max).contains(&units), "{units}");
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_digit()));
            let said = text.parse::<u64>().unwrap_or(u64::MAX);
            prop_assert_eq!(units, said.min(max));
        }
    }
}

/// Goal: units that a caller may say are units of the rule's cost; none is a look.
/// Method: a fixed cost of three, for nothing, one and four; more than a number holds never fits.
#[test]
fn units_that_the_caller_says_are_of_the_rules_cost() {
    let site = Site::of([RuleSpec { cost: CostSpec::Fixed(3), ..rule("a", "100/hour") }]);
    let ask = |cost| site.ask(&Request { cost, ..by("alice") });
    assert_eq!(ask(None).remaining(), 97);
    assert_eq!(ask(Some(0)).remaining(), 97);
    assert_eq!(ask(Some(1)).remaining(), 94);
    assert_eq!(ask(Some(4)).remaining(), 82);
    for huge in [u64::MAX, u64::MAX / 2, 1 << 32] {
        let refused = ask(Some(huge));
        assert!(refused.is_never(), "{huge}");
        assert_eq!(refused.remaining(), 82);
    }
}

/// Goal: a look costs nothing where a field says the cost, either, but the field has to be one.
/// Method: cost 0 with a field, without, and with one that is none.
#[test]
fn a_look_costs_nothing() {
    let site = Site::of([spec(MAX)]);
    let fields = [("x-cost", "500")];
    assert_eq!(site.peek(&by("alice")).remaining(), 1_000_000);
    assert_eq!(site.peek(&Request { headers: &fields, ..by("alice") }).remaining(), 1_000_000);
    let junk = [("x-cost", "-5")];
    let look = Request { headers: &junk, cost: Some(0), ..by("alice") };
    assert_eq!(site.refusal(&look).status(), 400);
}

/// Goal: each rule has a cost of its own, in one decision.
/// Method: two fields and a fixed cost; one that never fits refuses for all.
#[test]
fn each_rule_has_its_own_cost() {
    let by_field = |id: &str, name: &str| RuleSpec {
        cost: CostSpec::Header { name: name.into(), default: 2, max: 200 },
        ..rule(id, "100/hour")
    };
    let site = Site::of([by_field("a", "x-a"), by_field("b", "x-b"), rule("c", "100/hour")]);
    let ask = |fields: &[(&str, &str)]| {
        let decisions = site.ask(&Request { headers: &fields.to_vec(), ..by("alice") });
        decisions.results().map(|(_, own)| own.remaining()).collect::<Vec<_>>()
    };
    assert_eq!(ask(&[("x-a", "10")]), [90, 98, 99]);
    assert_eq!(ask(&[("x-b", "101")]), [90, 98, 99], "refused, and nothing charged");
    assert_eq!(ask(&[("x-b", "98"), ("x-a", "90")]), [0, 0, 98]);
}
