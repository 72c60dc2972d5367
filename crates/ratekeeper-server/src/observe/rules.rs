//! Counts for each rule, found without a lock.
//!
//! Invariant: at most [`RULES_MAX`] rules have counts of their own; the rest are counted together, as
//! [`OTHER`].

use super::Door;
use super::logs::Sample;
use super::shadow::{Shadow, Shadowed};
use arc_swap::{ArcSwap, Guard};
use ratekeeper::{Decision, Limiter, Source};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Rules that have a label of their own, in the life of a process.
pub const RULES_MAX: usize = 1_000;

/// The label of all other rules, and of one that has this name.
pub(super) const OTHER: &str = "other";

/// A key with less than one part in this many left was near its limit.
const NEAR_PART: u64 = 5;

pub(super) const OUTCOMES: [&str; 2] = ["allowed", "refused"];
pub(super) const SOURCES: [&str; 8] = [
    "store",
    "overflow",
    "local",
    "failed_open",
    "failed_closed",
    "lease",
    "denied_cache",
    "other",
];

const CELLS: usize = Door::ALL.len() * OUTCOMES.len() * SOURCES.len();

type Known = HashMap<Arc<str>, Arc<Row>>;

pub(super) struct Rules {
    known: ArcSwap<Known>,
    /// Held while a rule is added.
    adding: Mutex<RandomState>,
    other: Arc<Row>,
}

impl Default for Rules {
    fn default() -> Rules {
        let other = Arc::new(Row::new(OTHER.into(), 0));
        Rules { known: ArcSwap::default(), adding: Mutex::default(), other }
    }
}

/// The counts of one rule.
pub(crate) struct Row {
    id: Arc<str>,
    /// Makes keys of this rule different from those of others.
    pub(super) salt: u64,
    cells: [AtomicU64; CELLS],
    pub(super) near: AtomicU64,
    /// Admitted, to wait for its turn.
    delayed: AtomicU64,
    pub(super) shadow_refused: AtomicU64,
    /// What it did in shadow, if it ever was.
    shadow: OnceLock<Box<Shadow>>,
    pub(super) refusals: Sample,
}

/// What a rule decided since the start.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Counted {
    pub(crate) rule: Arc<str>,
    pub(crate) allowed: u64,
    pub(crate) refused: u64,
    pub(crate) delayed: u64,
    pub(crate) near_limit: u64,
    pub(crate) shadow_refused: u64,
}

impl Rules {
    /// Does something with the counts of a rule.
    pub(super) fn with<T>(&self, rule: &str, work: impl FnOnce(&Arc<Row>) -> T) -> T {
        let known = self.known.load();
        match known.get(rule) {
            Some(row) => work(row),
            None if known.len() >= RULES_MAX || rule == OTHER => work(&self.other),
            None => work(&self.add(rule)),
        }
    }

    /// The same for many decisions: looks a rule up once for as many as follow each other.
    pub(super) fn finding(&self) -> Finding<'_> {
        Finding { rules: self, known: self.known.load(), last: None }
    }

    #[cold]
    fn add(&self, rule: &str) -> Arc<Row> {
        let salts = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.load();
        if let Some(row) = known.get(rule) {
            return Arc::clone(row);
        }
        if known.len() >= RULES_MAX {
            return Arc::clone(&self.other);
        }
        let id: Arc<str> = rule.into();
        let row = Arc::new(Row::new(Arc::clone(&id), salts.hash_one(rule)));
        let mut more = Known::clone(&known);
        more.insert(id, Arc::clone(&row));
        self.known.store(Arc::new(more));
        row
    }

    /// Every rule that has counts, by name.
    pub(super) fn rows(&self) -> Vec<Arc<Row>> {
        let known = self.known.load();
        let mut rows: Vec<Arc<Row>> = known.values().map(Arc::clone).collect();
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        rows.extend(self.other.is_used().then(|| Arc::clone(&self.other)));
        rows
    }

    pub(super) fn counted(&self) -> Vec<Counted> {
        self.rows().iter().map(|row| row.counted()).collect()
    }
}

/// Finds the counts of rules, one after the other.
pub(super) struct Finding<'r> {
    rules: &'r Rules,
    known: Guard<Arc<Known>>,
    last: Option<Arc<Row>>,
}

impl Finding<'_> {
    /// The counts of a rule.
    pub(super) fn find(&mut self, rule: &str) -> &Arc<Row> {
        let is_last = self.last.as_ref().is_some_and(|last| *last.id == *rule);
        let rules = self.rules;
        let next = match is_last {
            true => self.last.take(),
            false => self.known.get(rule).map(Arc::clone),
        };
        self.last.insert(next.unwrap_or_else(|| rules.with(rule, Arc::clone)))
    }
}

