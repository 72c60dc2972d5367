//! How much: limits, for all or by tier, and how they count.
//!
//! Invariant: limits that are returned were built with everything that the rule says of them.

use super::super::error::{quoted, split};
use super::super::near::near;
use super::super::shape;
use super::super::tree::{Node, Value};
use super::{FEW, Fields, Reader};
use crate::algorithm::Algorithm;
use crate::limit::{Limit, LimitError};
use crate::rule::Limits;
use std::sync::Arc;
use std::time::Duration;

/// Most limits of a rule, for one tier.
pub const LIMITS_MAX: usize = 16;

/// How the limits of a rule count.
#[derive(Clone, Copy, Default)]
pub(super) struct How {
    algorithm: Option<Algorithm>,
    shaping: bool,
    max_wait: Option<Duration>,
    hold: Option<Duration>,
    /// The part of the region, in percent.
    pub(super) part: Option<u8>,
    /// Whether the rule serves Envoy, which gives no permits back.
    pub(super) domain: bool,
    /// Whether it is an override's, which cannot close.
    single: bool,
}

impl How {
    /// The same for one key.
    pub(super) fn for_one_key(self) -> How {
        How { single: true, ..self }
    }

    /// The limit, counted so.
    fn apply(&self, limit: Limit) -> Result<Limit, LimitError> {
        let Some(mut builder) = limit.figures() else { return Ok(limit) };
        if limit.period().is_some() {
            builder = match self.algorithm {
                Some(algorithm) => builder.algorithm(algorithm),
                None => builder,
            };
            builder = if self.shaping { builder.shaping() } else { builder };
            builder = match self.max_wait {
                Some(max_wait) if self.shaping => builder.max_wait(max_wait),
                _ => builder,
            };
        } else if let Some(hold) = self.hold {
            builder = builder.hold(hold);
        }
        let limit = builder.build()?;
        self.part.map_or(Ok(limit), |percent| limit.part(percent))
    }
}

