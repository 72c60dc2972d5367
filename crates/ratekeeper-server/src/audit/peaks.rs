//! The highest of many sums, each of which is that of a place and all places after it.
//!
//! A tree over the places: a node knows the sum of what was added below it, and the highest value of a
//! place below it, counted to its own end. Invariant: what is added and what is asked costs a step for each
//! level of the tree, and the steps are counted.

/// Lower than any value: values stay within 2¹²³.
const LOWEST: i128 = i128::MIN / 4;

#[derive(Clone, Copy)]
struct Node {
    sum: i128,
    best: i128,
}

/// Nothing: beside another node it changes nothing.
const NOTHING: Node = Node { sum: 0, best: LOWEST };

impl Node {
    fn then(self, right: Node) -> Node {
        Node { sum: self.sum + right.sum, best: (self.best + right.sum).max(right.best) }
    }
}

/// Places with a base each, to which can be added.
pub(super) struct Peaks {
    /// The places are the second half; a node has the two that are at twice its place.
    nodes: Vec<Node>,
    places: usize,
    /// Nodes that were looked at.
    pub(super) steps: u64,
}

impl Peaks {
    /// Places with these bases.
    pub(super) fn new(bases: &[i128]) -> Peaks {
        let places = bases.len();
        let mut nodes = vec![NOTHING; places];
        nodes.extend(bases.iter().map(|base| Node { sum: 0, best: *base }));
        for at in (1..places).rev() {
            nodes[at] = nodes[2 * at].then(nodes[2 * at + 1]);
        }
        Peaks { nodes, places, steps: 2 * places as u64 }
    }

    /// Adds to a place, and so to the values of all up to it.
    pub(super) fn add(&mut self, place: usize, units: i128) {
        let mut at = self.places + place;
        self.nodes[at].sum += units;
        self.nodes[at].best += units;
        while at > 1 {
            at /= 2;
            self.nodes[at] = self.nodes[2 * at].then(self.nodes[2 * at + 1]);
            self.steps += 1;
        }
    }

    /// The highest value of the places from one to before another; `None` if there are none.
    pub(super) fn highest(&mut self, from: usize, to: usize) -> Option<i128> {
        if from >= to {
            return None;
        }
        let behind = self.range(to, self.places).sum;
        Some(self.range(from, to).best + behind)
    }

    fn range(&mut self, from: usize, to: usize) -> Node {
        let (mut left, mut right) = (NOTHING, NOTHING);
        let (mut from, mut to) = (from + self.places, to + self.places);
        while from < to {
            if from % 2 == 1 {
                left = left.then(self.nodes[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                right = self.nodes[to].then(right);
            }
            (from, to) = (from / 2, to / 2);
            self.steps += 1;
        }
        left.then(right)
    }
}
