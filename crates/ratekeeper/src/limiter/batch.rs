//! Many questions of one moment, each about a key under a rule, decided in one pass.
//!
//! Most of them are one look at one bucket in memory: those that follow each other read the clock once, and
//! fetch what they need together. Invariant: each is decided by itself, in the order in which they were
//! added, as [`Prepared::check`] would; all of them by one release.

mod alike;

use super::asked::Compiled;
use super::named_key::AskError;
use super::release::{Entry, Release};
use super::select::Selected;
use super::{Asked, Inner, Limiter, Prepared, Rule, UnknownRule};
use crate::decision::{Decision, Decisions, RuleResult};
use crate::few::Few;
use crate::key::{Key, Who};
use std::fmt;
use std::sync::Arc;

/// Questions to be decided together; see [`Limiter::batch`].
#[must_use = "questions are decided when the batch is checked"]
pub struct Batch {
    limiter: Arc<Inner>,
    /// The rules that decide, from the first question on.
    release: Option<Arc<Release>>,
    /// Rules that take one look at one bucket, as often as another came between.
    rules: Vec<Arc<Compiled>>,
    asked: Vec<One>,
    /// Questions that are anything else, and which they are.
    others: Vec<(usize, Prepared)>,
    /// The rule that was asked for last: its number in the release, and whether it is the last of `rules`.
    last: Option<(u32, bool)>,
    decisions: Vec<Decision>,
    answers: Vec<(usize, Decisions)>,
}

/// One look at one bucket, by the rule of this number.
#[derive(Clone, Copy)]
struct One {
    rule: u32,
    who: Who,
    cost: u64,
}

