//! The only source of chance in a simulation.
//!
//! Invariant: the numbers depend on the seed alone.

use std::ops::Range;

/// A generator of the splitmix family: small, and good enough to choose faults by.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Another one, whose numbers do not depend on how many this one gives from now on.
    pub fn fork(&mut self) -> Random {
        Random(self.number())
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in the range; its start if it is empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start);
        range.start + ((u128::from(self.number()) * u128::from(width)) >> 64) as u64
    }

    /// True so many times in a thousand.
    pub fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.within(0..1_000) < in_a_thousand
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.within(0..several.len() as u64) as usize]
    }
}
