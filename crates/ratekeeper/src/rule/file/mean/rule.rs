//! Rules.
//!
//! Invariant: no two rules that are returned have the same id.

use super::super::error::{Place, quoted};
use super::super::shape;
use super::super::tree::{Node, Value};
use super::limits::How;
use super::{Fields, Reader};
use crate::limiter::OnStoreFailure;
use crate::rule::{
    Consistency, CostSpec, Count, KeyKind, KeySpec, Limits, Match, OnMissing, Rollout, RuleSpec,
    Scope,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Longest condition.
const WHEN_MAX: usize = 1_024;

/// A rule, and how its limits count.
pub(super) struct Draft {
    pub(super) spec: RuleSpec,
    pub(super) how: How,
    /// Whether something in it is wrong, which was told.
    pub(super) faulty: bool,
}

impl Reader<'_> {
    /// All rules; those without an id are left out.
    pub(super) fn rules(&mut self, nodes: &[&Node<'_>]) -> Vec<Draft> {
        let mut ids: HashMap<Arc<str>, Place> = HashMap::with_capacity(nodes.len());
        let mut drafts = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some((at, draft)) = self.rule(node) else { continue };
            match ids.get(&draft.spec.id) {
                None => {
                    ids.insert(Arc::clone(&draft.spec.id), at);
                    drafts.push(draft);
                }
                Some(first) => {
                    let id = &draft.spec.id;
                    let fault =
                        format!("the rule at {} has the id `{id}`, too", self.shown(*first));
                    self.fault(at, fault, "give one of them another");
                }
            }
        }
        drafts
    }

    fn rule(&mut self, node: &Node<'_>) -> Option<(Place, Draft)> {
        let before = self.faults.told();
        let rule = self.fields(node, &shape::RULE)?;
        let id = rule.get("id").and_then(|node| self.name(node, "id"));
        let name = rule.get("name").and_then(|node| self.name(node, "name"));
        let domain = rule.get("domain").and_then(|node| self.text(node, "domain")).map(Arc::from);
        let serves = rule.get("domain").is_some();
        let matches = rule.get("match").and_then(|node| self.matches(node, serves));
        let when = rule.get("when").and_then(|node| self.when(node));
        let key = rule.get("key").and_then(|node| self.key(node, serves));
        let mut how = self.how(&rule);
        how.part = rule.get("regions").and_then(|node| self.part_of_region(node));
        let limits = self.live(&rule, &how);
        let trial = rule.get("trial").and_then(|node| self.limits(node, "trial", &how));
        let cost = rule.get("cost").and_then(|node| self.cost(node));
        let settle = rule.get("settle").and_then(|node| self.settle(node));
        if serves {
            self.honoured_by_envoy(&rule);
        }
        let spec = RuleSpec {
            id: id?,
            name,
            domain,
            matches: matches.unwrap_or_else(Match::default),
            when,
            key: key
                .unwrap_or_else(|| KeySpec::of(if serves { KeyKind::Global } else { KeyKind::Ip })),
            on_missing: self.choice(&rule, "on_missing", &shape::MISSING, |word| match word {
                0 => OnMissing::Ip,
                1 => OnMissing::Skip,
                _ => OnMissing::Deny,
            }),
            limits: limits.unwrap_or(Limits::Closed),
            trial,
            cost: cost.unwrap_or(CostSpec::Fixed(1)),
            settle,
            count: self.choice(&rule, "count", &shape::COUNT, |word| match word {
                0 => Count::All,
                _ => Count::Failures,
            }),
            rollout: rule.get("rollout").and_then(|node| self.rollout(node)).unwrap_or_default(),
            scope: self.choice(&rule, "scope", &shape::SCOPE, |word| match word {
                0 => Scope::Fleet,
                _ => Scope::Instance,
            }),
            on_store_failure: self.choice(&rule, "on_store_failure", &shape::FAILURE, |word| {
                match word {
                    0 => OnStoreFailure::Allow,
                    1 => OnStoreFailure::Deny,
                    _ => OnStoreFailure::Local,
                }
            }),
            consistency: self.choice(
                &rule,
                "consistency",
                &shape::CONSISTENCY,
                |word| match word {
                    0 => Consistency::Exact,
                    1 => Consistency::Leased,
                    _ => Consistency::Auto,
                },
            ),
        };
        let at = rule.get("id").map_or(rule.at, |node| node.at);
        Some((at, Draft { spec, how, faulty: self.faults.told() > before }))
    }

    /// One of a few words, or what it is unless said.
    fn choice<T: Default>(
        &mut self,
        rule: &Fields<'_, '_>,
        field: &'static str,
        words: &[&str],
        meaning: impl Fn(usize) -> T,
    ) -> T {
        let word = rule.get(field).and_then(|node| self.word(node, field, words));
        word.map(meaning).unwrap_or_default()
    }

    /// `limit`, or `deny: true`.
    fn live(&mut self, rule: &Fields<'_, '_>, how: &How) -> Option<Limits> {
        let deny = rule.get("deny");
        let denies = deny.is_some_and(|node| self.yes(node, "deny").unwrap_or(true));
        match (rule.get("limit"), deny) {
            (Some(_), Some(node)) if denies => {
                let repair = "keep `deny` to close the route, or `limit` to limit it";
                self.fault(node.at, "a rule has `limit` and `deny`", repair);
                None
            }
            (Some(node), _) => {
                let limits = self.limits(node, "limit", how)?;
                self.fits(rule, &limits);
                Some(limits)
            }
            (None, _) if denies => {
                self.fits(rule, &Limits::Closed);
                Some(Limits::Closed)
            }
            (None, _) => {
                let said = rule.entries.iter().any(|(name, _)| name.text() == Some("limit"));
                if !said && !rule.meant("limit") && !rule.meant("deny") {
                    let repair = "add `limit: 100/minute`, or `deny: true` to close the route";
                    self.fault(rule.at, "a rule has no `limit`", repair);
                }
                None
            }
        }
    }

    #[cfg(feature = "cel")]
    fn when(&mut self, node: &Node<'_>) -> Option<Arc<str>> {
        let text = self.long_text(node, "when", WHEN_MAX)?;
        if let Err(message) = crate::rule::when::check(text) {
            let repair = "write a condition such as `method == \"POST\"`";
            self.passed_on(node.at, &message, repair);
            return None;
        }
        Some(text.into())
    }

    #[cfg(not(feature = "cel"))]
    fn when(&mut self, node: &Node<'_>) -> Option<Arc<str>> {
        self.long_text(node, "when", WHEN_MAX)?;
        let fault = "`when` needs the feature `cel`, which this build leaves out";
        self.fault(node.at, fault, "turn it on, or write the condition as `match`");
        None
    }

    fn cost(&mut self, node: &Node<'_>) -> Option<CostSpec> {
        let range = 1..=shape::COST_MAX;
        let Value::Map(_) = node.value() else {
            return self.whole(node, "cost", range).map(CostSpec::Fixed);
        };
        let cost = self.fields(node, &shape::COST)?;
        let name = cost.get("header").and_then(|node| {
            let text = self.text(node, "header")?;
            self.header(node.at, "header", text)
        });
        let max = cost.get("max").and_then(|node| self.whole(node, "max", range.clone()));
        let default = match cost.get("default") {
            Some(node) => {
                let default = self.whole(node, "default", range)?;
                if let Some(max) = max.filter(|max| default > *max) {
                    let fault = format!("`default` is {default}, above `max`");
                    self.fault(node.at, fault, format!("write {max} or less"));
                }
                default
            }
            None => 1,
        };
        Some(CostSpec::Header { name: name?, default, max: max? })
    }

    fn settle(&mut self, node: &Node<'_>) -> Option<Arc<str>> {
        let node = self.fields(node, &shape::SETTLE)?.get("response_header")?;
        let text = self.text(node, "response_header")?;
        self.header(node.at, "response_header", text)
    }

    fn rollout(&mut self, node: &Node<'_>) -> Option<Rollout> {
        match node.text() {
            Some("off") => return Some(Rollout::Off),
            Some("shadow") => return Some(Rollout::Shadow),
            _ => {}
        }
        let text = self.text(node, "rollout")?;
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.percent(node, "rollout", 0..=100).map(Rollout::Percent);
        }
        let repair = "write `off`, `shadow`, or so many percent of keys, such as `10%`";
        self.fault(node.at, format!("`rollout` cannot be {}", quoted(text)), repair);
        None
    }

    /// `regions`: the part of this server's.
    fn part_of_region(&mut self, node: &Node<'_>) -> Option<u8> {
        let Value::Map(entries) = node.value() else {
            self.fault(node.at, "`regions` is not a map", "write `{eu: 60%, us: 40%}`");
            return None;
        };
        let (mut sum, mut own) = (0_u32, None);
        for (name, value) in entries {
            let region = self.name(name, "regions");
            let Some(percent) = self.percent(value, "regions", 1..=100) else { continue };
            sum += u32::from(percent);
            own = own.or((region.is_some() && region == self.region).then_some(percent));
        }
        if sum > 100 {
            let fault = format!("the parts of all regions are {sum}%");
            self.fault(node.at, fault, "write parts that are 100% together, or less");
        }
        let listed =
            |region: &Arc<str>| entries.iter().any(|(name, _)| name.text() == Some(region));
        match self.region.clone() {
            None => {
                let repair = "add `region: …` at the top, one of these";
                self.fault(node.at, "`regions` needs to know the region of this server", repair);
            }
            Some(region) if !listed(&region) => {
                let fault = format!("`regions` has no part for this server's region, `{region}`");
                self.fault(node.at, fault, format!("add `{region}: 10%`, or how much it has"));
            }
            Some(_) => {}
        }
        own
    }

    /// Faults of what a rule for Envoy cannot have.
    fn honoured_by_envoy(&mut self, rule: &Fields<'_, '_>) {
        for field in ["settle", "count"] {
            if let Some(node) = rule.get(field) {
                let fault =
                    format!("`{field}` cannot be kept for Envoy, whose answers are not seen");
                self.fault(node.at, fault, "leave it out, or take out the `domain`");
            }
        }
        if let Some(Value::Map(_)) = rule.get("cost").map(Node::value) {
            let at = rule.get("cost").map_or(rule.at, |node| node.at);
            let fault = "`cost` from a header field cannot be kept for Envoy, which sends none";
            self.fault(at, fault, "leave it out, Envoy says how many hits a request has");
        }
    }
}