impl Limiter {
    /// Begins a batch of questions.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::Limiter;
    ///
    /// let limiter = Limiter::memory().rule("api", "2/minute")?.build();
    /// let mut batch = limiter.batch();
    /// for key in ["alice", "bob", "alice", "alice"] {
    ///     batch.add("api", &[key], None, 1)?;
    /// }
    /// let allowed: Vec<bool> = batch.check().await.iter().map(|own| own.is_allowed()).collect();
    /// assert_eq!(allowed, [true, true, true, false]);
    /// # Ok(()) }
    /// ```
    pub fn batch(&self) -> Batch {
        Batch {
            limiter: Arc::clone(&self.0),
            release: None,
            rules: Vec::new(),
            asked: Vec::new(),
            others: Vec::new(),
            last: None,
            decisions: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl Batch {
    /// How many questions there are.
    pub fn len(&self) -> usize {
        self.asked.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Forgets them, and their rules: the next question is decided by those that are live then.
    pub fn clear(&mut self) {
        self.asked.clear();
        self.others.clear();
        self.decisions.clear();
        self.answers.clear();
        self.rules.clear();
        (self.last, self.release) = (None, None);
    }

    /// How many values name a key under a rule.
    pub fn key_parts(&mut self, rule: &str) -> Result<usize, UnknownRule> {
        let Batch { limiter, release, rules, last, .. } = self;
        let release = release.get_or_insert_with(|| limiter.rules.load_full());
        let (entry, _) = find(limiter, release, (rules, last), rule)?;
        Ok(entry.spec.key.parts.len())
    }

    /// Asks a rule for a key that somebody wrote, as [`Limiter::prepare_rule`] does.
    pub fn add(
        &mut self,
        rule: &str,
        key: &[&str],
        tier: Option<&str>,
        cost: u64,
    ) -> Result<(), AskError> {
        let Batch { limiter, release, rules, last, asked, .. } = self;
        let release = release.get_or_insert_with(|| limiter.rules.load_full());
        let found = find(limiter, release, (rules, last), rule);
        let (entry, alike) = found.map_err(AskError::Unknown)?;
        let who = if alike { limiter.met(release, entry, key) } else { None };
        if let Some(who) = who {
            asked.push(One { rule: rules.len() as u32 - 1, who, cost });
            return Ok(());
        }
        let other = Prepared::of_rule(limiter, release, rule, (key, tier), cost)?;
        self.add_other(other);
        Ok(())
    }

    /// Asks a rule that came with the question; see [`Limiter::given`].
    pub fn add_given<K: Key>(&mut self, rule: &Rule, key: K, cost: u64) {
        let who = self.limiter.met_given(rule.name(), &key);
        if !rule.rule.is_simple() {
            let enforced = Few::One(Asked { rule: Arc::clone(&rule.rule), who, cost });
            let selected = Selected { enforced, looks: cost == 0, ..Selected::default() };
            let release = self.release.get_or_insert_with(|| self.limiter.rules.load_full());
            let other = Prepared::new(&self.limiter, selected, release);
            return self.add_other(other);
        }
        if !self.rules.last().is_some_and(|last| Arc::ptr_eq(last, &rule.rule)) {
            self.rules.push(Arc::clone(&rule.rule));
            self.last = None;
        }
        self.asked.push(One { rule: self.rules.len() as u32 - 1, who, cost });
    }

    fn add_other(&mut self, prepared: Prepared) {
        self.others.push((self.asked.len(), prepared));
        let who = self.limiter.secret.who("");
        self.asked.push(One { rule: u32::MAX, who, cost: 0 });
    }

    /// Decides all of them.
    pub async fn check(&mut self) -> BatchAnswers<'_> {
        let Batch { limiter, rules, asked, others, decisions, answers, .. } = self;
        let mut from = 0;
        for (number, prepared) in others.drain(..) {
            limiter.take_ones(rules, &asked[from..number], decisions).await;
            let all = prepared.check().await;
            decisions.push(*all);
            answers.push((number, all));
            from = number + 1;
        }
        limiter.take_ones(rules, &asked[from..], decisions).await;
        BatchAnswers { batch: self }
    }
}

/// A rule of a release, and whether it is alike for all keys; its limits are the last of `rules` then. `last`
/// is what was asked for last.
fn find<'r>(
    limiter: &Inner,
    release: &'r Release,
    (rules, last): (&mut Vec<Arc<Compiled>>, &mut Option<(u32, bool)>),
    name: &str,
) -> Result<(&'r Entry, bool), UnknownRule> {
    if let Some((number, alike)) = *last {
        let entry = &release.entries[number as usize];
        if *entry.spec.id == *name {
            return Ok((entry, alike));
        }
    }
    let Some(number) = release.number(name) else {
        let names = release.entries.iter().map(|entry| &*entry.spec.id);
        return Err(UnknownRule::new(name, names));
    };
    let entry = &release.entries[number as usize];
    let alike = limiter.alike(entry);
    *last = Some((number, alike.is_some()));
    rules.extend(alike.map(Arc::clone));
    Ok((entry, alike.is_some()))
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What became of the questions of a batch, in their order.
#[must_use = "a decision that nobody looks at limits nothing"]
#[derive(Debug)]
pub struct BatchAnswers<'b> {
    batch: &'b Batch,
}

impl BatchAnswers<'_> {
    /// Each question's decision.
    pub fn iter(&self) -> std::slice::Iter<'_, Decision> {
        self.batch.decisions.iter()
    }

    /// All that there is to know of one question's.
    pub fn decisions(&self, number: usize) -> Option<Decisions> {
        let Batch { release, rules, asked, answers, decisions, .. } = self.batch;
        match rules.get(asked.get(number)?.rule as usize) {
            Some(rule) => {
                let result = RuleResult::new(&rule.label, &[*decisions.get(number)?]);
                let version = release.as_ref().map_or(rule.manner.version, |own| own.version);
                Some(Decisions::new(Few::One(result), version))
            }
            None => answers.iter().find(|(own, _)| *own == number).map(|(_, all)| all.clone()),
        }
    }
}

impl<'a> IntoIterator for &'a BatchAnswers<'_> {
    type Item = &'a Decision;
    type IntoIter = std::slice::Iter<'a, Decision>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
