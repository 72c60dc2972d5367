//! Leases: units that this process took from a bucket in the shared store, to spend them by itself.
//!
//! A share is charged in the store before anything of it is spent, so all servers together admit no more than the
//! bucket and what they hold of it: at most a share each. How much is taken follows use: nothing for a key that comes
//! now and then, twice as much each time it was spent in less than half its life, and less where some was left over.
//! Invariants: a server holds no more of a bucket than a share; nothing is spent after its end; what is left then is
//! given back once.

mod heat;
mod part;
mod size;
#[cfg(test)]
mod tests;

pub(crate) use heat::Heat;
pub(crate) use part::Part;

use super::near::Table;
use crate::store::redis::Share;
use size::Size;

/// How long a share may be spent, in ticks.
pub(crate) const LASTS: u64 = 1_000_000;

/// Most buckets of which something is kept.
const ENTRIES: usize = 1 << 18;

/// A part of this size is renewed before it is spent.
const RENEWED: u64 = 8;

/// Parts of a burst that all servers may hold together, in percent.
const PERCENT: u64 = 5;

/// What each of so many servers may hold of a bucket: the bound of what leases admit beyond the limit is this, times
/// the servers.
pub(crate) fn share(burst: u64, nodes: u32) -> u64 {
    let percent = u128::from(burst) * u128::from(PERCENT) / 100 / u128::from(nodes.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX).max(1)
}

/// What is held of buckets, each for somebody who is known as `T`.
pub(crate) struct Leases<T>(Table<Lease<T>>);

struct Lease<T> {
    owner: T,
    /// What is spent next, and what came while there was still some.
    parts: [Part; 2],
    size: Size,
    /// Units that are being asked for, and the most that may be held.
    asked: u64,
    most: u64,
    /// What the store said last: units that remain there, and the tick at which the bucket is whole.
    remaining: u64,
    whole: u64,
}

/// What is known of a request that asks the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) units: u64,
    /// What may be held of the bucket.
    pub(crate) most: u64,
    pub(crate) nodes: u32,
    pub(crate) now: u64,
}

/// What came of spending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) remaining: u64,
    pub(crate) reset_after: u64,
    /// Whether it is time to ask for more.
    pub(crate) renew: bool,
}

/// What the store said with a share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) part: Part,
    pub(crate) remaining: u64,
    pub(crate) whole: u64,
}

/// What was left over, and of whom.
pub(crate) type Left<T> = (T, Part);

impl<T: Clone> Leases<T> {
    pub(crate) fn new() -> Leases<T> {
        Leases(Table::new(ENTRIES))
    }

    /// Spends so many units of a bucket, if it holds as many.
    #[inline]
    pub(crate) fn spend(&self, bucket: u64, units: u64, now: u64) -> Option<Spent> {
        let mut part = self.0.part(bucket);
        let lease = part.get_mut(&bucket)?;
        if !lease.parts.iter_mut().any(|own| own.spend(units, now)) {
            return None;
        }
        lease.size.used(units);
        let left = lease.left(now);
        let renew = lease.asked == 0
            && lease.parts[1].left == 0
            && lease.size.now() >= RENEWED
            && 2 * left < lease.size.now();
        let reset_after = lease.whole.saturating_sub(now);
        Some(Spent { remaining: lease.remaining, reset_after, renew })
    }

    /// Takes back what was spent, if its part is still there.
    pub(crate) fn unspend(&self, bucket: u64, units: u64, now: u64) {
        if let Some(lease) = self.0.part(bucket).get_mut(&bucket)
            && lease.left(now) + units <= lease.most
        {
            let own = lease.parts.iter_mut().find(|own| own.until > now && own.held > own.left);
            own.into_iter().for_each(|own| own.left = (own.left + units).min(own.held));
        }
    }

