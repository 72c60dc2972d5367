//! The limits that a history is judged by, as a rule file has them.
//!
//! A rule with tiers or overrides has several sets of limits, and a history does not say which was whose.
//! Invariant: a key is at fault only if it is under every set that it can have had: one that passed too much
//! under the largest, one that was refused without need under the smallest.

use ratekeeper::rule::file::RuleFile;
use ratekeeper::rule::{Consistency, Count, Limits, Rollout, RuleSpec, Scope};
use ratekeeper::{Algorithm, Limit};
use std::collections::BTreeMap;

/// Most different sets of limits of one rule; a rule with more is not judged.
pub const SETS_MAX: usize = 32;

/// What a server may take ahead is one in so many units of the burst, shared by all servers.
const LEASED_PART: u64 = 20;

/// How long a server keeps what it took ahead, in ticks.
pub(super) const LEASE_TICKS: u64 = 1_000_000;

/// An amount per period that can be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) algorithm: Algorithm,
    pub(super) amount: u64,
    pub(super) burst: u64,
    /// In ticks.
    pub(super) period: u64,
    /// As rule files have it.
    pub(super) text: String,
}

impl Rate {
    fn of(limit: &Limit) -> Option<Rate> {
        let (algorithm, period) = (limit.algorithm()?, limit.period()?);
        Some(Rate {
            algorithm,
            amount: limit.amount()?,
            burst: limit.burst()?,
            period: u64::try_from(period.as_micros()).ok()?.max(1),
            text: format!("{limit}, {}", algorithm.name()),
        })
    }

    /// What the servers may have taken ahead, together.
    pub(super) fn leased(&self, nodes: u32) -> u64 {
        let nodes = u64::from(nodes.max(1));
        nodes.saturating_mul((self.burst / LEASED_PART.saturating_mul(nodes)).max(1))
    }
}

/// How one rule is judged.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    /// The sets of limits that a key can have.
    pub(super) sets: Vec<Vec<Rate>>,
    /// Whether servers take units ahead.
    pub(super) leased: bool,
    /// Whether each server counts by itself.
    pub(super) by_node: bool,
    /// Whether all of its limits can be judged, so that a refusal must come from one of them.
    pub(super) whole: bool,
    /// What cannot be judged, and why.
    pub(super) notes: Vec<String>,
}

/// The limits of all rules, and the size of the fleet.
#[derive(Clone, Debug)]
pub struct Rulebook {
    pub(super) rules: BTreeMap<String, Judged>,
    pub(super) nodes: u32,
}

impl Rulebook {
    /// Those of a rule file, for so many servers; as many as the file says, unless said.
    pub fn new(file: &RuleFile, nodes: Option<u32>) -> Rulebook {
        let nodes = nodes.or(file.settings.nodes).unwrap_or(1).max(1);
        let rules = file.rules.rules.iter().map(|rule| {
            let own = file.rules.overrides.iter().filter(|other| other.rule == rule.id);
            (rule.id.to_string(), judged(rule, own.map(|other| &other.limits)))
        });
        Rulebook { rules: rules.collect(), nodes }
    }

    /// How many servers there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
}

/// Why a rule cannot be judged at all.
fn refused(rule: &RuleSpec) -> Option<&'static str> {
    if rule.settle.is_some() || rule.count != Count::All {
        return Some("what it charged is settled later");
    }
    if rule.rollout != Rollout::Percent(100) {
        return Some("it is not enforced for everybody");
    }
    (rule.limits == Limits::Closed).then_some("it is closed")
}

fn judged<'a>(rule: &'a RuleSpec, overrides: impl Iterator<Item = &'a Vec<Limit>>) -> Judged {
    let mut judged = Judged {
        leased: rule.consistency != Consistency::Exact && rule.scope == Scope::Fleet,
        by_node: rule.scope == Scope::Instance,
        ..Judged::default()
    };
    if let Some(why) = refused(rule) {
        judged.notes.push(format!("not judged: {why}"));
        return judged;
    }
    let own: Vec<&Vec<Limit>> = match &rule.limits {
        Limits::Closed => Vec::new(),
        Limits::Same(limits) => vec![limits],
        Limits::ByTier(tiers) => tiers.iter().collect(),
    };
    judged.whole = true;
    for limits in own.into_iter().chain(overrides) {
        let mut rates = Vec::new();
        for limit in limits {
            match Rate::of(limit) {
                Some(rate) if !limit.is_shaping() => rates.push(rate),
                None if limit.amount().is_none() => {}
                _ => {
                    judged.whole = false;
                    let kind = if limit.is_shaping() { "shaping" } else { "a concurrency limit" };
                    let note = format!("not judged: {kind} ({limit}), and no refusal of this rule");
                    if !judged.notes.contains(&note) {
                        judged.notes.push(note);
                    }
                }
            }
        }
        if !judged.sets.contains(&rates) {
            judged.sets.push(rates);
        }
        if judged.sets.len() > SETS_MAX {
            let notes = vec![format!("not judged: more than {SETS_MAX} sets of limits")];
            return Judged { notes, ..Judged::default() };
        }
    }
    if judged.sets.len() > 1 {
        judged.notes.push(format!(
            "{} sets of limits (tiers, overrides): too much is judged by the largest, a needless refusal \
             by the smallest",
            judged.sets.len()
        ));
    }
    judged
}
