//! A set of places in an index.
//!
//! Invariant: each is in it once. A few need no memory of their own.

use std::collections::BTreeSet;

/// So many are kept without asking for memory.
const FEW: usize = 16;

#[derive(Default)]
pub(super) struct Nodes {
    few: [usize; FEW],
    length: usize,
    more: BTreeSet<usize>,
}

impl Nodes {
    pub(super) fn add(&mut self, node: usize) {
        if self.few[..self.length].contains(&node) {
            return;
        }
        match self.few.get_mut(self.length) {
            Some(place) => {
                *place = node;
                self.length += 1;
            }
            None => _ = self.more.insert(node),
        }
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.more.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.few[..self.length].iter().copied().chain(self.more.iter().copied())
    }
}
