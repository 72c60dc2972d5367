//! One key under one algorithm: the pure functions with a state to work on, and the oracle beside.
//!
//! Invariant: an account does nothing of its own; each call is one call of the library.

use proptest::prelude::*;
use proptest::sample::select;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::bucket::{Arrival, Bucket};
use ratekeeper::algorithm::fixed_window::{FixedWindow, Window};
use ratekeeper::algorithm::sliding_counter::{SlidingCounter, Windows};
use ratekeeper::algorithm::sliding_log::{Log, SlidingLog};
use ratekeeper::algorithm::{Retry, Verdict};
use ratekeeper_testing::oracle::{self, Answer, Holding, Oracle};
use std::num::NonZeroU64;

pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// The first second of 2026, in ticks.
pub(crate) const TODAY: u64 = 1_767_225_600 * SECOND;

/// The algorithms that differ; a leaky bucket is a token bucket.
pub(crate) const KINDS: [Algorithm; 4] = [
    Algorithm::FixedWindow,
    Algorithm::SlidingWindowLog,
    Algorithm::SlidingWindowCounter,
    Algorithm::TokenBucket,
];

/// An algorithm and its parameters. Windows have no burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: Algorithm,
    pub(crate) amount: u64,
    pub(crate) period: u64,
    pub(crate) burst: u64,
}

impl Shape {
    /// A window, or a bucket whose burst is its amount.
    pub(crate) fn new(kind: Algorithm, amount: u64, period: u64) -> Shape {
        Shape { kind, amount, period, burst: amount }
    }

    /// The most that is admitted at once.
    pub(crate) fn limit(&self) -> u64 {
        if self.kind.is_bucket() { self.burst } else { self.amount }
    }

    /// The same with another limit, which is how amounts are reloaded: a bucket keeps its rate.
    pub(crate) fn with_limit(mut self, limit: u64) -> Shape {
        *(if self.kind.is_bucket() { &mut self.burst } else { &mut self.amount }) = limit;
        self
    }

    /// A key that was never used; `None` beyond the bounds of the library.
    pub(crate) fn try_account(self) -> Option<Account> {
        let nonzero = |value| NonZeroU64::new(value).expect("shapes have no zeros");
        let (amount, period) = (nonzero(self.amount), nonzero(self.period));
        let kept = match self.kind {
            Algorithm::FixedWindow => {
                Kept::Fixed(FixedWindow::new(amount, period)?, Window::default())
            }
            Algorithm::SlidingWindowLog => {
                Kept::Log(SlidingLog::new(amount, period)?, Log::default())
            }
            Algorithm::SlidingWindowCounter => {
                Kept::Counter(SlidingCounter::new(amount, period)?, Windows::default())
            }
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                Kept::Bucket(Bucket::new(amount, period, nonzero(self.burst))?, Arrival::default())
            }
        };
        Some(Account { shape: self, kept })
    }

    /// A key that was never used.
    pub(crate) fn account(self) -> Account {
        self.try_account().expect("the shape is within the bounds of the library")
    }

    /// The same key as the specification sees it.
    pub(crate) fn oracle(&self) -> Box<dyn Oracle> {
        self.holding()
    }

    /// The same, whose charges can be settled.
    pub(crate) fn holding(&self) -> Box<dyn Holding> {
        match self.kind {
            Algorithm::FixedWindow => Box::new(oracle::FixedWindow::new(self.amount, self.period)),
            Algorithm::SlidingWindowLog => {
                Box::new(oracle::SlidingLog::new(self.amount, self.period))
            }
            Algorithm::SlidingWindowCounter => {
                Box::new(oracle::SlidingCounter::new(self.amount, self.period))
            }
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                Box::new(oracle::Bucket::new(self.amount, self.period, self.burst))
            }
        }
    }
}

/// Shapes with short periods, where every tick can be tried.
pub(crate) fn small() -> impl Strategy<Value = Shape> {
    (select(&KINDS[..]), 1..=12_u64, 1..=40_u64, 1..=15_u64)
        .prop_map(|(kind, amount, period, burst)| Shape { kind, amount, period, burst })
}

/// Shapes as people write them, rates that do not divide among them.
pub(crate) fn real() -> impl Strategy<Value = Shape> {
    let rates = [
        (3, SECOND),
        (10, SECOND),
        (4_097, SECOND),
        (7, MINUTE),
        (100, MINUTE),
        (10_007, MINUTE),
        (1, HOUR),
        (5_000, DAY),
        (5, 1_000),
    ];
    let burst = prop_oneof![Just(None), (1..=30_u64).prop_map(Some)];
    (select(&KINDS[..]), select(rates.to_vec()), burst).prop_map(
        |(kind, (amount, period), burst)| Shape {
            kind,
            amount,
            period,
            burst: burst.unwrap_or(amount),
        },
    )
}

