//! Law 10: limits raised and lowered while a key is in use, at every offset.
//!
//! Invariant: what was used stays used; only what is left and the waits follow the new limit.

use super::account::{Account, KINDS, SECOND, Shape, TODAY, verdict};
use ratekeeper::Algorithm;
use ratekeeper_testing::oracle::{self, Oracle};

/// A short period, so that every offset can be tried.
const PERIOD: u64 = 12;
const LIMITS: std::ops::RangeInclusive<u64> = 1..=6;

/// A key that was charged at two times, in the library and in the oracle, and what time it is: so
/// many ticks after the first charge.
fn used(kind: Algorithm, limit: u64, offset: u64) -> (Account, Box<dyn Oracle>, u64) {
    let shape = Shape::new(kind, limit, PERIOD);
    let (mut account, mut oracle) = (shape.account(), shape.oracle());
    let first = 100 * PERIOD + 5;
    for (at, cost) in [(first, limit / 2), (first + offset / 2, limit - limit / 2)] {
        let told = account.ask(at, cost);
        assert_eq!(told, verdict(oracle::ask(&mut *oracle, at, cost)));
    }
    (account, oracle, first + offset)
}

/// Runs `law` for every algorithm, former limit, new limit and offset.
fn everywhere(law: impl Fn(Account, Box<dyn Oracle>, u64, u64)) {
    for kind in KINDS {
        for former in LIMITS {
            for offset in 0..=3 * PERIOD {
                for limit in LIMITS {
                    let (account, oracle, now) = used(kind, former, offset);
                    law(account, oracle, now, limit);
                }
            }
        }
    }
}

/// Goal: after a reload every answer is the one of the specification.
/// Method: change the limit at every offset, and ask for every cost, against the oracle.
#[test]
fn a_changed_limit_is_answered_as_specified_at_every_offset() {
    everywhere(|mut account, mut oracle, now, limit| {
        account.change_limit(limit);
        oracle.change_limit(limit);
        for cost in [0, limit + 1, limit, 1, 2, 1] {
            let told = account.ask(now, cost);
            assert_eq!(told, verdict(oracle::ask(&mut *oracle, now, cost)), "{account:?}");
        }
    });
}

/// Goal: a raised limit counts at once, by just as much as it was raised.
/// Method: raise the limit at every offset, and compare what is left with what was.
#[test]
fn a_raised_limit_gives_the_difference_at_once() {
    everywhere(|mut account, _, now, limit| {
        let (before, former) = (account.remaining(now), account.shape.limit());
        if limit >= former {
            account.change_limit(limit);
            assert_eq!(account.remaining(now), before + limit - former, "{account:?}");
        }
    });
}

/// Goal: a limit that is lowered and raised again has changed nothing.
/// Method: do so at every offset, with a refused request in between.
#[test]
fn a_limit_lowered_and_raised_again_has_changed_nothing() {
    everywhere(|mut account, _, now, limit| {
        let (before, former) = (account.clone(), account.shape.limit());
        if limit < former {
            account.change_limit(limit);
            assert!(!account.ask(now, account.remaining(now) + 1).allowed());
            account.change_limit(former);
            assert!(account.same_state(&before));
            assert_eq!(account.see(now, 1), before.see(now, 1), "{account:?}");
        }
    });
}

/// Holds every wait that a key promises against every tick until it is over.
fn assert_exact(account: &Account, now: u64) {
    let true_wait = |cost| (0..).find(|wait| account.admits(now + wait, cost));
    for cost in 1..=account.shape.limit() {
        let told = account.see(now, cost).retry_after.ticks().unwrap_or(0);
        assert_eq!(Some(told), true_wait(cost), "cost {cost}: {account:?}");
    }
    if account.shape.kind != Algorithm::FixedWindow {
        let told = account.see(now, 0).reset_after;
        assert_eq!(Some(told), true_wait(account.shape.limit()), "reset: {account:?}");
    }
}

/// Goal: the waits of a window are exact after its limit was changed, too: a log has to walk its
/// entries, a counter may have to wait for the window after the next edge.
/// Method: change the limit at every offset; try every tick until each cost is admitted.
#[test]
fn a_windows_waits_are_exact_after_its_limit_was_changed() {
    everywhere(|mut account, _, now, limit| {
        if !account.shape.kind.is_bucket() {
            account.change_limit(limit);
            assert_exact(&account, now);
        }
    });
}

/// Goal: the waits of a bucket are exact after its burst was changed, too.
/// Method: change the burst at every offset; try every tick until each cost is admitted. A raised
/// burst needs nothing else; for a lowered one the state is carried over, which cuts what is used
/// down to the new burst.
#[test]
fn a_buckets_waits_are_exact_after_its_burst_was_changed() {
    everywhere(|mut account, _, now, limit| {
        let used = account.shape.limit() - account.remaining(now);
        if let Some(carried) = account.carried(now, limit) {
            assert_eq!(carried.remaining(now), limit.saturating_sub(used), "{account:?}");
            assert_exact(&carried, now);
        }
        if account.shape.kind.is_bucket() && limit >= account.shape.limit() {
            account.change_limit(limit);
            assert_exact(&account, now);
        }
    });
}

/// Goal: a burst that was lowered below what is used admits nothing too soon, even if the state is
/// not carried over.
/// Method: use 10 of 10 at 10/s and lower the burst to 3: a unit fits once the level is down to 2.
#[test]
fn a_lowered_burst_admits_nothing_before_the_level_has_come_down() {
    let mut account = Shape::new(Algorithm::TokenBucket, 10, SECOND).account();
    assert!(account.ask(TODAY, 10).allowed());
    account.change_limit(3);
    let enough = TODAY + 8 * SECOND / 10;
    for wait in [0, 1, SECOND / 10, SECOND / 2] {
        assert!(!account.ask(TODAY + wait, 1).allowed(), "after {wait} ticks");
    }
    assert!(!account.ask(enough - 1, 1).allowed());
    assert!(account.ask(enough, 1).allowed());
}

/// Goal: a limit lowered below what is used leaves nothing, and does not wrap around.
/// Method: use 10 of 10, lower the limit to 3, and look and ask.
#[test]
fn a_limit_below_what_is_used_leaves_nothing() {
    for kind in KINDS {
        let mut account = Shape::new(kind, 10, SECOND).account();
        assert!(account.ask(TODAY, 10).allowed(), "{kind}");
        account.change_limit(3);
        let peek = account.ask(TODAY, 0);
        assert!(peek.allowed(), "{kind}: a peek is never refused");
        assert_eq!(peek.remaining, 0, "{kind}");
        assert!(account.ask(TODAY, 1).retry_after.ticks().is_some(), "{kind}");
        assert_eq!(account.remaining(TODAY + 2 * SECOND), 3, "{kind}");
    }
}
