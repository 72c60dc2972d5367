//! The last quarter of an hour, second by second, for who opens the console in the middle of something.
//!
//! Invariant: bounded in seconds, and in rules of each second; beyond that the quietest rules of a second are left out.

use super::Counted;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Seconds that are kept.
pub const SECONDS_MAX: usize = 900;

/// Rules that are kept of each second, and told of all: the busiest.
pub const HISTORY_RULES_MAX: usize = 100;

/// What happened in one second.
struct Second {
    at: u64,
    rules: Vec<(Arc<str>, [u32; 4])>,
}

#[derive(Default)]
pub(crate) struct History(Mutex<VecDeque<Second>>);

/// The same as columns, one value for each second.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Columns {
    /// Seconds since the epoch.
    pub(crate) at: Vec<u64>,
    pub(crate) rules: HashMap<Arc<str>, Column>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Column {
    allowed: Vec<u32>,
    refused: Vec<u32>,
    delayed: Vec<u32>,
    shadow_refused: Vec<u32>,
}

impl Column {
    fn new(length: usize) -> Column {
        let zeros = || vec![0; length];
        Column { allowed: zeros(), refused: zeros(), delayed: zeros(), shadow_refused: zeros() }
    }

    fn set(&mut self, at: usize, [allowed, refused, delayed, shadow_refused]: [u32; 4]) {
        self.allowed[at] = allowed;
        self.refused[at] = refused;
        self.delayed[at] = delayed;
        self.shadow_refused[at] = shadow_refused;
    }
}

impl History {
    /// Adds a second: what each rule did in it.
    pub(crate) fn push(&self, at: u64, counted: &[Counted]) {
        let few = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let four = |own: &Counted| {
            [few(own.allowed), few(own.refused), few(own.delayed), few(own.shadow_refused)]
        };
        let mut rules: Vec<_> =
            counted.iter().map(|own| (Arc::clone(&own.rule), four(own))).collect();
        rules.sort_by_key(|(_, own)| Reverse(weight(own)));
        rules.truncate(HISTORY_RULES_MAX);
        let mut seconds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seconds.len() >= SECONDS_MAX {
            seconds.pop_front();
        }
        seconds.push_back(Second { at, rules });
    }

    pub(crate) fn columns(&self) -> Columns {
        let seconds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums: HashMap<&Arc<str>, u64> = HashMap::new();
        for (rule, own) in seconds.iter().flat_map(|second| &second.rules) {
            *sums.entry(rule).or_default() += weight(own);
        }
        let mut busiest: Vec<_> = sums.into_iter().collect();
        busiest.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        busiest.truncate(HISTORY_RULES_MAX);
        let column = |(rule, _)| (Arc::clone(rule), Column::new(seconds.len()));
        let mut rules: HashMap<_, _> = busiest.into_iter().map(column).collect();
        for (index, second) in seconds.iter().enumerate() {
            for (rule, own) in &second.rules {
                if let Some(column) = rules.get_mut(rule) {
                    column.set(index, *own);
                }
            }
        }
        Columns { at: seconds.iter().map(|second| second.at).collect(), rules }
    }
}

fn weight(own: &[u32; 4]) -> u64 {
    own.iter().copied().map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(rule: &str, allowed: u64) -> Counted {
        Counted { rule: rule.into(), allowed, ..Counted::default() }
    }

    /// Goal: the last seconds are told as columns of one length, with zeros where a rule did nothing.
    /// Method: a second more than are kept; a rule in the first, the second and the last.
    #[test]
    fn the_last_seconds_are_kept() {
        let history = History::default();
        for at in 0..=SECONDS_MAX as u64 {
            let did = [0, 1, SECONDS_MAX as u64].contains(&at);
            history.push(at, &[counted("api", at + 1)][..usize::from(did)]);
        }
        let columns = history.columns();
        assert_eq!((columns.at.len(), columns.at[0]), (SECONDS_MAX, 1));
        let api = &columns.rules["api"].allowed;
        assert_eq!((api[0], api[1], api[SECONDS_MAX - 1]), (2, 0, SECONDS_MAX as u32 + 1));
        assert_eq!(columns.rules["api"].refused, vec![0; SECONDS_MAX]);
    }

    /// Goal: of very many rules the busiest are told, in a bounded number.
    /// Method: twice as many rules as are kept in a second, and others in the next.
    #[test]
    fn of_many_rules_the_busiest_are_told() {
        let history = History::default();
        let many = |from: u64| -> Vec<Counted> {
            (from..from + 2 * HISTORY_RULES_MAX as u64)
                .map(|number| counted(&format!("rule-{number}"), number + 1))
                .collect()
        };
        history.push(1, &many(0));
        history.push(2, &many(1_000));
        let columns = history.columns();
        assert_eq!(columns.rules.len(), HISTORY_RULES_MAX);
        let last = 1_000 + 2 * HISTORY_RULES_MAX - 1;
        assert_eq!(columns.rules[&*format!("rule-{last}")].allowed, [0, last as u32 + 1]);
        assert!(!columns.rules.contains_key("rule-199"));
    }
}
