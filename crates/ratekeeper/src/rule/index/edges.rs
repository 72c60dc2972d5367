//! From a node by a name to the next node.
//!
//! Invariant: keys are numbers that the index gave out. No caller chooses them, so their hash is made
//! for speed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// By node and name.
pub(super) type Edges = HashMap<(usize, usize), usize, BuildHasherDefault<Numbers>>;

/// Mixes numbers so that neighbours are far apart.
#[derive(Default)]
pub(super) struct Numbers(u64);

impl Hasher for Numbers {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // An odd number without pattern: the digits of the golden ratio.
        self.0 = (self.0.rotate_left(29) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits choose the place, and multiplying moves little into them.
        self.0 ^ self.0 >> 32
    }
}
