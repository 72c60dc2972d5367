//! A refusal: what it is called, and in a sentence why.
//!
//! Invariant: who is told to wait is told long enough, and at least a second; who would wait in vain is
//! not told to.

use super::text::SECOND;
use super::{POLICIES_MAX, enforced, told};
use crate::algorithm::Retry;
use crate::decision::{Decision, Decisions, RuleResult, Source};

/// Most names in one sentence.
const NAMED_MAX: usize = 8;

/// A refused request.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    pub(super) decisions: &'a Decisions,
    pub(super) why: Why,
}

/// What refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nothing, or too little, was left.
    Quota,
    /// The cost is above what is ever admitted.
    Never,
    /// The store is away.
    Outage,
    /// A rule admits nothing.
    Closed,
}

/// A rule that admits nothing says so by a limit of nothing.
fn is_closed(decision: &Decision) -> bool {
    decision.limit() == 0 && decision.is_never()
}

impl<'a> Refusal<'a> {
    /// `None` if the request was admitted.
    #[inline]
    pub fn of(decisions: &'a Decisions) -> Option<Refusal<'a>> {
        if decisions.is_allowed() {
            return None;
        }
        let why = if enforced(decisions).any(|rule| is_closed(rule)) {
            Why::Closed
        } else if decisions.is_never() {
            Why::Never
        } else if decisions.source() == Source::FailedClosed {
            Why::Outage
        } else {
            Why::Quota
        };
        Some(Refusal { decisions, why })
    }

    /// The status of an answer over HTTP: 429; 403 where a rule is closed, 503 without a store.
    pub fn status(&self) -> u16 {
        match self.why {
            Why::Quota | Why::Never => 429,
            Why::Closed => 403,
            Why::Outage => 503,
        }
    }

    /// Whole seconds after which a retry may help, at least one; `None` if it never will.
    pub fn retry_seconds(&self) -> Option<u64> {
        self.retry_ticks().map(|ticks| ticks.div_ceil(SECOND).max(1))
    }

    /// The longest wait that any rule asks for; a second where nobody knows.
    pub(super) fn retry_ticks(&self) -> Option<u64> {
        if matches!(self.why, Why::Never | Why::Closed) {
            return None;
        }
        let waits = told(self.decisions).filter_map(|(_, own)| own.verdict.retry_after.ticks());
        let longest = waits.max().unwrap_or(0);
        let is_known = self.decisions.verdict.retry_after != Retry::UNKNOWN;
        Some(if is_known { longest } else { longest.max(SECOND) })
    }

    /// One line that says why.
    pub fn plain(&self) -> String {
        self.detail() + "\n"
    }

    /// Why, for people.
    pub(super) fn detail(&self) -> String {
        let names = self.named();
        match (self.why, self.retry_seconds()) {
            (Why::Closed, _) => format!("closed by {}", list("rule", "rules", &names)),
            (Why::Never, _) | (_, None) => {
                let which = list("policy", "policies", &names);
                format!("the cost is above the limit of {which}, no retry can help")
            }
            (Why::Outage, Some(seconds)) => {
                let which = list("policy", "policies", &names);
                format!("{which} cannot be checked for now, retry in {seconds} s")
            }
            (Why::Quota, Some(seconds)) => {
                let which = list("policy", "policies", &names);
                format!("quota of {which} exceeded, retry in {seconds} s")
            }
        }
    }

    /// The policies that refused, by name; the rules if it is not for their figures.
    pub(super) fn violated(&self) -> Vec<&'a str> {
        let names: Vec<&str> = match self.why {
            Why::Quota | Why::Never => {
                let refused = told(self.decisions).filter(|(_, own)| own.is_refused());
                refused.map(|(policy, _)| policy.name()).take(POLICIES_MAX).collect()
            }
            Why::Outage | Why::Closed => Vec::new(),
        };
        if names.is_empty() { self.rules(Decision::is_refused) } else { names }
    }

    /// Those that the sentence is about.
    fn named(&self) -> Vec<&'a str> {
        match self.why {
            Why::Quota => self.violated(),
            Why::Outage => self.rules(|own| own.source() == Source::FailedClosed),
            Why::Closed => self.rules(is_closed),
            Why::Never => {
                let never = told(self.decisions).filter(|(_, own)| own.is_never());
                never.map(|(policy, _)| policy.name()).take(POLICIES_MAX).collect()
            }
        }
    }

    fn rules(&self, which: impl Fn(&Decision) -> bool) -> Vec<&'a str> {
        let rules = enforced(self.decisions).filter(|rule| which(rule));
        rules.map(RuleResult::name).take(POLICIES_MAX).collect()
    }
}

/// `policy "a"` or `policies "a", "b"`.
fn list(one: &str, many: &str, names: &[&str]) -> String {
    let shown = names.iter().take(NAMED_MAX).map(|name| format!("\"{name}\""));
    let shown = shown.collect::<Vec<String>>().join(", ");
    let word = if names.len() == 1 { one } else { many };
    match names.len().saturating_sub(NAMED_MAX) {
        0 => format!("{word} {shown}"),
        more => format!("{word} {shown} and {more} more"),
    }
}