impl Row {
    fn new(id: Arc<str>, salt: u64) -> Row {
        let cells = [const { AtomicU64::new(0) }; CELLS];
        let zero = || AtomicU64::new(0);
        let (near, delayed, shadow_refused) = (zero(), zero(), zero());
        let (shadow, refusals) = (OnceLock::new(), Sample::default());
        Row { id, salt, cells, near, delayed, shadow_refused, shadow, refusals }
    }

    /// The rule's id, or the label of those that have none of their own.
    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(super) fn decided(&self, door: Door, decision: &Decision) {
        let source = match decision.source() {
            Source::Store => 0,
            Source::Overflow => 1,
            Source::Local => 2,
            Source::FailedOpen => 3,
            Source::FailedClosed => 4,
            Source::Lease => 5,
            Source::DeniedCache => 6,
            _ => 7,
        };
        let outcome = usize::from(decision.is_refused());
        let cell = cell(door as usize, outcome, source);
        self.cells[cell].fetch_add(1, Ordering::Relaxed);
        if is_near(decision) {
            self.near.fetch_add(1, Ordering::Relaxed);
        }
        if decision.delay().is_some_and(|delay| !delay.is_zero()) {
            self.delayed.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn shadowed(&self, who: Option<u64>, decision: &Decision) {
        if decision.is_refused() {
            self.shadow_refused.fetch_add(1, Ordering::Relaxed);
        }
        self.shadow.get_or_init(Box::default).note(who, decision.is_refused());
    }

    /// What it did in shadow.
    pub(super) fn in_shadow(&self) -> Shadowed {
        self.shadow.get().map_or_else(Shadowed::default, |shadow| shadow.told())
    }

    /// Begins to count anew what it does in shadow, if it has other limits than before.
    pub(super) fn renew_shadow(&self, limiter: &Limiter) {
        if let Some(shadow) = self.shadow.get() {
            shadow.renew(limiter.limits_of(&self.id));
        }
    }

    fn is_used(&self) -> bool {
        let counts = self.cells.iter().chain([&self.shadow_refused]);
        counts.into_iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Every count that is not 0: door, outcome, source.
    pub(super) fn each(&self, mut each: impl FnMut([&'static str; 3], u64)) {
        for door in Door::ALL {
            for (outcome, outcome_name) in OUTCOMES.into_iter().enumerate() {
                for (source, source_name) in SOURCES.into_iter().enumerate() {
                    let cell = &self.cells[cell(door as usize, outcome, source)];
                    let count = cell.load(Ordering::Relaxed);
                    if count > 0 {
                        each([door.name(), outcome_name, source_name], count);
                    }
                }
            }
        }
    }

    pub(super) fn counted(&self) -> Counted {
        let (mut allowed, mut refused) = (0, 0);
        self.each(|[_, outcome, _], count| match outcome == OUTCOMES[0] {
            true => allowed += count,
            false => refused += count,
        });
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (near_limit, shadow_refused) = (read(&self.near), read(&self.shadow_refused));
        let (rule, delayed) = (Arc::clone(&self.id), read(&self.delayed));
        Counted { rule, allowed, refused, delayed, near_limit, shadow_refused }
    }
}

fn cell(door: usize, outcome: usize, source: usize) -> usize {
    (door * OUTCOMES.len() + outcome) * SOURCES.len() + source
}

/// Admitted, with little left.
fn is_near(decision: &Decision) -> bool {
    decision.is_allowed()
        && !decision.is_without_figures()
        && decision.remaining() < decision.limit().div_ceil(NEAR_PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: only so many rules have counts of their own, and no decision is lost beyond that.
    /// Method: one decision for each of twice as many rules.
    #[test]
    fn rules_beyond_the_bound_are_counted_together() {
        let limiter = Limiter::memory().rule("r", "5/second").unwrap().build();
        let decision = limiter.rule("r").unwrap().try_check("k").unwrap();
        let rules = Rules::default();
        for number in 0..2 * RULES_MAX {
            rules.with(&format!("rule-{number}"), |row| row.decided(Door::Check, &decision));
        }
        let counted = rules.counted();
        assert_eq!(counted.len(), RULES_MAX + 1);
        assert_eq!(counted.iter().map(|own| own.allowed).sum::<u64>(), 2 * RULES_MAX as u64);
        let last = counted.last().unwrap();
        assert_eq!((&*last.rule, last.allowed), (OTHER, RULES_MAX as u64));
    }

    /// Goal: a decision is near its limit when less than a fifth is left after it.
    /// Method: ten decisions under a limit of ten: two leave less than two.
    #[test]
    fn the_last_fifth_is_near_the_limit() {
        let limiter = Limiter::memory().rule("r", "10/minute").unwrap().build();
        let rule = limiter.rule("r").unwrap();
        let near = (0..12).filter(|_| is_near(&rule.try_check("k").unwrap())).count();
        assert_eq!(near, 2);
    }
}
