//! Releases: rule sets made ready to run, numbered, one at a time.
//!
//! Invariant: a request is decided by one release from end to end; the next one takes its place in one
//! step, between requests.

mod found;
mod reached;

use super::compile::{After, Manner, OnStoreFailure, compile};
use super::{Compiled, Limiter};
use crate::decision::Label;
use crate::identity::Identity;
use crate::key::{Secret, Who};
use crate::limit::Limit;
use crate::rule::index::Index;
use crate::rule::when::Condition;
use crate::rule::{
    Consistency, CostSpec, Count, Exempt, FieldForms, KeyKind, Limits, Match, RuleSet, RuleSpec,
    Scope,
};
use found::{Finder, exempt_index};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What follows the name of a rule where its limits on trial are told. No rule has a space in its name.
pub(super) const TRIAL: &str = " trial";

/// Rules that are freed in no time.
const FREED_AT_ONCE: usize = 1_000;

/// How often to look whether nobody decides by a former release any more, and how long between two looks.
const LOOKS_MAX: usize = 100;
const LOOK: Duration = Duration::from_millis(1);

pub(super) struct Release {
    pub(super) version: u64,
    pub(super) entries: Vec<Entry>,
    /// Entries by id.
    names: HashMap<Arc<str>, u32>,
    pub(super) finder: Finder,
    pub(super) identity: Identity,
    pub(super) tiers: Vec<Arc<str>>,
    pub(super) exempt: Vec<Exempt>,
    /// Which of them may be for a host and a path.
    pub(super) exempt_index: Index,
    pub(super) forms: FieldForms,
    /// Whether any rule looks at the path, which then has to be one that all agree on.
    pub(super) looks_at_path: bool,
}

/// The release before, if there is one, and the time at which it ends.
type Former<'a> = Option<(&'a Release, u64)>;

/// One rule of a release.
pub(super) struct Entry {
    pub(super) spec: RuleSpec,
    pub(super) when: Option<Condition>,
    /// One for all tiers, or one for each; none if the rule is closed.
    pub(super) live: Vec<Arc<Compiled>>,
    pub(super) trial: Vec<Arc<Compiled>>,
    /// What is told of the rule where it is closed.
    pub(super) closed: Arc<Label>,
    pub(super) overrides: HashMap<Who, Overridden>,
}

/// Other limits for one key.
pub(super) struct Overridden {
    pub(super) rule: Arc<Compiled>,
    /// The tick from which on it is over.
    pub(super) until: u64,
}

impl Release {
    pub(super) fn new(secret: &Secret, set: RuleSet, version: u64, former: Former<'_>) -> Release {
        let RuleSet { tiers, exempt, rules, overrides, identity, fields } = set;
        let looks_at_path = rules.iter().any(looks_at_path)
            || exempt.iter().any(|Exempt { matches, .. }| {
                !matches.paths.is_empty() || !matches.except.is_empty()
            });
        let mut entries: Vec<Entry> = rules
            .into_iter()
            .map(|spec| Entry::new(secret, spec, version, &tiers, former))
            .collect();
        let named = |(number, entry): (usize, &Entry)| (Arc::clone(&entry.spec.id), number as u32);
        let names: HashMap<_, _> = entries.iter().enumerate().map(named).collect();
        let mut stand_ins = Vec::new();
        for own in &overrides {
            let Some(number) = names.get(&own.rule).map(|number| *number as usize) else {
                continue;
            };
            let entry = &mut entries[number];
            let until = own.until.map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000_000));
            let manner = Manner::of(&entry.spec, version);
            let mut rule = compile(secret, &entry.spec.id, &own.limits, &manner);
            if let Some((former, now)) = former
                && let Some(former) = former.find(&own.rule)
            {
                former.all().for_each(|former| rule.follow(former, now));
            }
            let rule = Arc::new(rule);
            let (meant, stood) = entry.callers(secret, &identity, &own.key);
            for who in meant {
                entry.overrides.insert(who, Overridden { rule: Arc::clone(&rule), until });
            }
            let stood = stood.into_iter();
            stand_ins.extend(stood.map(|who| (number, who, Arc::clone(&rule), until)));
        }
        // An address that stands in for somebody has what was said of it by itself, if anything was.
        for (number, who, rule, until) in stand_ins {
            entries[number].overrides.entry(who).or_insert(Overridden { rule, until });
        }
        let (finder, exempt_index) = (Finder::new(&entries), exempt_index(&exempt));
        Release {
            version,
            entries,
            names,
            finder,
            identity,
            tiers,
            exempt,
            exempt_index,
            forms: fields,
            looks_at_path,
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.number(name).map(|number| &self.entries[number as usize])
    }

    /// The number of a rule among the entries.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// Rules that are asked of a shared store, and refuse while it is away.
    pub(super) fn denying(&self) -> impl Iterator<Item = &RuleSpec> {
        let asks = |entry: &&Entry| !entry.live.is_empty() && entry.spec.scope == Scope::Fleet;
        let specs = self.entries.iter().filter(asks).map(|entry| &entry.spec);
        specs.filter(|spec| spec.on_store_failure == OnStoreFailure::Deny)
    }

    /// The number of a tier; that of the first if there is none of this name.
    pub(super) fn tier(&self, name: Option<&str>) -> usize {
        name.and_then(|name| self.tiers.iter().position(|tier| **tier == *name)).unwrap_or(0)
    }
}

