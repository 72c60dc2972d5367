//! Who calls: the address behind trusted proxies, and what credentials prove.
//!
//! Invariant: nothing that was not verified opens a bucket of its own.

/// How callers are recognised.
#[derive(Clone, Debug, Default)]
pub struct Identity {}
