//! Who sleeps until a time that nothing changes.
//!
//! Invariant: a sleeper is here until it is woken or rises.

use super::lines::Woken;
use std::collections::BTreeMap;
use std::mem;
use std::task::Waker;

#[derive(Default)]
pub(super) struct Sleepers {
    by_time: BTreeMap<(u64, u64), Waker>,
    numbers: u64,
}

impl Sleepers {
    /// When the first one has to be woken; `u64::MAX` if there is none.
    pub(super) fn next(&self) -> u64 {
        self.by_time.first_key_value().map_or(u64::MAX, |((tick, _), _)| *tick)
    }

    /// Takes out the first one.
    pub(super) fn pop(&mut self) -> Option<Waker> {
        self.by_time.pop_first().map(|(_, waker)| waker)
    }

    /// Sleeps until `tick`; the number tells this sleeper from others.
    pub(super) fn sleep(&mut self, tick: u64, waker: Waker) -> u64 {
        self.numbers += 1;
        self.by_time.insert((tick, self.numbers), waker);
        self.numbers
    }

    /// Whether the sleeper still sleeps; if so, `waker` will be woken.
    pub(super) fn sleeps(&mut self, at: (u64, u64), waker: &Waker, woken: &mut Woken) -> bool {
        let Some(known) = self.by_time.get_mut(&at) else { return false };
        if !known.will_wake(waker) {
            woken.push((mem::replace(known, waker.clone()), false));
        }
        true
    }

    /// Sleeps no longer.
    pub(super) fn rise(&mut self, at: (u64, u64), woken: &mut Woken) {
        woken.extend(self.by_time.remove(&at).map(|waker| (waker, false)));
    }

    pub(super) fn everyone(&self) -> impl Iterator<Item = &Waker> {
        self.by_time.values()
    }
}
