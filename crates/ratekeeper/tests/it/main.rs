//! The integration tests of the library, in one binary.
//!
//! Invariant: no test sleeps or reads a clock of its own; time is a number or a `ManualClock`.
//! Nothing is compared with itself: what is expected is written down, or comes from the oracle.

mod laws;
mod limits;
mod limiter;
mod mistakes;
