//! Permits by name, for callers that are not in this process: each ends with its time.
//!
//! What is held is counted in the store, like any permit; here is only who holds it until when.
//! Invariants: a permit is given back once, by its holder or by its end; whoever asks a concurrency
//! limit finds none that has ended.

use super::named::{Named, Room};
use crate::name::PermitId;
use crate::store::Receipt;
use crate::store::memory::Memory;

/// What each permit holds, and until when, limit by limit.
pub(super) struct Leases(Named<Vec<Part>>);

/// What a permit holds of one limit, and until when.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) end: u64,
    pub(super) receipt: Receipt,
}

/// The right to one more lease.
pub(super) struct Lease<'a>(Room<'a, Vec<Part>>);

impl Leases {
    pub(super) fn new(most: usize) -> Leases {
        Leases(Named::new(most))
    }

    /// Gives back what has ended.
    #[inline]
    pub(super) fn expire(&self, store: &Memory, now: impl FnOnce() -> u64) {
        self.0.expire(now, |now, parts| give_back(store, parts, |part| part.end <= now));
    }

    /// Room for one more, before anything is charged for it.
    pub(super) fn room(&self) -> Option<Lease<'_>> {
        self.0.room().map(Lease)
    }

    /// Gives a permit back; `false` if there is none of this name, or no longer.
    pub(super) fn release(&self, store: &Memory, id: PermitId) -> bool {
        self.0.take(id.0, |parts| give_back(store, parts, |_| true)).is_some()
    }

    /// Gives back what permits hold of this bucket.
    pub(super) fn forget(&self, store: &Memory, bucket: u64) {
        let of_bucket = |part: &Part| part.receipt.is_of(bucket);
        let change = |parts: Vec<Part>| give_back(store, parts, of_bucket);
        self.0.change(|parts| parts.iter().any(of_bucket), change);
    }
}

/// Gives back the parts of a permit that are `over`; the rest, and when that ends next.
fn give_back(
    store: &Memory,
    parts: Vec<Part>,
    over: impl Fn(&Part) -> bool,
) -> Option<(u64, Vec<Part>)> {
    let (gone, kept): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(over);
    for Part { receipt, .. } in &gone {
        store.release(receipt.bucket(), receipt.units());
    }
    Some((kept.iter().map(|part| part.end).min()?, kept))
}

impl Lease<'_> {
    /// Notes who holds what was charged, and gives it a name.
    pub(super) fn keep(self, parts: Vec<Part>) -> PermitId {
        let end = parts.iter().map(|part| part.end).min().unwrap_or(0);
        PermitId(self.0.keep(end, parts))
    }
}