/// Any of both.
pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![small(), real()]
}

/// An algorithm with the state of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Fixed(FixedWindow, Window),
    Log(SlidingLog, Log),
    Counter(SlidingCounter, Windows),
    Bucket(Bucket, Arrival),
}

/// One key of the library.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) shape: Shape,
    pub(super) kept: Kept,
}

impl Account {
    /// Charges `cost` and keeps the state that follows.
    pub(crate) fn ask(&mut self, now: u64, cost: u64) -> Verdict {
        match &mut self.kept {
            Kept::Fixed(algorithm, state) => replace(state, algorithm.charge(*state, now, cost)),
            Kept::Counter(algorithm, state) => replace(state, algorithm.charge(*state, now, cost)),
            Kept::Bucket(algorithm, state) => replace(state, algorithm.charge(*state, now, cost)),
            Kept::Log(algorithm, log) => {
                let verdict = algorithm.check(log, now, cost);
                if verdict.allowed() && cost > 0 {
                    algorithm.record(log, now, cost);
                }
                verdict
            }
        }
    }

    /// What a charge would say.
    pub(crate) fn see(&self, now: u64, cost: u64) -> Verdict {
        match &self.kept {
            Kept::Log(algorithm, log) => algorithm.check(log, now, cost),
            _ => self.clone().ask(now, cost),
        }
    }

    /// Whether a charge would be admitted.
    pub(crate) fn admits(&self, now: u64, cost: u64) -> bool {
        self.see(now, cost).allowed()
    }

    /// The largest cost that is admitted at `now`.
    pub(crate) fn remaining(&self, now: u64) -> u64 {
        self.see(now, 0).remaining
    }

    /// Gives units back.
    pub(crate) fn refund(&mut self, now: u64, units: u64) -> Verdict {
        match &mut self.kept {
            Kept::Fixed(algorithm, state) => replace(state, algorithm.refund(*state, now, units)),
            Kept::Counter(algorithm, state) => replace(state, algorithm.refund(*state, now, units)),
            Kept::Bucket(algorithm, state) => replace(state, algorithm.refund(*state, now, units)),
            Kept::Log(algorithm, log) => algorithm.refund(log, now, units),
        }
    }

    /// The same state under another limit, as after a reload.
    pub(crate) fn change_limit(&mut self, limit: u64) {
        let mut fresh = self.shape.with_limit(limit).account();
        match (&mut fresh.kept, &self.kept) {
            (Kept::Fixed(_, new), Kept::Fixed(_, old)) => *new = *old,
            (Kept::Counter(_, new), Kept::Counter(_, old)) => *new = *old,
            (Kept::Bucket(_, new), Kept::Bucket(_, old)) => *new = *old,
            (Kept::Log(_, new), Kept::Log(_, old)) => *new = old.clone(),
            _ => unreachable!("a reload of amounts keeps the algorithm"),
        }
        *self = fresh;
    }

    /// A bucket's state carried over to another burst, by the units used; `None` for windows, whose
    /// counts stay as they are.
    pub(crate) fn carried(&self, now: u64, limit: u64) -> Option<Account> {
        let mut fresh = self.shape.with_limit(limit).account();
        match (&mut fresh.kept, &self.kept) {
            (Kept::Bucket(latter, new), Kept::Bucket(former, old)) => {
                *new = latter.carry(former, *old, now);
                Some(fresh)
            }
            _ => None,
        }
    }

    /// Drops what no longer counts, where the algorithm has such.
    pub(crate) fn prune(&mut self, now: u64) {
        if let Kept::Log(algorithm, log) = &mut self.kept {
            algorithm.prune(log, now);
        }
    }

    /// Whether both hold the same state.
    pub(crate) fn same_state(&self, other: &Account) -> bool {
        self.kept == other.kept
    }
}

pub(super) fn replace<S>(state: &mut S, (verdict, new): (Verdict, S)) -> Verdict {
    *state = new;
    verdict
}

/// An oracle's answer in the library's words.
pub(crate) fn verdict(answer: Answer) -> Verdict {
    let retry_after = match answer.retry_after {
        oracle::Retry::Now => Retry::NOW,
        oracle::Retry::After(ticks) => Retry::after(ticks),
        oracle::Retry::Never => Retry::NEVER,
    };
    let Answer { remaining, reset_after, .. } = answer;
    Verdict { remaining, reset_after, retry_after, more_after: 0 }
}
