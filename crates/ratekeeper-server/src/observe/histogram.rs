//! Times, counted by how long they were.
//!
//! Invariant: recording takes three additions, and no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the buckets in seconds: fine where decisions in memory are, and around the deadlines of
/// shared stores; wide where servers behind the gateway answer.
pub(super) const ENDS: [f64; 19] = [
    0.000_001, 0.000_002, 0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5,
    0.001, 0.002_5, 0.005, 0.01, 0.015, 0.05, 0.1, 0.25, 1.0, 10.0,
];

/// The same in nanoseconds.
const ENDS_NANOS: [u64; ENDS.len()] = [
    1_000,
    2_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    15_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
    10_000_000_000,
];

#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// The last has what is beyond all ends.
    counts: [AtomicU64; ENDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    pub(crate) fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = ENDS_NANOS.partition_point(|end| *end < nanos);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How many there are in each bucket at this moment.
    pub(crate) fn counts(&self) -> Counts {
        let read = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        Counts(std::array::from_fn(|index| read(&self.counts[index])))
    }

    /// The sum in seconds, how many there were, and how many were in each bucket.
    pub(crate) fn read(&self) -> (f64, u64, Vec<(f64, u64)>) {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> =
            ENDS.into_iter().chain([f64::INFINITY]).zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        (self.nanos.load(Ordering::Relaxed) as f64 / 1e9, count, buckets)
    }
}

/// How many times are in each bucket.
#[derive(Clone, Debug)]
pub(crate) struct Counts([u64; ENDS.len() + 1]);

impl Counts {
    /// Buckets that have got more since: their upper end, which the last lacks, and how many more.
    pub(crate) fn since(&self, before: &Counts) -> Vec<(Option<f64>, u64)> {
        let ends = ENDS.into_iter().map(Some).chain([None]);
        let more = self.0.iter().zip(before.0).map(|(now, before)| now.saturating_sub(before));
        ends.zip(more).filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a time is in the first bucket whose end is not before it.
    /// Method: times at, before and behind ends, and beyond all of them.
    #[test]
    fn times_are_in_the_bucket_that_ends_with_them_or_after() {
        let histogram = Histogram::default();
        for nanos in [0, 1_000, 1_001, 15_000_000, 15_000_001, 2_000_000_000] {
            histogram.record(Duration::from_nanos(nanos));
        }
        let (sum, count, buckets) = histogram.read();
        let counts: Vec<u64> = buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0]);
        assert_eq!((count, sum), (6, 2.030_002_002));
    }

    /// Goal: what was recorded between two looks is told, and nothing else.
    /// Method: one time before, two after, one of them beyond all ends.
    #[test]
    fn what_came_between_two_looks_is_told() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_micros(1));
        let before = histogram.counts();
        histogram.record(Duration::from_micros(2));
        histogram.record(Duration::from_secs(11));
        assert_eq!(histogram.counts().since(&before), [(Some(0.000_002), 1), (None, 1)]);
        assert_eq!(histogram.counts().since(&histogram.counts()), []);
    }

    /// Goal: what is shown in seconds is what was counted in nanoseconds.
    /// Method: compare both lists.
    #[test]
    fn both_lists_of_ends_are_the_same() {
        for (seconds, nanos) in ENDS.into_iter().zip(ENDS_NANOS) {
            assert_eq!((seconds * 1e9).round() as u64, nanos);
        }
    }
}
