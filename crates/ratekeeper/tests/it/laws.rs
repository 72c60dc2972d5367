//! The laws of section 7 of the specification, for the pure algorithms.
//!
//! Invariant: every law that applies to one algorithm runs over all of them, with rates that do not
//! divide among its cases. The numbers of the laws are those of the section.

mod account;
mod trace;

mod against_oracle;
mod bounds;
mod buckets;
mod clocks;
mod concurrency;
mod exact;
mod extremes;
mod invariance;
mod refunds;
mod reload;
mod settling;
mod shaping;

pub(crate) use account::{MINUTE, SECOND, Shape};
pub(crate) use settling::{Use, actual, uses};
pub(crate) use trace::{Also, Call, Step, steps};

use proptest::prelude::ProptestConfig;

/// So many cases, and no file of failures: a failure is to become a test of its own.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}
