//! Limits as text and as code: what is read, what is refused, and in which words.
//!
//! Invariant: every message is here in full, so that a change of words is seen in a review.

mod built;
mod held;
mod read;
