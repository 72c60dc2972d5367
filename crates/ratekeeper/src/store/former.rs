//! Rates that a limit had before: what keys have used under them is brought over when they are next asked
//! for.
//!
//! Invariant: what is brought over is the same number of units used, rounded up, and at most all of them.

use super::{Charge, Kind, Meter};
use crate::algorithm::bucket::{Arrival, Bucket};

/// Rates of a limit that are remembered: who changes it more often than that before a key is asked for
/// again, forgets the oldest.
const FORMERS: usize = 4;

/// A rate that a limit had before: what its bucket holds is brought over when the key is next asked for.
#[derive(Debug)]
pub(super) struct Former {
    meter: Meter,
    /// The tick from which on no bucket of it can hold anything.
    until: u64,
}

impl Meter {
    /// Brings over what keys have used under another rate of the same limit, which was in force until
    /// now.
    pub(crate) fn follow(&mut self, other: &Meter, now: u64) {
        let of = |meter: &Meter, bucket: &Bucket| Meter {
            kind: Kind::Bucket(*bucket),
            former: Vec::new(),
            ..*meter
        };
        if self.salt != other.salt
            && let Some(bucket) = other.bucket()
        {
            // A full bucket and a debt as large, and a tick for its parts.
            let until = now + 2 * bucket.time_of_full().tick + 2;
            self.former.push(Former { meter: of(other, bucket), until });
        }
        for Former { meter, until } in other.former.iter().filter(|former| former.until > now) {
            if let Some(bucket) = meter.bucket().filter(|_| meter.salt != self.salt) {
                self.former.push(Former { meter: of(meter, bucket), until: *until });
            }
        }
        self.former.truncate(FORMERS);
    }
}

impl<'a> Charge<'a> {
    /// A look at the buckets of the same key under rates that the limit had before.
    pub(super) fn formers(&self, now: u64) -> impl Iterator<Item = Charge<'a>> {
        let fingerprint = self.bucket ^ self.meter.salt;
        let formers = self.meter.former.iter().filter(move |former| former.until > now);
        formers.map(move |former| Charge::new(&former.meter, fingerprint, 0))
    }

    /// What this bucket holds of what the same key has used under another rate.
    pub(super) fn carried(
        &self,
        former: &Charge<'_>,
        arrival: Arrival,
        now: u64,
    ) -> Option<Arrival> {
        Some(self.meter.bucket()?.carry(former.meter.bucket()?, arrival, now))
    }
}
