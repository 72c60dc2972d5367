//! The concurrency limit: the permits that are held, one by one.
//!
//! Invariant: a permit counts until it is given back or its end has come, and from its end on it
//! counts no more.

use super::largest;

#[derive(Clone, Debug)]
struct Permit {
    id: u64,
    cost: u64,
    /// None for a permit that lasts until it is given back.
    end: Option<u64>,
}

impl Permit {
    fn is_live(&self, now: u64) -> bool {
        self.end.is_none_or(|end| now < end)
    }
}

/// Section 1.7: one key under a concurrency limit.
#[derive(Clone, Debug)]
pub struct Permits {
    limit: u64,
    permits: Vec<Permit>,
    next_id: u64,
}

impl Permits {
    /// A key that was never used.
    pub fn new(limit: u64) -> Permits {
        Permits { limit, permits: Vec::new(), next_id: 0 }
    }

    /// Changes the limit; what is held stays held (rule R9).
    pub fn change_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Takes a permit, for `hold` ticks or until it is given back. A cost of zero is always granted
    /// and nothing is kept of it (rule R6).
    pub fn acquire(&mut self, now: u64, cost: u64, hold: Option<u64>) -> Option<u64> {
        self.drop_ended(now);
        if cost > 0 && !self.admits(now, cost) {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        if cost > 0 {
            let end = hold.map(|ticks| now.saturating_add(ticks));
            self.permits.push(Permit { id, cost, end });
        }
        Some(id)
    }

    /// Gives a permit back. Says whether it was held until now.
    pub fn release(&mut self, now: u64, id: u64) -> bool {
        self.drop_ended(now);
        let before = self.permits.len();
        self.permits.retain(|permit| permit.id != id);
        self.permits.len() < before
    }

    /// Units that are held.
    pub fn held(&self, now: u64) -> u64 {
        let live = self.permits.iter().filter(|permit| permit.is_live(now));
        live.map(|permit| permit.cost).sum()
    }

    /// The largest cost that is granted at this instant.
    pub fn remaining(&self, now: u64) -> u64 {
        largest(self.limit, |cost| self.admits(now, cost))
    }

    fn admits(&self, now: u64, cost: u64) -> bool {
        u128::from(self.held(now)) + u128::from(cost) <= u128::from(self.limit)
    }

    /// A write drops what has ended, so that it does not come back with the clock.
    fn drop_ended(&mut self, now: u64) {
        self.permits.retain(|permit| permit.is_live(now));
    }
}

#[cfg(test)]
mod tests {
    use super::Permits;

    /// Goal: no more than the limit is held, and what is given back can be taken again, once.
    /// Method: a limit of three, by hand.
    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let mut key = Permits::new(3);
        let two = key.acquire(0, 2, None).expect("three are free");
        assert_eq!((key.held(0), key.remaining(0)), (2, 1));
        assert_eq!(key.acquire(0, 2, None), None, "one is free");
        assert_eq!(key.acquire(0, 4, None), None, "above the limit");
        let one = key.acquire(0, 1, None).expect("one is free");
        assert!(key.release(9, two));
        assert!(!key.release(9, two), "given back already");
        assert!(!key.release(9, one + 1), "never taken");
        assert_eq!((key.held(9), key.remaining(9)), (1, 2));
    }

    /// Goal: a permit ends by itself at its end, not a tick earlier, and then cannot be given back.
    /// Method: one permit for ten ticks, seen on both sides of its end.
    #[test]
    fn a_permit_ends_at_its_end() {
        let mut key = Permits::new(1);
        let timed = key.acquire(100, 1, Some(10)).expect("one is free");
        assert_eq!((key.held(109), key.held(110)), (1, 0));
        assert_eq!(key.acquire(109, 1, None), None);
        let lasting = key.acquire(110, 1, None).expect("the first has ended");
        assert!(!key.release(110, timed));
        assert_eq!(key.held(1_000_000), 1, "without an end it lasts");
        assert!(key.release(1_000_000, lasting));
    }

    /// Goal: a limit below what is held leaves nothing, and takes nothing from who holds.
    /// Method: lower and raise the limit around two held units; a cost of zero passes always.
    #[test]
    fn a_lowered_limit_leaves_nothing() {
        let mut key = Permits::new(3);
        key.acquire(0, 2, None).expect("three are free");
        key.change_limit(1);
        assert_eq!((key.held(0), key.remaining(0)), (2, 0));
        assert_eq!(key.acquire(0, 1, None), None);
        assert!(key.acquire(0, 0, None).is_some());
        key.change_limit(4);
        assert_eq!((key.held(0), key.remaining(0)), (2, 2));
    }
}
