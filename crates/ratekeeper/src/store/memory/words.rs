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
//! | fixed window               | end of the window   | 0                      | count              |
//! | sliding counter            | end of the next one | lower bits of previous | rest, and current  |

use crate::algorithm::Verdict;
use crate::algorithm::bucket::{Arrival, Bucket};
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::sliding_counter::{SlidingCounter, Windows};

const LOW_BITS: u32 = 12;
const LOW: u64 = (1 << LOW_BITS) - 1;

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
}

/// A bucket whose parts of a tick fit the lower bits of one word.
pub(super) struct Narrow<'a>(&'a Bucket);

impl<'a> Narrow<'a> {
    #[inline]
    pub(super) fn new(bucket: &'a Bucket) -> Option<Narrow<'a>> {
        (bucket.drain() <= LOW + 1).then_some(Narrow(bucket))
    }

    #[inline]
    fn unpack([word]: [u64; 1]) -> Arrival {
        Arrival { tick: word >> LOW_BITS, part: word & LOW }
    }

    #[inline]
    fn pack(arrival: Arrival) -> [u64; 1] {
        [arrival.tick << LOW_BITS | arrival.part]
    }
}

impl Words<1> for Narrow<'_> {
    #[inline(always)]
    fn charge_words(&self, words: [u64; 1], now: u64, cost: u64) -> (Verdict, [u64; 1]) {
        let (verdict, arrival) = self.0.charge(Self::unpack(words), now, cost);
        (verdict, Self::pack(arrival))
    }

    fn refund_words(&self, words: [u64; 1], now: u64, units: u64) -> (Verdict, [u64; 1]) {
        let (verdict, arrival) = self.0.refund(Self::unpack(words), now, units);
        (verdict, Self::pack(arrival))
    }
}

/// The state of a two-word algorithm, packed and unpacked.
trait Packed: Copy {
    type State: Copy;
    fn unpack(self, words: [u64; 2]) -> Self::State;
    fn pack(self, state: Self::State) -> [u64; 2];
}

impl Packed for &Bucket {
    type State = Arrival;

    fn unpack(self, [first, part]: [u64; 2]) -> Arrival {
        Arrival { tick: first >> LOW_BITS, part }
    }

    fn pack(self, arrival: Arrival) -> [u64; 2] {
        [arrival.tick << LOW_BITS | u64::from(arrival.part > 0), arrival.part]
    }
}

impl Packed for &FixedWindow {
    type State = Window;

    #[inline]
    fn unpack(self, [first, count]: [u64; 2]) -> Window {
        Window { start: (first >> LOW_BITS).saturating_sub(self.period()), count }
    }

    #[inline]
    fn pack(self, window: Window) -> [u64; 2] {
        [(window.start + self.period()) << LOW_BITS, window.count]
    }
}

impl Packed for &SlidingCounter {
    type State = Windows;

    #[inline]
    fn unpack(self, [first, second]: [u64; 2]) -> Windows {
        let index = ((first >> LOW_BITS) / self.period()).saturating_sub(2);
        let previous = (second >> COUNT_BITS) << LOW_BITS | first & LOW;
        Windows { index, current: second & COUNT, previous }
    }

    #[inline]
    fn pack(self, windows: Windows) -> [u64; 2] {
        let Windows { index, current, previous } = windows;
        let end = (index + 2) * self.period();
        [end << LOW_BITS | previous & LOW, (previous >> LOW_BITS) << COUNT_BITS | current]
    }
}

/// The two calls of an algorithm, between the packed states.
macro_rules! two_words {
    ($algorithm:ty) => {
        impl Words<2> for $algorithm {
            #[inline]
            fn charge_words(&self, words: [u64; 2], now: u64, cost: u64) -> (Verdict, [u64; 2]) {
                let (verdict, state) = <$algorithm>::charge(self, self.unpack(words), now, cost);
                (verdict, self.pack(state))
            }

            fn refund_words(&self, words: [u64; 2], now: u64, units: u64) -> (Verdict, [u64; 2]) {
                let (verdict, state) = <$algorithm>::refund(self, self.unpack(words), now, units);
                (verdict, self.pack(state))
            }
        }
    };
}

two_words!(Bucket);
two_words!(FixedWindow);
two_words!(SlidingCounter);
