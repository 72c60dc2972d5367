//! What keys have used under a rate that their limit had before: brought over when they are next asked
//! for.
//!
//! Invariant: whoever does not find a key under its new name holds the key's lock until it has looked
//! under the former ones, so that nobody begins with a whole bucket while another one is bringing it.

use super::super::{Charge, Kind};
use super::Memory;
use super::arrivals::{Narrow, Turn};
use super::shard::{Shard, with_words};
use super::words::Words;
use crate::algorithm::bucket::Arrival;
use crate::sync::{Mutex, lock};

/// Locks for keys on their way.
const LOCKS: usize = 64;

pub(super) struct Formers([Mutex<()>; LOCKS]);

impl Default for Formers {
    fn default() -> Formers {
        Formers(std::array::from_fn(|_| Mutex::new(())))
    }
}

impl Memory {
    /// Brings over what the key has used under a former rate, if it has, and was not asked for since.
    #[inline]
    pub(super) fn bring(&self, now: u64, charge: &Charge<'_>) {
        if !charge.meter.former.is_empty() {
            self.bring_over(now, charge);
        }
    }

    #[cold]
    fn bring_over(&self, now: u64, charge: &Charge<'_>) {
        let shard = self.shard(charge);
        if shard.has(charge) {
            return;
        }
        let _mine = lock(&self.formers.0[charge.bucket as usize % LOCKS]);
        if shard.has(charge) {
            return;
        }
        for former in charge.formers(now) {
            let taken = self.shard(&former).take(&former);
            let carried = taken.and_then(|arrival| charge.carried(&former, arrival, now));
            if let Some(arrival) = carried {
                shard.put(now, charge, arrival);
                return;
            }
        }
    }

    /// Forgets what the key has used under former rates.
    pub(super) fn forget_formers(&self, charge: &Charge<'_>) {
        charge.formers(0).for_each(|former| self.shard(&former).remove(&former));
    }
}

impl Shard {
    /// Whether a bucket is here.
    fn has(&self, charge: &Charge<'_>) -> bool {
        with_words!(charge, &self.one, &self.two,
            _log => false,
            |slots, _algorithm| slots.hold(charge.bucket).is_some())
    }

    /// Takes a bucket out, if it is here: when it will be whole.
    fn take(&self, charge: &Charge<'_>) -> Option<Arrival> {
        let arrival = {
            let _book = self.book();
            with_words!(charge, &self.one, &self.two,
            _log => None,
            |slots, algorithm| {
                slots.hold(charge.bucket).map(|held| algorithm.stamp(held.words()).into())
            })
        };
        if arrival.is_some() {
            self.remove(charge);
        }
        arrival
    }

    /// Puts a bucket here that will be whole then. Without room it is forgotten, as at the cap.
    fn put(&self, now: u64, charge: &Charge<'_>, arrival: Arrival) {
        let mut book = self.book();
        if self.place(&mut book, now, charge, &[charge.bucket]) {
            with_words!(charge, &self.one, &self.two,
            _log => {},
            |slots, algorithm| if let Some(mut held) = slots.hold(charge.bucket) {
                let words = algorithm.moved(held.words(), arrival);
                held.write(words, true);
            });
        }
    }
}
