//! What happened in a simulation: every request with its answer, and every fault.
//!
//! Invariant: a request is noted when it is made; it has an answer, or its node crashed, or it was lost.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What was decided on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When it came.
    pub at: u64,
    /// Whether its rule admits it.
    pub allowed: bool,
    /// Whether all rules do that were asked with it, so that it was charged.
    pub passes: bool,
    /// Where that was decided.
    pub source: &'static str,
    /// The limit that it names.
    pub limit: u64,
    /// What it says is left.
    pub remaining: u64,
}

impl Answer {
    /// Whether the store was away.
    pub fn is_degraded(&self) -> bool {
        matches!(self.source, "local" | "failed_open" | "failed_closed")
    }
}

/// One request; times are nanoseconds since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The node that was asked, and how often it had been started.
    pub node: usize,
    /// How often that node had been started.
    pub life: u32,
    /// The key.
    pub key: usize,
    /// The rule.
    pub rule: usize,
    /// The release by which it was decided.
    pub version: u64,
    /// Units.
    pub cost: u64,
    /// When it was asked.
    pub at: u64,
    /// The answer; none if the node crashed before.
    pub answer: Option<Answer>,
    /// When a permit was given back, if it was one.
    pub freed: Option<u64>,
}

/// Something that was done to the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// What.
    pub fault: Fault,
    /// To which node; to all, or the server, if none.
    pub node: Option<usize>,
    /// From when.
    pub start: u64,
    /// Until when.
    pub end: u64,
}

/// Kinds of what can be done to a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing passes between a node and the server, or not in one direction.
    Cut {
        /// Not to the server.
        up: bool,
        /// Not from the server.
        down: bool,
    },
    /// Some of what is sent is lost.
    Loss,
    /// Everything takes longer.
    Slow,
    /// A connection is reset.
    Reset,
    /// A node stands still.
    Pause,
    /// A node crashes, and starts again.
    Crash,
    /// The server stands still.
    Hang,
    /// The server is down; its state is lost, or all of it or its last microseconds are not.
    Down(super::server::Left),
    /// The server forgets its scripts.
    FlushScripts,
    /// The server forgets its keys.
    FlushKeys,
    /// A node has other rules.
    Release(usize),
}

/// All of it, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The requests.
    pub asked: Vec<Asked>,
    /// The faults.
    pub episodes: Vec<Episode>,
}

/// One line for each request, then one for each fault.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, asked) in self.asked.iter().enumerate() {
            let Asked { node, key, rule, version, cost, at, answer, .. } = asked;
            write!(f, "{id} {node} key-{key} rule-{rule} {version} {cost} {at} ")?;
            match answer {
                Some(Answer { at, passes, source, .. }) => {
                    writeln!(f, "{at} {} {source}", if *passes { "allow" } else { "deny" })?;
                }
                None => writeln!(f, "{at} error failed_closed")?,
            }
        }
        for Episode { fault, node, start, end } in &self.episodes {
            let name = format!("{fault:?} {node:?}").replace(' ', "_");
            writeln!(f, "fault_start {start} {name}\nfault_end {end} {name}")?;
        }
        Ok(())
    }
}

/// A history that is being written. A handle: clones share it.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<History>>);

impl Notes {
    /// Looks at it, or changes it.
    pub fn with<T>(&self, act: impl FnOnce(&mut History) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
