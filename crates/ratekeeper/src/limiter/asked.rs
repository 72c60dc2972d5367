//! What is asked of the store for a request: rules that are ready to run, keys, and costs.
//!
//! Invariant: each limit of a rule has one meter, in the order of the limits; unlimited ones have none.

use super::compile::Manner;
#[cfg(feature = "redis")]
use super::shared::Share;
use crate::decision::Label;
use crate::key::Who;
use crate::limit::Limit;
use crate::store::{Charge, Meter};
use std::sync::Arc;

/// A rule, ready to run: one meter for each limit; none if it is unlimited.
pub(super) struct Compiled {
    pub(super) label: Arc<Label>,
    pub(super) meters: Vec<Meter>,
    /// Whether all its limits are rates under which what is admitted passes at once.
    pub(super) plain: bool,
    pub(super) limits: Box<[Limit]>,
    pub(super) manner: Manner,
    /// The same without its concurrency limits, if it has some, and others beside them.
    pub(super) rates: Option<Arc<Compiled>>,
    /// What this server may admit by itself while the shared store is away.
    #[cfg(feature = "redis")]
    pub(super) share: Share,
}

/// A rule, the key that is asked under it, and what it is charged.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) rule: Arc<Compiled>,
    pub(super) who: Who,
    pub(super) cost: u64,
}

impl Compiled {
    /// The rule's id.
    pub(super) fn id(&self) -> &Arc<str> {
        &self.label.id
    }

    /// Whether it takes one look at one bucket, and nothing after it.
    pub(super) fn is_simple(&self) -> bool {
        self.plain && self.meters.len() == 1 && !self.manner.after.is_needed()
    }

    /// The same without its concurrency limits, for doors that are not told when a request has ended;
    /// `None` if nothing is left of it.
    pub(super) fn without_permits(self: &Arc<Self>) -> Option<&Arc<Compiled>> {
        match self.meters.iter().any(|meter| meter.hold().is_some()) {
            true => self.rates.as_ref(),
            false => Some(self),
        }
    }

    /// A charge for each limit.
    pub(super) fn charges(&self, fingerprint: u64, cost: u64) -> impl Iterator<Item = Charge<'_>> {
        self.meters.iter().map(move |meter| Charge::new(meter, fingerprint, cost))
    }
}

/// A charge for each limit of each rule.
pub(super) fn charges(rules: &[Asked]) -> Vec<Charge<'_>> {
    rules.iter().flat_map(|asked| asked.rule.charges(asked.who.local, asked.cost)).collect()
}
