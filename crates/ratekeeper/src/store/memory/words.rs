//! How the states of the algorithms are kept in one or two words.
//!
//! Invariant: the upper 52 bits of the first word, rounded up over the lower 12, say when the
//! bucket is whole again, whatever the algorithm; from then on it may be forgotten. All zeros are a
//! bucket that was never used.
//!
//! | state                      | first word: 52 bits | 12 bits                | second word        |
//! |----------------------------|---------------------|------------------------|--------------------|
//! | bucket, drain up to 4096   | tick                | part                   | –                  |
//! | bucket, any other rate     | tick                | 1 if there is a part   | part               |
//! | permits                    | end of time + held  | 0                      | –                  |
//! | fixed window               | end of the window   | 0                      | count              |
//! | sliding counter            | end of the next one | lower bits of previous | rest, and current  |

use super::super::Stamp;
use crate::algorithm::bucket::Arrival;
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::sliding_counter::{SlidingCounter, Windows};
use crate::algorithm::{NOW_MAX, Verdict};

pub(super) const LOW_BITS: u32 = 12;
pub(super) const LOW: u64 = (1 << LOW_BITS) - 1;

/// Bits of each count of a sliding counter: twice its largest amount, so that it can be overdrawn.
const COUNT_BITS: u32 = 38;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// When a bucket with this first word is whole again.
#[inline]
pub(super) fn whole_at(first: u64) -> u64 {
    (first >> LOW_BITS) + u64::from(first & LOW != 0)
}

/// An algorithm whose state fits `N` words.
pub(super) trait Words<const N: usize> {
    fn charge_words(&self, words: [u64; N], now: u64, cost: u64) -> (Verdict, [u64; N]);
    fn refund_words(&self, words: [u64; N], now: u64, units: u64) -> (Verdict, [u64; N]);
    fn settle_words(&self, words: [u64; N], now: u64, settle: Settle) -> (Verdict, [u64; N]);

    /// The words with their arrival moved to another time; those without one stay as they are.
    fn moved(&self, words: [u64; N], _to: Arrival) -> [u64; N] {
        words
    }

    /// Where a charge went that left these words.
    fn stamp(&self, words: [u64; N]) -> Stamp;

    /// Whether a bucket with this verdict stays at the cap until it is whole again.
    #[inline]
    fn stays(&self, verdict: &Verdict) -> bool {
        verdict.remaining == 0
    }
}

/// A charge of `held`, settled at `actual`.
#[derive(Clone, Copy)]
pub(super) struct Settle {
    pub(super) stamp: Stamp,
    pub(super) held: u64,
    pub(super) actual: u64,
}

/// Units that are held, in a bucket that is not whole before the last of them is given back.
impl Words<1> for Concurrency {
    #[inline]
    fn charge_words(&self, words: [u64; 1], _now: u64, cost: u64) -> (Verdict, [u64; 1]) {
        let (verdict, held) = self.acquire(unpack_held(words), cost);
        (verdict, pack_held(held))
    }

    #[inline]
    fn refund_words(&self, words: [u64; 1], _now: u64, units: u64) -> (Verdict, [u64; 1]) {
        let (verdict, held) = self.release(unpack_held(words), units);
        (verdict, pack_held(held))
    }

    /// What is held was never spent: all of it is given back, whatever the request cost.
    fn settle_words(&self, words: [u64; 1], now: u64, settle: Settle) -> (Verdict, [u64; 1]) {
        self.refund_words(words, now, settle.held)
    }

    fn stamp(&self, _: [u64; 1]) -> Stamp {
        Stamp::default()
    }

    /// Whoever holds a unit gives it back to this bucket.
    #[inline]
    fn stays(&self, _: &Verdict) -> bool {
        true
    }
}

/// What is left of permits after so many units were given back.
#[inline]
pub(super) fn released(words: [u64; 1], units: u64) -> [u64; 1] {
    pack_held(unpack_held(words).saturating_sub(units))
}

#[inline]
pub(super) fn unpack_held([word]: [u64; 1]) -> u64 {
    (word >> LOW_BITS).saturating_sub(NOW_MAX)
}

#[inline]
fn pack_held(held: u64) -> [u64; 1] {
    [if held == 0 { 0 } else { (NOW_MAX + held) << LOW_BITS }]
}

