//! What callers are told of one limit, whoever asks: its policy.
//!
//! Invariant: a policy is the same in every answer, so it is written once.

use crate::limit::Limit;
use std::sync::Arc;

/// One limit of one rule, as callers see it.
#[derive(Debug)]
pub(crate) struct Policy {
    name: Arc<str>,
    limit: Limit,
}

impl Policy {
    /// The policies of a rule's limits, each with a name of its own.
    pub(crate) fn all(rule: &Arc<str>, limits: &[Limit]) -> Box<[Policy]> {
        let limited = limits.iter().filter(|limit| limit.amount().is_some());
        limited.map(|limit| Policy { name: Arc::clone(rule), limit: *limit }).collect()
    }
}
