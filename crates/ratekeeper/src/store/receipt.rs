//! What was charged, and where, so that it can be settled.
//!
//! Invariant: a receipt is of one bucket, and says where in it the charge went.

#[cfg(feature = "redis")]
use super::Charge;
use crate::algorithm::bucket::Arrival;

/// Where an admitted charge went: which window, or when it will have drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(super) tick: u64,
    pub(super) part: u64,
}

#[cfg(feature = "redis")]
impl Stamp {
    pub(crate) fn new(tick: u64, part: u64) -> Stamp {
        Stamp { tick, part }
    }

    pub(crate) fn parts(self) -> (u64, u64) {
        (self.tick, self.part)
    }
}

/// A charge that was admitted, and can be settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    /// The name of the bucket, and whether it is a shared one.
    pub(super) bucket: u64,
    pub(super) shared: bool,
    pub(super) stamp: Stamp,
    pub(super) held: u64,
}

impl Receipt {
    /// Whether it is for this bucket.
    pub(crate) fn is_of(&self, bucket: u64) -> bool {
        self.bucket == bucket
    }

    /// The name of the bucket.
    pub(crate) fn bucket(&self) -> u64 {
        self.bucket
    }

    /// Units that were charged.
    pub(crate) fn units(&self) -> u64 {
        self.held
    }

    /// The receipt of a charge that was noted elsewhere.
    #[cfg(feature = "redis")]
    pub(crate) fn noted(charge: &Charge<'_>, stamp: Stamp, held: u64) -> Receipt {
        Receipt { bucket: charge.bucket(), shared: false, stamp, held }
    }

    /// Where the charge went.
    #[cfg(feature = "redis")]
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// When a charge of a queue will have drained.
    pub(crate) fn until(&self) -> Arrival {
        self.stamp.into()
    }

    /// As many such charges as one.
    pub(crate) fn times(self, count: u64) -> Receipt {
        Receipt { held: self.held.saturating_mul(count), ..self }
    }

    /// Whether both are for the same bucket.
    pub(crate) fn is_beside(&self, other: &Receipt) -> bool {
        (self.bucket, self.shared) == (other.bucket, other.shared)
    }

    /// Whether a bucket that newcomers share was charged.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }
}
