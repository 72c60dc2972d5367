//! Rule files.
//!
//! Invariant: none yet.
