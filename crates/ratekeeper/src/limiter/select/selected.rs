//! What is charged for a request, and in which order its rules answer.
//!
//! Invariant: there is a slot for each rule that applies, in the order of the file; they are left out while all of
//! them are enforced.

use crate::decision::Label;
use crate::few::Few;
use crate::key::Who;
use crate::limiter::release::Entry;
use crate::limiter::{Asked, Compiled};
use std::sync::Arc;

/// What is charged for a request.
#[derive(Clone, Default)]
pub(in crate::limiter) struct Selected {
    pub(in crate::limiter) enforced: Few<Asked>,
    pub(in crate::limiter) shadow: Vec<Asked>,
    /// Every rule that applies, in the order of the file; left out while all of them are enforced.
    pub(in crate::limiter) slots: Vec<Slot>,
    /// Whether a rule that is enforced lets nobody pass.
    pub(in crate::limiter) closed: bool,
    /// Whether it only looks, and takes nothing.
    pub(in crate::limiter) looks: bool,
}

/// One rule that applies.
#[derive(Clone)]
pub(in crate::limiter) enum Slot {
    /// The next of those that are enforced.
    Enforced,
    /// The next of those in shadow.
    Shadow,
    /// One that lets nobody pass, and whether it is in shadow.
    Closed(Arc<Label>, bool),
}

/// How a rule applies to a request.
#[derive(Clone, Copy)]
pub(in crate::limiter) enum Applies<'e> {
    /// It lets nobody pass.
    Closed,
    Limits {
        rule: &'e Arc<Compiled>,
        trial: Option<&'e Arc<Compiled>>,
        who: Who,
        cost: u64,
    },
}

impl Selected {
    /// Adds a rule that applies, behind those that are there.
    pub(in crate::limiter) fn add(&mut self, entry: &Entry, applies: Applies<'_>, shadow: bool) {
        match applies {
            Applies::Closed => {
                self.shut(Arc::clone(&entry.closed), shadow);
            }
            Applies::Limits { rule, trial, who, cost } => {
                let asked = |rule: &Arc<Compiled>| Asked { rule: Arc::clone(rule), who, cost };
                self.ask(asked(rule), shadow);
                if let Some(trial) = trial {
                    self.shadow.push(asked(trial));
                    self.place(Slot::Shadow);
                }
            }
        }
    }

    /// Adds a rule that is asked.
    pub(in crate::limiter) fn ask(&mut self, asked: Asked, shadow: bool) {
        if shadow {
            self.shadow.push(asked);
            return self.place(Slot::Shadow);
        }
        self.enforced.push(asked);
        if !self.slots.is_empty() {
            self.slots.push(Slot::Enforced);
        }
    }

    /// Adds a rule that lets nobody pass.
    pub(in crate::limiter) fn shut(&mut self, label: Arc<Label>, shadow: bool) {
        self.closed |= !shadow;
        self.place(Slot::Closed(label, shadow));
    }

    /// Adds all that is charged for another request, behind what is there.
    pub(in crate::limiter) fn append(&mut self, other: Selected) {
        let Selected { enforced, shadow, slots, closed, looks } = other;
        if !(self.slots.is_empty() && slots.is_empty()) {
            if self.slots.is_empty() {
                self.slots.resize(self.enforced.len(), Slot::Enforced);
            }
            match slots.is_empty() {
                true => self.slots.resize(self.slots.len() + enforced.len(), Slot::Enforced),
                false => self.slots.extend(slots),
            }
        }
        self.enforced.extend(enforced);
        self.shadow.extend(shadow);
        self.closed |= closed;
        self.looks |= looks;
    }

    /// Notes a place behind those before it, which are enforced if they were left out.
    fn place(&mut self, slot: Slot) {
        if self.slots.is_empty() {
            self.slots.resize(self.enforced.len(), Slot::Enforced);
        }
        self.slots.push(slot);
    }
}
