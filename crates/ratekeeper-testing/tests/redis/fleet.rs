//! A fleet of real processes over one store, some of which are killed and paused all the time.
//!
//! Invariant: what was admitted is judged by what each process wrote down itself, whatever became of it.

mod killed;
