//! What a rule did in shadow: how many requests and callers it would have refused.
//!
//! Invariant: the limits of a rule are looked at each second, those of every tier; with others than at the look before
//! the counts begin anew.

use super::callers::Callers;
use ratekeeper::Limit;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub(super) struct Shadow {
    asked: AtomicU64,
    refused: AtomicU64,
    callers: Callers,
    callers_refused: Callers,
    /// The limits that it is of, once somebody has looked.
    limits: Mutex<Option<Vec<Vec<Limit>>>>,
}

/// The same as figures; callers are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Shadowed {
    pub(crate) asked: u64,
    pub(crate) refused: u64,
    pub(crate) callers: u64,
    pub(crate) callers_refused: u64,
}

impl Shadow {
    pub(super) fn note(&self, who: Option<u64>, refused: bool) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(refused.into(), Ordering::Relaxed);
        let Some(who) = who else { return };
        self.callers.note(who);
        if refused {
            self.callers_refused.note(who);
        }
    }

    pub(super) fn told(&self) -> Shadowed {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (asked, refused) = (read(&self.asked), read(&self.refused));
        // Estimates of a part and of the whole err by themselves.
        let callers = self.callers.count();
        let callers_refused = self.callers_refused.count().min(callers);
        Shadowed { asked, refused, callers, callers_refused }
    }

    /// The rule has these limits now.
    pub(super) fn renew(&self, limits: Vec<Vec<Limit>>) {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&limits) {
            return;
        }
        if known.replace(limits).is_some() {
            self.asked.store(0, Ordering::Relaxed);
            self.refused.store(0, Ordering::Relaxed);
            self.callers.clear();
            self.callers_refused.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: requests and callers that would have been refused are counted, and counted anew under other limits.
    /// Method: three callers, one of them refused twice; the same limits again, then others.
    #[test]
    fn what_is_counted_is_of_the_limits_that_are() {
        let limit = |text: &str| vec![vec![text.parse::<Limit>().unwrap()]];
        let shadow = Shadow::default();
        // Far apart, as hashes are.
        let callers = [1_u64 << 60, 2 << 60, 3 << 60];
        callers.iter().for_each(|who| shadow.note(Some(*who), false));
        shadow.note(Some(callers[0]), true);
        shadow.note(Some(callers[0]), true);
        let told = Shadowed { asked: 5, refused: 2, callers: 3, callers_refused: 1 };
        shadow.renew(limit("5/minute"));
        shadow.renew(limit("5/minute"));
        assert_eq!(shadow.told(), told);
        shadow.renew(limit("6/minute"));
        assert_eq!(shadow.told(), Shadowed::default());
        shadow.note(None, true);
        assert_eq!(shadow.told(), Shadowed { asked: 1, refused: 1, ..Shadowed::default() });
    }
}
