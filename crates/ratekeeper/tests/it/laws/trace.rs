//! Random traces that look for trouble: at window edges, one tick beside them, and at the very
//! instants that the last answer promised.
//!
//! Invariant: a step names its cost and its time by what they mean, so that it stays meaningful
//! when a limit changes or a failing trace is made shorter.

use super::account::{Account, DAY, Shape, TODAY};
use proptest::prelude::*;
use proptest::strategy::Union;
use ratekeeper::algorithm::{NOW_MAX, Verdict};

/// A move of the clock, then a call.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    time: Move,
    pub(crate) call: Call,
}

#[derive(Clone, Debug)]
enum Move {
    Stay,
    Ticks(u64),
    /// Whole periods, and some ticks more or fewer.
    Periods(u64, i64),
    /// So many 65536th parts of two periods.
    Share(u16),
    /// To when the last refusal told to retry, and some ticks beside.
    Retry(i64),
    /// To when the last answer said that all would be whole, and some ticks beside.
    Reset(i64),
    /// So many 65536th parts of three periods back.
    Back(u16),
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Ask(Cost),
    Refund(Cost),
    /// So many 65536th parts of twice the first limit.
    Limit(u16),
}

/// A cost, by what it means.
#[derive(Clone, Debug)]
pub(crate) enum Cost {
    Units(u64),
    /// So many 65536th parts of the limit and two.
    Share(u16),
    /// What is left, and so many more.
    Left(u64),
    Whole,
}

impl Cost {
    pub(crate) fn units(&self, limit: u64, left: u64) -> u64 {
        match self {
            Cost::Units(units) => *units,
            Cost::Share(share) => share_of(limit + 2, *share),
            Cost::Left(more) => left + more,
            Cost::Whole => limit,
        }
    }
}

/// So many 65536th parts of a whole, rounded to the nearest.
pub(crate) fn share_of(whole: u64, share: u16) -> u64 {
    ((u128::from(whole) * u128::from(share) + 32_768) >> 16) as u64
}

impl Step {
    /// Where the clock goes from `now`, if `last` was the last answer.
    pub(crate) fn time(&self, now: u64, period: u64, last: &Verdict) -> u64 {
        let beside = |ticks: u64, off: i64| now.saturating_add(ticks).saturating_add_signed(off);
        let to = match self.time {
            Move::Stay => now,
            Move::Ticks(ticks) => now + ticks,
            Move::Periods(periods, off) => beside(periods.saturating_mul(period), off).max(now),
            Move::Share(share) => now + share_of(2 * period, share),
            Move::Retry(off) => beside(last.retry_after.ticks().unwrap_or(0), off).max(now),
            Move::Reset(off) => beside(last.reset_after, off).max(now),
            Move::Back(share) => now.saturating_sub(share_of(3 * period, share)),
        };
        to.min(NOW_MAX)
    }
}

fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        4 => (0..4_u64).prop_map(Cost::Units),
        3 => any::<u16>().prop_map(Cost::Share),
        3 => (0..2_u64).prop_map(Cost::Left),
        1 => Just(Cost::Whole),
    ]
}

fn time(also: Also) -> Union<BoxedStrategy<Move>> {
    let mut moves = vec![
        (6, Just(Move::Stay).boxed()),
        (3, (1..3_u64).prop_map(Move::Ticks).boxed()),
        (3, (0..3_u64, -1..2_i64).prop_map(|(count, off)| Move::Periods(count, off)).boxed()),
        (1, (3..99_999_u64, -1..2_i64).prop_map(|(count, off)| Move::Periods(count, off)).boxed()),
        (5, any::<u16>().prop_map(Move::Share).boxed()),
        (5, (-1..2_i64).prop_map(Move::Retry).boxed()),
        (1, (-1..2_i64).prop_map(Move::Reset).boxed()),
    ];
    if also.clock_back {
        moves.push((2, any::<u16>().prop_map(Move::Back).boxed()));
    }
    Union::new_weighted(moves)
}

/// What may happen in a trace beside requests; nothing, unless said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Also {
    pub(crate) clock_back: bool,
    pub(crate) refunds: bool,
    pub(crate) reloads: bool,
}

impl Also {
    pub(crate) const NOTHING: Also = Also { clock_back: false, refunds: false, reloads: false };
    /// All that can happen while the clock goes forward.
    pub(crate) const FORWARD: Also = Also { clock_back: false, refunds: true, reloads: true };
    pub(crate) const EVERYTHING: Also = Also { clock_back: true, refunds: true, reloads: true };
}

/// Traces of up to `most` steps.
pub(crate) fn steps(most: usize, also: Also) -> impl Strategy<Value = Vec<Step>> {
    let mut calls = vec![(12, cost().prop_map(Call::Ask).boxed())];
    if also.refunds {
        calls.push((1, cost().prop_map(Call::Refund).boxed()));
    }
    if also.reloads {
        calls.push((1, any::<u16>().prop_map(Call::Limit).boxed()));
    }
    let step = (time(also), Union::new_weighted(calls));
    proptest::collection::vec(step.prop_map(|(time, call)| Step { time, call }), 1..=most)
}

/// When a trace begins: at the epoch, soon after it, or today.
pub(crate) fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..10_000_u64, TODAY..TODAY + DAY]
}

/// A key after a trace, and the time that it is then.
pub(crate) fn worn(shape: Shape, start: u64, steps: &[Step]) -> (Account, u64) {
    let (mut account, mut now) = (shape.account(), start);
    let mut last = account.see(now, 0);
    for step in steps {
        now = step.time(now, shape.period, &last);
        let (limit, left) = (account.shape.limit(), account.remaining(now));
        match &step.call {
            Call::Ask(cost) => last = account.ask(now, cost.units(limit, left)),
            Call::Refund(cost) => last = account.refund(now, cost.units(limit, left)),
            Call::Limit(share) => account.change_limit(share_of(2 * shape.limit(), *share).max(1)),
        }
    }
    (account, now)
}
