//! What is held after a decision: permits and reservations.
//!
//! Invariant: whatever was taken is given back exactly once, however its holder ends; counts are
//! exact, since the clock stands still unless a test moves it.

mod by_name;
mod leaks;
mod named;
mod permits;
mod settled;
mod together;