/// The state of a two-word algorithm, packed and unpacked, and its calls between.
pub(super) trait Packed {
    type State: Copy;
    fn unpack(&self, words: [u64; 2]) -> Self::State;
    fn pack(&self, state: Self::State) -> [u64; 2];
    fn stamp(&self, state: Self::State) -> Stamp;
    fn charge(&self, state: Self::State, now: u64, cost: u64) -> (Verdict, Self::State);
    fn refund(&self, state: Self::State, now: u64, units: u64) -> (Verdict, Self::State);
    fn settle(&self, state: Self::State, now: u64, settle: Settle) -> (Verdict, Self::State);

    fn moved(&self, state: Self::State, _to: Arrival) -> Self::State {
        state
    }

    #[inline]
    fn stays(&self, verdict: &Verdict) -> bool {
        verdict.remaining == 0
    }
}

impl<P: Packed> Words<2> for P {
    #[inline]
    fn charge_words(&self, words: [u64; 2], now: u64, cost: u64) -> (Verdict, [u64; 2]) {
        let (verdict, state) = self.charge(self.unpack(words), now, cost);
        (verdict, self.pack(state))
    }

    fn refund_words(&self, words: [u64; 2], now: u64, units: u64) -> (Verdict, [u64; 2]) {
        let (verdict, state) = self.refund(self.unpack(words), now, units);
        (verdict, self.pack(state))
    }

    fn settle_words(&self, words: [u64; 2], now: u64, settle: Settle) -> (Verdict, [u64; 2]) {
        let (verdict, state) = self.settle(self.unpack(words), now, settle);
        (verdict, self.pack(state))
    }

    fn moved(&self, words: [u64; 2], to: Arrival) -> [u64; 2] {
        self.pack(Packed::moved(self, self.unpack(words), to))
    }

    fn stamp(&self, words: [u64; 2]) -> Stamp {
        Packed::stamp(self, self.unpack(words))
    }

    #[inline]
    fn stays(&self, verdict: &Verdict) -> bool {
        Packed::stays(self, verdict)
    }
}

impl Packed for &FixedWindow {
    type State = Window;

    #[inline]
    fn unpack(&self, [first, count]: [u64; 2]) -> Window {
        Window { start: (first >> LOW_BITS).saturating_sub(self.period()), count }
    }

    #[inline]
    fn pack(&self, window: Window) -> [u64; 2] {
        [(window.start + self.period()) << LOW_BITS, window.count]
    }

    fn stamp(&self, window: Window) -> Stamp {
        Stamp { tick: window.start, part: 0 }
    }

    #[inline]
    fn charge(&self, window: Window, now: u64, cost: u64) -> (Verdict, Window) {
        FixedWindow::charge(self, window, now, cost)
    }

    fn refund(&self, window: Window, now: u64, units: u64) -> (Verdict, Window) {
        FixedWindow::refund(self, window, now, units)
    }

    fn settle(&self, window: Window, now: u64, settle: Settle) -> (Verdict, Window) {
        FixedWindow::settle(self, window, now, settle.stamp.tick, settle.held, settle.actual)
    }
}

impl Packed for &SlidingCounter {
    type State = Windows;

    #[inline]
    fn unpack(&self, [first, second]: [u64; 2]) -> Windows {
        let index = ((first >> LOW_BITS) / self.period()).saturating_sub(2);
        let previous = (second >> COUNT_BITS) << LOW_BITS | first & LOW;
        Windows { index, current: second & COUNT, previous }
    }

    #[inline]
    fn pack(&self, windows: Windows) -> [u64; 2] {
        let Windows { index, current, previous } = windows;
        let end = (index + 2) * self.period();
        [end << LOW_BITS | previous & LOW, (previous >> LOW_BITS) << COUNT_BITS | current]
    }

    fn stamp(&self, windows: Windows) -> Stamp {
        Stamp { tick: windows.index, part: 0 }
    }

    #[inline]
    fn charge(&self, windows: Windows, now: u64, cost: u64) -> (Verdict, Windows) {
        self.charge_with_more(windows, now, cost)
    }

    fn refund(&self, windows: Windows, now: u64, units: u64) -> (Verdict, Windows) {
        SlidingCounter::refund(self, windows, now, units)
    }

    fn settle(&self, windows: Windows, now: u64, settle: Settle) -> (Verdict, Windows) {
        SlidingCounter::settle(self, windows, now, settle.stamp.tick, settle.held, settle.actual)
    }
}
