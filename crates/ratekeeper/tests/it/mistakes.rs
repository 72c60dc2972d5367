//! Mistakes that others have made, each as a test through the public interface.
//!
//! Invariant: a test is named after the mistake, turned around; its comment gives the row of the
//! table of known mistakes (`B1` and so on), or the limiter in whose code it was found.

mod anchors;
mod any_algorithm;
mod buckets;
mod queues;
mod windows;