impl Reader<'_> {
    /// `algorithm`, `mode`, `max_wait` and `hold` of a rule.
    pub(super) fn how(&mut self, rule: &Fields<'_, '_>) -> How {
        let names = Algorithm::ALL.map(Algorithm::name);
        let algorithm = rule.get("algorithm").and_then(|node| self.word(node, "algorithm", &names));
        let algorithm = algorithm.map(|number| Algorithm::ALL[number]);
        let mode = rule.get("mode").and_then(|node| self.word(node, "mode", &shape::MODE));
        let shaping = mode == Some(1);
        let queues = algorithm == Some(Algorithm::LeakyBucket);
        if let Some(node) = rule.get("mode").filter(|_| shaping && !queues) {
            let fault = "`mode: shaping` is for leaky buckets";
            self.fault(node.at, fault, "write `algorithm: leaky_bucket` beside it");
        }
        let max_wait = rule.get("max_wait").and_then(|node| self.length(node, "max_wait"));
        if let Some(node) = rule.get("max_wait").filter(|_| !shaping) {
            let repair = "write `mode: shaping` beside it, or leave it out";
            self.fault(node.at, "`max_wait` is for shaping", repair);
        }
        let hold = rule.get("hold").and_then(|node| self.length(node, "hold"));
        let shaping = shaping && queues;
        How {
            algorithm,
            shaping,
            max_wait,
            hold,
            part: None,
            domain: rule.get("domain").is_some(),
            single: false,
        }
    }

    /// `limit` or `trial` of a rule.
    pub(super) fn limits(&mut self, node: &Node<'_>, field: &str, how: &How) -> Option<Limits> {
        let Value::Map(entries) = node.value() else {
            return self.several(node, field, how).map(Limits::Same);
        };
        let mut by_tier: Vec<Option<Vec<Limit>>> = vec![None; self.tiers.len()];
        let mut whole = true;
        for (name, value) in entries {
            let tier = self.tier(name);
            let limits = self.several(value, field, how);
            whole &= tier.is_some() && limits.is_some();
            if let Some(tier) = tier {
                // What is faulty is there all the same.
                by_tier[tier] = Some(limits.unwrap_or_default());
            }
        }
        let unknown = entries.iter().filter_map(|(name, _)| name.text());
        let unknown = unknown.filter(|text| self.tiers.iter().all(|tier| **tier != **text));
        let names = || self.tiers.iter().map(|tier| &**tier);
        let meant: Vec<&str> = unknown.take(FEW).filter_map(|text| near(text, names())).collect();
        let missing: Vec<Arc<str>> = (self.tiers.iter().zip(&by_tier))
            .filter(|(tier, limits)| limits.is_none() && !meant.contains(&&***tier))
            .map(|(tier, _)| Arc::clone(tier))
            .collect();
        for tier in missing {
            let fault = format!("`{field}` has none for the tier `{tier}`");
            let repair = format!("add `{tier}: unlimited`, or how much it has");
            self.fault(node.at, fault, repair);
            whole = false;
        }
        let by_tier = by_tier.into_iter().flatten().collect();
        whole.then_some(Limits::ByTier(by_tier))
    }

    /// A tier by its name, as its number.
    pub(super) fn tier(&mut self, node: &Node<'_>) -> Option<usize> {
        let text = self.text(node, "tier")?;
        let found = self.tiers.iter().position(|tier| **tier == *text);
        if found.is_none() {
            let repair = match near(text, self.tiers.iter().map(|tier| &**tier)) {
                Some(near) => format!("write `{near}`"),
                None if self.tiers.is_empty() => {
                    "name the tiers at the top, `tiers: [free, pro]`".into()
                }
                None => format!("add it to `tiers`, or write one of {}", self.tiers.join(", ")),
            };
            self.fault(node.at, format!("there is no tier {}", quoted(text)), repair);
        }
        found
    }

    /// One limit or a list of them, for one tier.
    pub(super) fn several(
        &mut self,
        node: &Node<'_>,
        field: &str,
        how: &How,
    ) -> Option<Vec<Limit>> {
        let items = self.items(node, field);
        if items.len() > LIMITS_MAX {
            let fault = format!("`{field}` has more than {LIMITS_MAX} limits");
            self.fault(
                node.at,
                fault,
                "most of them can never be the first to refuse, so leave them out",
            );
            return None;
        }
        let limits: Vec<_> = items.iter().map(|item| self.limit(item, field, how)).collect();
        let limits: Vec<Limit> = limits.into_iter().collect::<Option<_>>()?;
        let rates = limits.iter().filter(|limit| limit.period().is_some()).count();
        if how.shaping && rates > 1 {
            let fault = format!("`{field}` has {rates} rates to shape by");
            self.fault(node.at, fault, "keep one, and put the others into a rule of their own");
            return None;
        }
        (!limits.is_empty()).then_some(limits)
    }

    fn limit(&mut self, node: &Node<'_>, field: &str, how: &How) -> Option<Limit> {
        let text = self.text(node, field)?;
        let limit = match text.parse::<Limit>() {
            Ok(limit) => limit,
            Err(error) => {
                let (fault, mut repair) = split(&error.to_string(), "");
                if how.single && repair.contains("`deny: true`") {
                    repair = "write a small one, such as `1/day`".into();
                }
                let unsplit =
                    || fault.split_once(": ").map(|(at, rest)| (at.to_owned(), rest.to_owned()));
                match unsplit().filter(|_| repair.is_empty()) {
                    // Some say no more than what to write.
                    Some((at, rest)) => self.fault(node.at, format!("{at} is not a limit"), rest),
                    None => self.fault(node.at, fault, repair),
                }
                return None;
            }
        };
        if how.domain && limit.hold().is_some() {
            let fault =
                format!("{} cannot be kept for Envoy, which gives no permits back", quoted(text));
            self.fault(node.at, fault, "write an amount per period, such as `100/minute`");
            return None;
        }
        match how.apply(limit) {
            Ok(limit) => Some(limit),
            Err(error) => {
                let message = format!("{}: {error}", quoted(text));
                self.passed_on(node.at, &message, "write one such as `100/minute`");
                None
            }
        }
    }

    /// Faults of what a rule says about kinds of limits that it has not.
    pub(super) fn fits(&mut self, rule: &Fields<'_, '_>, limits: &Limits) {
        let all: Vec<&Limit> = match limits {
            Limits::Closed => Vec::new(),
            Limits::Same(limits) => limits.iter().collect(),
            Limits::ByTier(tiers) => tiers.iter().flatten().collect(),
        };
        let rates = all.iter().any(|limit| limit.period().is_some());
        let permits = all.iter().any(|limit| limit.hold().is_some());
        for field in ["algorithm", "mode"] {
            if let Some(node) = rule.get(field).filter(|_| !rates && permits) {
                let fault = format!("`{field}` is for amounts per period");
                self.fault(node.at, fault, "leave it out of a rule that limits how many at a time");
            }
        }
        if let Some(node) = rule.get("hold").filter(|_| !permits) {
            let fault = "`hold` is for limits of how many at a time";
            self.fault(node.at, fault, "leave it out, or write a limit such as `4 concurrent`");
        }
        self.can_lease(rule, &all);
    }

    /// Where units are taken ahead, no request has a charge, a turn or a permit of its own.
    fn can_lease(&mut self, rule: &Fields<'_, '_>, limits: &[&Limit]) {
        let leases = |node: &&Node<'_>| matches!(node.text(), Some("leased" | "auto"));
        let Some(node) = rule.get("consistency").filter(leases) else { return };
        let says = |field, word| rule.get(field).is_some_and(|node| node.text() == Some(word));
        let reason = if limits.iter().any(|limit| limit.hold().is_some()) {
            "permits, each of which somebody holds"
        } else if limits.iter().any(|limit| limit.is_shaping()) {
            "a line, in which each request has its turn"
        } else if rule.get("settle").is_some() || says("count", "failures") {
            "charges that are changed by the answer, so that each request needs its own"
        } else if says("scope", "instance") {
            "a server that counts by itself, and shares nothing"
        } else {
            return;
        };
        let fault = format!("units cannot be taken ahead of {reason}");
        self.fault(node.at, fault, "leave `consistency` out, or write `exact`");
    }
}
