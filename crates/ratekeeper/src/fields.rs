//! What HTTP callers are told: header fields, problem bodies, and the same for gRPC.
//!
//! Invariant: figures are rounded so that a caller who believes them is never refused for it: times up,
//! units down.

mod policy;

pub(crate) use policy::Policy;
