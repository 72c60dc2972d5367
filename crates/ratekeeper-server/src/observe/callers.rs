//! How many different callers there were, estimated in a kilobyte.
//!
//! A hash chooses one of the registers, which keeps the longest run of zeros that it has seen (`HyperLogLog`); while
//! few registers are used, the empty ones tell more (linear counting). Invariant: the same caller counts once; the
//! estimate is within some 3 % of the truth, mostly.

use std::sync::atomic::{AtomicU8, Ordering};

const BITS: u32 = 10;
const REGISTERS: usize = 1 << BITS;

/// What the mean of so many registers is multiplied with.
const ALPHA: f64 = 0.7213 / (1.0 + 1.079 / REGISTERS as f64);

pub(super) struct Callers([AtomicU8; REGISTERS]);

impl Default for Callers {
    fn default() -> Callers {
        Callers([const { AtomicU8::new(0) }; REGISTERS])
    }
}

impl Callers {
    /// Notes a caller by its hash.
    pub(super) fn note(&self, hash: u64) {
        let register = &self.0[(hash >> (64 - BITS)) as usize];
        let run = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        // Most callers were here before, and change nothing.
        if register.load(Ordering::Relaxed) < run {
            register.fetch_max(run, Ordering::Relaxed);
        }
    }

    /// About how many there were.
    pub(super) fn count(&self) -> u64 {
        let registers = self.0.iter().map(|register| register.load(Ordering::Relaxed));
        let (mut sum, mut empty) = (0.0, 0_u32);
        for run in registers {
            sum += (-f64::from(run)).exp2();
            empty += u32::from(run == 0);
        }
        let all = REGISTERS as f64;
        let many = ALPHA * all * all / sum;
        let few = all * (all / f64::from(empty.max(1))).ln();
        (if many <= 2.5 * all && empty > 0 { few } else { many }).round() as u64
    }

    /// Begins anew.
    pub(super) fn clear(&self) {
        self.0.iter().for_each(|register| register.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    /// A hash that is the same in every run.
    fn hash(number: u64) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(number)
    }

    /// Goal: the estimate is near the truth, for few and for many, and each caller counts once.
    /// Method: callers who come three times each, in numbers around where the way of counting changes.
    #[test]
    fn callers_are_counted_about_right() {
        for truth in [0, 1, 2, 10, 214, 1_000, 2_400, 2_800, 10_000, 1_000_000_u64] {
            let callers = Callers::default();
            for _ in 0..3 {
                (0..truth).for_each(|number| callers.note(hash(number)));
            }
            let (told, most) = (callers.count(), truth / 12);
            assert!(told.abs_diff(truth) <= most, "{told} of {truth}");
            callers.clear();
            assert_eq!(callers.count(), 0);
        }
    }
}