impl Entry {
    fn new(
        secret: &Secret,
        spec: RuleSpec,
        version: u64,
        tiers: &[Arc<str>],
        former: Former<'_>,
    ) -> Entry {
        let manner = Manner::of(&spec, version);
        let former = former.and_then(|(old, now)| Some((old, old.find(&spec.id)?, now)));
        let rule = |id: &Arc<str>, limits: &[Limit], tier: usize| {
            let mut rule = compile(secret, id, limits, &manner);
            if let Some((old, former, now)) = former {
                let tier = old.tier(tiers.get(tier).map(|tier| &**tier));
                let live = *id == spec.id;
                let former = if live { former.limited(tier) } else { former.tried(tier) };
                former.into_iter().for_each(|former| rule.follow(former, now));
            }
            Arc::new(rule)
        };
        let all = |id: &Arc<str>, limits: &Limits| match limits {
            Limits::Closed => Vec::new(),
            Limits::Same(limits) => vec![rule(id, limits, 0)],
            Limits::ByTier(tiers) => {
                tiers.iter().enumerate().map(|(tier, limits)| rule(id, limits, tier)).collect()
            }
        };
        let live = all(&spec.id, &spec.limits);
        let trial_id: Arc<str> = format!("{}{TRIAL}", spec.id).into();
        let trial = spec.trial.as_ref().map_or_else(Vec::new, |limits| all(&trial_id, limits));
        let name = spec.name.as_ref().unwrap_or(&spec.id);
        let closed =
            Label { id: Arc::clone(&spec.id), name: Arc::clone(name), policies: [].into() };
        let when = spec.when.as_deref().and_then(|text| Condition::read(text).ok());
        Entry { when, live, trial, closed: Arc::new(closed), overrides: HashMap::new(), spec }
    }

    /// What a tier is limited by; `None` if the rule is closed.
    pub(super) fn limited(&self, tier: usize) -> Option<&Arc<Compiled>> {
        of_tier(&self.live, tier)
    }

    /// What a key of a tier is limited by at this time, overrides heeded; `None` if the rule is closed.
    pub(super) fn limits_of(&self, who: &Who, tier: usize, now: u64) -> Option<&Arc<Compiled>> {
        let own = self.overrides.get(who).filter(|own| now < own.until);
        own.map(|own| &own.rule).or_else(|| self.limited(tier))
    }

    /// The same for the limits on trial.
    pub(super) fn tried(&self, tier: usize) -> Option<&Arc<Compiled>> {
        of_tier(&self.trial, tier)
    }

    /// Everything that the rule may be, for whomever.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Compiled>> {
        self.live.iter().chain(self.overrides.values().map(|own| &own.rule)).chain(&self.trial)
    }
}

fn of_tier(rules: &[Arc<Compiled>], tier: usize) -> Option<&Arc<Compiled>> {
    rules.get(tier).or(rules.first())
}

impl Manner {
    fn of(spec: &RuleSpec, version: u64) -> Manner {
        let failures = spec.count == Count::Failures;
        let after = After { settle: spec.settle.clone(), failures };
        Manner {
            version,
            public: spec.name.clone(),
            on_store_failure: spec.on_store_failure,
            instance: spec.scope == Scope::Instance,
            metered: spec.settle.is_some() || matches!(spec.cost, CostSpec::Header { .. }),
            given: false,
            leases: spec.consistency != Consistency::Exact && !after.is_needed(),
            leases_hot: spec.consistency == Consistency::Auto,
            after,
        }
    }
}

/// Whether a rule looks at the path.
fn looks_at_path(spec: &RuleSpec) -> bool {
    let by_path = |kind: &KeyKind| matches!(kind, KeyKind::Path | KeyKind::Route);
    let key = spec.key.parts.iter().flatten().any(by_path);
    let Match { paths, except, .. } = &spec.matches;
    key || spec.when.is_some() || !paths.is_empty() || !except.is_empty()
}

impl Limiter {
    /// Puts other rules in the place of those that there are, in one step; the number of their release.
    /// Requests that are under way are decided by the rules that they began with.
    pub fn replace(&self, rules: RuleSet) -> u64 {
        self.replace_by(rules, |former| former + 1)
    }

    /// The same, with a number that somebody else has given the release, such as a fleet, whose servers
    /// are to name it alike. It is for the caller to see that numbers grow.
    pub fn replace_as(&self, rules: RuleSet, version: u64) -> u64 {
        self.replace_by(rules, |_| version)
    }

    fn replace_by(&self, rules: RuleSet, number: impl FnOnce(u64) -> u64) -> u64 {
        let _one_at_a_time = crate::sync::lock(&self.0.releasing);
        let former = self.0.rules.load_full();
        let before = Some((&*former, self.0.clock.now()));
        let version = number(former.version);
        self.0.rules.store(Arc::new(Release::new(&self.0.secret, rules, version, before)));
        #[cfg(feature = "redis")]
        self.0.end_shares();
        // Whoever holds it last frees it, which takes long where there are many rules: nobody who decides.
        let size = |entry: &Entry| 1 + entry.overrides.len();
        let waits = former.entries.iter().map(size).sum::<usize>() > FREED_AT_ONCE;
        for _ in 0..LOOKS_MAX {
            if !waits || Arc::strong_count(&former) == 1 {
                break;
            }
            std::thread::sleep(LOOK);
        }
        version
    }

    /// The number of the release that decides at present; the first is 1.
    pub fn version(&self) -> u64 {
        self.0.rules.load().version
    }
}