    /// The share to ask the store for with a request of so many units, beside them; and what was left over of one
    /// that has ended. Of a bucket that is not known yet it is asked whether it `is_hot`.
    pub(crate) fn wish(
        &self,
        bucket: u64,
        owner: impl FnOnce() -> T,
        wish: Wish,
        is_hot: impl FnOnce() -> bool,
    ) -> (Option<Share>, Vec<Left<T>>) {
        let Wish { units, most, nodes, now } = wish;
        let is_known = self.0.part(bucket).contains_key(&bucket);
        if !is_known && (!is_hot() || !self.0.put(bucket, Lease::new(owner(), now))) {
            return (None, Vec::new());
        }
        let mut part = self.0.part(bucket);
        let Some(lease) = part.get_mut(&bucket) else { return (None, Vec::new()) };
        let left = lease.end(now);
        if lease.asked > 0 || lease.parts.iter().all(|own| own.left > 0) {
            lease.size.used(units);
            return (None, left);
        }
        lease.size.asks(units, now, most);
        let wished = lease.size.now().min(most.saturating_sub(lease.left(now)));
        (lease.asked, lease.most) = (wished, most);
        let spare = wished.saturating_mul(u64::from(nodes) + 1);
        (Some(Share { units: wished, spare }).filter(|_| wished > 0), left)
    }

    /// A wish was answered: with a share, or, near the limit, without one. `false` if nobody holds such any more.
    pub(crate) fn granted(&self, bucket: u64, granted: Option<Granted>) -> bool {
        let mut part = self.0.part(bucket);
        // Should the lease have been ended meanwhile, and begun anew, only one of two answers counts.
        let asked = part.get_mut(&bucket).filter(|lease| lease.asked > 0);
        let Some(lease) = asked else { return false };
        lease.asked = 0;
        let Some(Granted { part: new, remaining, whole }) = granted else {
            lease.size.denied();
            return true;
        };
        if lease.left(0) + new.left > lease.most {
            return false;
        }
        let Some(free) = lease.parts.iter_mut().find(|own| own.left == 0) else { return false };
        *free = new;
        lease.parts.sort_unstable_by_key(|own| (own.left == 0, own.until));
        (lease.remaining, lease.whole) = (remaining, whole);
        true
    }

    /// The store was asked without a share: so much remains there, at most.
    pub(crate) fn told(&self, bucket: u64, remaining: u64) {
        if let Some(lease) = self.0.part(bucket).get_mut(&bucket) {
            lease.remaining = lease.remaining.min(remaining);
        }
    }

    /// A wish was given up.
    pub(crate) fn unasked(&self, bucket: u64) {
        if let Some(lease) = self.0.part(bucket).get_mut(&bucket) {
            lease.asked = 0;
            lease.size.denied();
        }
    }

    /// Whether nothing is kept of any bucket.
    pub(crate) fn is_empty(&self) -> bool {
        let mut any = false;
        self.0.each(|part| any |= !part.is_empty());
        !any
    }

    /// What is left over of all that has ended; those that nobody uses any more are forgotten.
    pub(crate) fn ended(&self, now: u64) -> Vec<Left<T>> {
        let mut left = Vec::new();
        self.0.each(|part| {
            part.retain(|_, lease| {
                left.extend(lease.end(now));
                !lease.is_over(now)
            });
        });
        left
    }

    /// Ends the lease of a bucket: what was left.
    pub(crate) fn end(&self, bucket: u64) -> Vec<Left<T>> {
        let lease = self.0.part(bucket).remove(&bucket);
        lease.map_or_else(Vec::new, |mut lease| lease.end(u64::MAX))
    }

    /// Ends all leases: what was left.
    pub(crate) fn end_all(&self) -> Vec<Left<T>> {
        let mut left = Vec::new();
        self.0
            .each(|part| part.drain().for_each(|(_, mut lease)| left.extend(lease.end(u64::MAX))));
        left
    }
}

impl<T: Clone> Lease<T> {
    /// Of a bucket of which nothing is held.
    fn new(owner: T, now: u64) -> Lease<T> {
        let (parts, size) = ([Part::default(); 2], Size::new(now));
        Lease { owner, parts, size, asked: 0, most: 0, remaining: 0, whole: 0 }
    }

    /// What it holds.
    fn left(&self, now: u64) -> u64 {
        self.parts.iter().filter(|own| own.until > now).map(|own| own.left).sum()
    }

    /// Ends the parts whose time is over: what was left of them.
    fn end(&mut self, now: u64) -> Vec<Left<T>> {
        let over = self.parts.iter_mut().filter(|own| own.left > 0 && own.until <= now);
        let left: Vec<Left<T>> = over.map(|own| (self.owner.clone(), own.take())).collect();
        left.iter().for_each(|(_, own)| self.size.left_over(own.left));
        left
    }

    /// Whether there is nothing to be kept of it.
    fn is_over(&self, now: u64) -> bool {
        self.asked == 0 && self.parts.iter().all(|own| own.left == 0) && self.size.is_idle(now)
    }
}
