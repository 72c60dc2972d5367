//! What scripts report of buckets, read; and what a bucket says to a charge.
//!
//! Every figure is computed here, from the state and the time that a script reports, by the very functions that the
//! memory store uses. Invariant: a report that cannot be read is no state.

use super::super::{Charge, Kind, Stamp};
use super::ask::Seen;
use crate::algorithm::bucket::Arrival;
use crate::algorithm::fixed_window::Window;
use crate::algorithm::sliding_counter::Windows;
use crate::algorithm::{Retry, UNKNOWN, Verdict};

/// What is said of a key that holds something else: no, and nobody knows for how long.
pub(in crate::store) const NOT_OURS: Verdict =
    Verdict { remaining: 0, reset_after: UNKNOWN, retry_after: Retry::UNKNOWN, more_after: 0 };

/// What a bucket held at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Arrival(Arrival),
    Window(Window),
    Windows(Windows),
    /// Of a log the units that count, the newest entry's time, and that of the entry that has to go before a cost
    /// fits; known for that cost alone.
    Log {
        used: u64,
        newest: u64,
        goes: u64,
    },
    /// Units of permits.
    Permits(u64),
}

/// What a bucket says to a charge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Where the charge goes, if it is made.
    pub(crate) stamp: Stamp,
    /// What the bucket holds then, as far as that is known.
    pub(crate) next: Option<State>,
}

impl Judged {
    /// Of what is not ours.
    pub(super) const ALIEN: Judged =
        Judged { verdict: NOT_OURS, stamp: Stamp { tick: 0, part: 0 }, next: None };
}

impl State {
    /// What a bucket says to a cost at a time; `None` if it is another kind's state.
    pub(crate) fn judge(
        self,
        charge: &Charge<'_>,
        cost: u64,
        now: u64,
        patience: u64,
    ) -> Option<Judged> {
        let (verdict, stamp, next) = match (&charge.meter.kind, self) {
            (Kind::Bucket(bucket), State::Arrival(arrival)) => {
                let (verdict, next) = bucket.charge(arrival, now, cost);
                (verdict, next.into(), Some(State::Arrival(next)))
            }
            (Kind::Shaping(shaping), State::Arrival(arrival)) => {
                let (verdict, next) = shaping.charge(arrival, now, cost, patience);
                (verdict, next.into(), Some(State::Arrival(next)))
            }
            (Kind::Fixed(window), State::Window(held)) => {
                let (verdict, next) = window.charge(held, now, cost);
                (verdict, Stamp { tick: next.start, part: 0 }, Some(State::Window(next)))
            }
            (Kind::Counter(counter), State::Windows(held)) => {
                let (verdict, next) = counter.charge_with_more(held, now, cost);
                (verdict, Stamp { tick: next.index, part: 0 }, Some(State::Windows(next)))
            }
            (Kind::Log(log), State::Log { used, newest, goes }) => {
                let now = now.max(newest);
                let wait = |_| (goes + log.period()).saturating_sub(now).max(1);
                let verdict = log.verdict(used, newest, now, cost, wait);
                (log.told_more(verdict, used, wait), Stamp { tick: now, part: 0 }, None)
            }
            (Kind::Concurrency(limit), State::Permits(held)) => {
                (limit.acquire(held, cost).0, Stamp::default(), None)
            }
            _ => return None,
        };
        Some(Judged { verdict, stamp, next })
    }
}

impl Seen {
    /// What a bucket of this kind held; `None` if that cannot be read.
    pub(super) fn state(&self, kind: &Kind) -> Option<State> {
        if matches!(self, Seen::Alien | Seen::Flags(_)) {
            return None;
        }
        Some(match kind {
            Kind::Bucket(_) | Kind::Shaping(_) => State::Arrival(self.arrival()?),
            Kind::Fixed(window) => {
                let [index, count] = self.packed()?;
                State::Window(Window { start: index.saturating_mul(window.period()), count })
            }
            Kind::Counter(_) => {
                let [index, current, previous] = self.packed()?;
                State::Windows(Windows { index, current, previous })
            }
            Kind::Log(_) => {
                let [used, newest, goes] = self.summary()?;
                State::Log { used, newest, goes }
            }
            Kind::Concurrency(_) => State::Permits(self.summary()?[0]),
        })
    }

    /// The arrival of a bucket that holds something.
    pub(super) fn held(&self) -> Option<Arrival> {
        if matches!(self, Seen::Text(_)) { self.arrival() } else { None }
    }

    /// `1<tick>` or `1<tick>:<part>`.
    pub(super) fn arrival(&self) -> Option<Arrival> {
        let Seen::Text(text) = self else { return Some(Arrival::default()) };
        let text = std::str::from_utf8(text).ok()?.strip_prefix('1')?;
        let (tick, part) = text.split_once(':').unwrap_or((text, "0"));
        Some(Arrival { tick: tick.parse().ok()?, part: part.parse().ok()? })
    }

    /// A number of 5 bytes and others of 3, or all of 6.
    pub(super) fn packed<const N: usize>(&self) -> Option<[u64; N]> {
        let Seen::Text(text) = self else { return Some([0; N]) };
        let (form, mut rest) = text.split_first()?;
        let mut next = |width: usize| {
            let (digits, others) = rest.split_at_checked(width)?;
            rest = others;
            Some(digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        };
        let mut values = [0; N];
        for (place, value) in values.iter_mut().enumerate() {
            let width = match (form, place) {
                (b'1', 0) => 5,
                (b'1', _) => 3,
                _ => 6,
            };
            *value = next(width)?;
        }
        Some(values)
    }

    /// Up to three numbers with colons between.
    pub(super) fn summary(&self) -> Option<[u64; 3]> {
        let mut values = [0; 3];
        if let Seen::Text(text) = self {
            let numbers = std::str::from_utf8(text).ok()?.split(':');
            for (value, number) in values.iter_mut().zip(numbers) {
                *value = number.parse().ok()?;
            }
        }
        Some(values)
    }
}
