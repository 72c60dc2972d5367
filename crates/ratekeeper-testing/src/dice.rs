//! Dice for tests: the same throws from the same seed.
//!
//! Invariant: a throw depends on nothing but the seed and the throws before it.

/// Dice that always fall the same way (xorshift64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..8).for_each(|_| {
            dice.below(2);
        });
        dice
    }

    /// One of the numbers below this.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(most)) >> 64) as u64
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("it is below the length")]
    }

    /// A cost, by what it means to a limit of which so much is left.
    pub fn cost(&mut self, limit: u64, left: u64) -> u64 {
        match self.below(12) {
            0..4 => self.below(4),
            4..7 => self.below(limit + 3),
            7 | 8 => left,
            9 => left + 1,
            10 => limit,
            _ => limit + 1,
        }
    }

    /// How far the clock goes: to edges, to what the last answer promised, and a tick beside.
    pub fn step(&mut self, period: u64, retry: Option<u64>, reset: u64) -> u64 {
        let beside = self.pick(&[-1_i64, 0, 1]);
        match self.below(24) {
            0..7 => 0,
            7..10 => 1 + self.below(2),
            10..13 => (self.below(3) * period).saturating_add_signed(beside),
            13..18 => self.below(2 * period),
            18..23 => retry.unwrap_or(0).saturating_add_signed(beside),
            _ => reset.saturating_add_signed(beside),
        }
    }
}
