//! What one bucket holds, whichever store keeps it.
//!
//! Invariant: it is told as of an instant; of windows that are over nothing is told.

use crate::algorithm::bucket::Arrival;
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::sliding_counter::{SlidingCounter, Windows};

/// What a bucket holds; times are ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    Window {
        start: u64,
        count: u64,
    },
    Windows {
        start: u64,
        current: u64,
        previous: u64,
    },
    /// The times and units of a log's entries that count, oldest first.
    Log(Vec<(u64, u64)>),
    Arrival(Arrival),
    /// Units of permits.
    Permits(u64),
}

impl Contents {
    pub(super) fn window(algorithm: &FixedWindow, window: Window, now: u64) -> Contents {
        let Window { start, count } = algorithm.roll(window, now);
        Contents::Window { start, count }
    }

    pub(super) fn windows(algorithm: &SlidingCounter, windows: Windows, now: u64) -> Contents {
        let (Windows { index, current, previous }, _) = algorithm.roll(windows, now);
        Contents::Windows { start: index * algorithm.period(), current, previous }
    }
}
