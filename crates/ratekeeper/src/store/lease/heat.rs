//! How often buckets were asked for in this second: a sketch, which may say more than was. It says less only of those
//! who were counted at the very same moment.
//!
//! Each bucket has a counter in each of two rows, which others may share; the lower one counts. A counter that
//! belongs to another second begins anew. Invariant: its size does not depend on what is asked.

use crate::sync::{AtomicU64, Ordering};

/// Counters of a row.
const COUNTERS: usize = 1 << 19;

/// Ticks of a second.
const SECOND: u64 = 1_000_000;

pub(crate) struct Heat([Box<[AtomicU64]>; 2]);

impl Heat {
    pub(crate) fn new() -> Heat {
        let row = || (0..COUNTERS).map(|_| AtomicU64::new(0)).collect();
        Heat([row(), row()])
    }

    /// Counts one more: how many there were in this second, or more.
    pub(crate) fn touch(&self, bucket: u64, now: u64) -> u64 {
        let second = (now / SECOND) << 32;
        let [first, other] = &self.0;
        let count = |row: &[AtomicU64], place: u64| {
            let counter = &row[place as usize % COUNTERS];
            let held = counter.load(Ordering::Relaxed);
            let next = if held >> 32 << 32 == second { held + 1 } else { second + 1 };
            // Who comes between is lost: of keys that matter there are others.
            counter.store(next, Ordering::Relaxed);
            next & u64::from(u32::MAX)
        };
        count(first, bucket).min(count(other, bucket >> 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: of many keys none is told less than its count, and few are told more; the next second begins anew.
    /// Method: a hundred thousand keys once, one of them often.
    #[test]
    fn few_are_told_more_than_was() {
        let heat = Heat::new();
        let key = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let more = (0..100_000).filter(|number| heat.touch(key(*number), 5) > 1).count();
        assert!(more < 5_000, "{more} of 100 000 share both counters");
        for times in 2..100 {
            assert!(heat.touch(key(7), 5) >= times);
        }
        assert_eq!(heat.touch(key(7), SECOND + 5), 1);
    }
}
