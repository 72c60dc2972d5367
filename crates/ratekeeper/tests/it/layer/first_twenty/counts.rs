//! Rows 15, 16 and 19: costs, crowds and clocks.
//!
//! Invariant: no figure that a caller writes, and no moment that it picks, gives it more than the limit.

use super::{MOST, attack, five, other_is_unharmed};
use crate::layer::{CALLER, Door, RateLimitLayer, by, door, from, get, limiter, rule, set, with};
use crate::one_key::{fixed, secs};
use ratekeeper::Limit;
use ratekeeper::rule::{CostSpec, KeyKind, RuleSpec};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tower::Service;

/// A hundred a minute, at the cost that the caller names.
fn priced() -> Door {
    let cost = CostSpec::Header { name: "x-cost".into(), default: 1, max: 10 };
    door([RuleSpec { cost, ..by(KeyKind::Ip, rule("api", fixed(Limit::per_minute(100)))) }])
}

/// Goal: row 15. A cost that is no whole number of at least one is refused, and gives nothing back.
/// Method: signs, nought, fractions, exponents, other bases, other digits, and two lines.
#[test]
fn row_15_costs_that_are_none() {
    let door = priced();
    assert_eq!(door.ask(get("/")).remaining(), Some(99));
    for cost in [
        "-1", "0", "00", "-0", "+1", "1.0", "NaN", "inf", "1e400", "1e0", "0x10", "1_0", "1,1", "",
        " ", "- 1", "\u{661}", "1\u{a0}", "010",
    ] {
        assert_eq!(door.status(with(get("/"), "x-cost", cost)), 400, "{cost:?}");
    }
    assert_eq!(door.status(with(with(get("/"), "x-cost", "1"), "x-cost", "1")), 400);
    assert_eq!(door.ask(get("/")).remaining(), Some(98), "none of them charged or gave back");
}

/// Goal: row 15. A large cost is the largest that there is, and not a small one.
/// Method: around the cap, and around where numbers of a machine end.
#[test]
fn row_15_costs_that_are_large() {
    for cost in [
        "10",
        "11",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "4294967297",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
    ] {
        assert_eq!(priced().ask(with(get("/"), "x-cost", cost)).remaining(), Some(90), "{cost}");
    }
    assert_eq!(priced().ask(with(get("/"), "x-cost", "9")).remaining(), Some(91));
}

/// Goal: row 15. Limits at the ends of their range hold.
/// Method: the largest amounts and the shortest periods that there are, and costs above a limit.
#[test]
fn row_15_limits_at_the_ends() {
    for (units, most) in [(u64::MAX, 1), (1 << 63, 7), (u64::from(u32::MAX), 100)] {
        let cost = CostSpec::Fixed(units);
        let door =
            door([RuleSpec { cost, ..by(KeyKind::Ip, rule("api", Limit::per_minute(most))) }]);
        let told = door.ask(get("/"));
        assert_eq!((told.status, told.field("retry-after"), door.calls()), (429, None, 0));
    }
}

/// Goal: row 16. Of five hundred requests at the same moment, as many pass as the limit has.
/// Method: five hundred threads behind one barrier; then somebody else.
#[test]
fn row_16_five_hundred_at_once() {
    let door = door([five()]);
    let (barrier, passed) = (Barrier::new(500), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..500 {
            scope.spawn(|| {
                barrier.wait();
                passed.fetch_add(usize::from(door.status(get("/")) == 200), Ordering::SeqCst);
            });
        }
    });
    assert_eq!((passed.into_inner(), door.calls()), (MOST, MOST));
    other_is_unharmed(&door);
}

/// Goal: row 16. Who resets its request after it was admitted has been charged.
/// Method: drop each future before it is done, and when it is done.
#[test]
fn row_16_reset_after_it_was_admitted() {
    let door = door([five()]);
    let mut service = door.service.clone();
    for nth in 0..MOST {
        let answer = service.call(get("/"));
        if nth % 2 == 0 {
            drop(answer);
        } else {
            drop(crate::layer::now(answer));
        }
    }
    assert_eq!(door.admits((0..9).map(|_| get("/"))), 0);
    other_is_unharmed(&door);
}

/// Goal: row 19. The time is the limiter's: nothing in a request changes it.
/// Method: fields that name a time, in the past and in the future.
#[test]
fn row_19_times_in_the_request() {
    let names = ["date", "x-request-start", "if-modified-since", "x-timestamp", "age", "expires"];
    let ask = |nth: usize| {
        let value =
            ["Thu, 01 Jan 1970 00:00:00 GMT", "t=9999999999999", "0", "4102444800"][nth % 4];
        with(from(CALLER, "GET", "/"), names[nth % 6], value)
    };
    attack(&door([five()]), (0..48).map(ask));
}

/// Goal: row 19. A clock that is set back gives nothing, and one that is set forward no more than the
/// limit.
/// Method: steps of an hour, under every algorithm.
#[test]
fn row_19_a_clock_that_steps() {
    let start = Duration::from_secs(1_767_225_600);
    for algorithm in ratekeeper::Algorithm::ALL {
        let (limiter, clock) =
            limiter(set([by(KeyKind::Ip, rule("api", Limit::per_minute(5).algorithm(algorithm)))]));
        let door = Door::new(&RateLimitLayer::new(limiter));
        let asks = || (0..9).map(|_| get("/"));
        assert_eq!(door.admits(asks()), MOST, "{algorithm:?}");
        clock.set(start - secs(3_600));
        assert_eq!(door.admits(asks()), 0, "{algorithm:?}, an hour back");
        clock.set(start + secs(3_600));
        assert_eq!(door.admits(asks()), MOST, "{algorithm:?}, an hour on");
        clock.set(start);
        assert_eq!(door.admits(asks()), 0, "{algorithm:?}, and back again");
    }
}

/// Goal: row 19. Around the edge of a window, only an aligned window admits two amounts, as its
/// documentation says; the others hold one amount in every minute.
/// Method: all that there is just before the edge, and just after it.
#[test]
fn row_19_the_edge_of_a_window() {
    use ratekeeper::Algorithm::{FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket};
    for (algorithm, after) in
        [(FixedWindow, MOST), (SlidingWindowLog, 0), (SlidingWindowCounter, 0), (TokenBucket, 0)]
    {
        let (limiter, clock) =
            limiter(set([by(KeyKind::Ip, rule("api", Limit::per_minute(5).algorithm(algorithm)))]));
        let door = Door::new(&RateLimitLayer::new(limiter));
        clock.advance(secs(60) - crate::one_key::TICK);
        assert_eq!(door.admits((0..9).map(|_| get("/"))), MOST);
        clock.advance(crate::one_key::TICK);
        assert_eq!(door.admits((0..9).map(|_| get("/"))), after, "{algorithm:?}");
    }
}
