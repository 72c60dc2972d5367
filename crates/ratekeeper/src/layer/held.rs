//! What a connection that was upgraded holds.
//!
//! Invariant: permits are given back when the last clone is dropped, and once.

use crate::limiter::Admission;
use std::fmt;
use std::sync::Arc;

/// Permits of a request that was answered with 101, among the extensions of that answer. Whoever speaks
/// the new protocol keeps it until that has ended; where nobody does, permits end with the answer.
#[derive(Clone)]
pub struct Held {
    /// Only kept.
    _admission: Arc<Admission>,
}

impl Held {
    pub(super) fn new(admission: Admission) -> Held {
        Held { _admission: Arc::new(admission) }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
