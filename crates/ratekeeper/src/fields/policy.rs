//! What callers are told of one limit, whoever asks: its policy.
//!
//! Invariant: a policy is the same in every answer, so it is written once. The names of a rule's
//! policies differ.

use super::refill::Refill;
use super::text::{SECOND, decimal, number, quoted};
use crate::decision::Decision;
use crate::limit::{Limit, Shape};
use std::sync::Arc;

/// Ticks of a millisecond.
const MILLISECOND: u64 = 1_000;

/// One limit of one rule, as callers see it.
#[derive(Debug)]
pub(crate) struct Policy {
    name: Arc<str>,
    limit: Limit,
    /// Its item of `RateLimit-Policy`: `"api";q=600;w=60;ratekeeper-burst=20`.
    item: Box<str>,
    /// The same as drafts 06 and 07 had it: `600;w=60`.
    older_item: Box<str>,
    /// What its item of `RateLimit` begins with: `"api";r=`.
    left: Box<str>,
    refill: Refill,
}

impl Policy {
    /// The policies of a rule's limits, each with a name of its own: the rule's, and if there are
    /// several, the period, too.
    pub(crate) fn all(rule: &Arc<str>, limits: &[Limit]) -> Box<[Policy]> {
        let limited: Vec<(&Limit, Refill)> =
            limits.iter().filter_map(|limit| Some((limit, Refill::of(limit)?))).collect();
        let several = limited.len() > 1;
        let mut policies: Vec<Policy> = Vec::with_capacity(limited.len());
        for (limit, refill) in limited {
            let name = if several { unused(rule, limit, &policies) } else { Arc::clone(rule) };
            policies.push(Policy::new(name, limit, refill));
        }
        policies.into()
    }

    fn new(name: Arc<str>, limit: &Limit, refill: Refill) -> Policy {
        let (mut item, mut older_item) = (String::new(), String::new());
        quoted(&mut item, &name);
        let left = format!("{item};r=").into();
        item.push_str(";q=");
        let amount = limit.amount().unwrap_or(0);
        number(&mut item, amount);
        number(&mut older_item, amount);
        match limit.shape() {
            Shape::Rate(rate) => {
                let period = rate.period.get();
                window(&mut item, period);
                window(&mut older_item, period);
                if rate.burst != rate.amount {
                    item.push_str(";ratekeeper-burst=");
                    number(&mut item, rate.burst.get());
                }
            }
            Shape::Concurrent(_) => item.push_str(r#";qu="concurrent-requests""#),
            Shape::Unlimited => {}
        }
        let (limit, item, older_item) = (*limit, item.into(), older_item.into());
        Policy { name, limit, item, older_item, left, refill }
    }

    /// The name that callers see.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(super) fn item(&self) -> &str {
        &self.item
    }

    pub(super) fn older_item(&self) -> &str {
        &self.older_item
    }

    /// Writes its item of `RateLimit`: `"api";r=19;t=2`.
    #[inline]
    pub(super) fn write_left(&self, text: &mut String, decision: &Decision) {
        text.push_str(&self.left);
        number(text, decision.remaining());
        if let Some(seconds) = self.more_seconds(decision) {
            text.push_str(";t=");
            number(text, seconds);
        }
    }

    /// Writes `RateLimit` as draft 07 had it: `limit=100, remaining=0, reset=12`.
    pub(super) fn write_draft_07(&self, text: &mut String, decision: &Decision) {
        text.clear();
        text.push_str("limit=");
        number(text, decision.limit());
        text.push_str(", remaining=");
        number(text, decision.remaining());
        if let Some(seconds) = self.more_seconds(decision) {
            text.push_str(", reset=");
            number(text, seconds);
        }
    }

    /// Seconds until there is more: see [`Refill`].
    #[inline]
    pub(crate) fn more_seconds(&self, decision: &Decision) -> Option<u64> {
        self.refill.seconds(decision)
    }
}

/// Whole seconds are what the draft has a parameter for; other windows have one of ours.
fn window(text: &mut String, period: u64) {
    if period.is_multiple_of(SECOND) {
        text.push_str(";w=");
        number(text, period / SECOND);
    } else {
        text.push_str(";ratekeeper-window-ms=");
        decimal(text, period, MILLISECOND);
    }
}

/// `api-minute`, `api-1h30m` or `api-concurrent`; with a number from 2 on if that is there already.
fn unused(rule: &str, limit: &Limit, known: &[Policy]) -> Arc<str> {
    let limit = limit.to_string();
    let suffix = match limit.split_once('/') {
        Some((_, period)) => period.split(' ').next().unwrap_or(period),
        None => "concurrent",
    };
    let plain = format!("{rule}-{suffix}");
    let same = |name: &str| known.iter().any(|policy| *policy.name == *name);
    if !same(&plain) {
        return plain.into();
    }
    // Each number that is taken is another policy's, so one of these is free.
    let mut numbered = (2..known.len() + 3).map(|nth| format!("{plain}-{nth}"));
    numbered.find(|name| !same(name)).unwrap_or(plain).into()
}
