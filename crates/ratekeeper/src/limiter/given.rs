//! Rules that are in no release: whoever asks says the limits, too.
//!
//! Invariant: their buckets are their own; no rule of a release has one of them, whatever its name.

use super::build::checked;
use super::compile::{Manner, compile};
use super::{IntoLimits, Limiter, Rule, RuleError};
use crate::decision::{Decision, Decisions, RuleResult};
use crate::few::Few;
use std::sync::Arc;

impl Limiter {
    /// A rule of the caller's own, by limits that come with the question. It lives as long as the handle;
    /// what keys have used lives in the store, under the name and the shape of the limits, so that the same
    /// name and limits find it again.
    ///
    /// ```
    /// use ratekeeper::Limiter;
    ///
    /// let limiter = Limiter::memory().build();
    /// let ask = || limiter.given("mail", "1/hour").unwrap().try_check("alice").unwrap();
    /// assert!(ask().is_allowed());
    /// assert!(ask().is_refused());
    /// ```
    pub fn given(&self, name: &str, limits: impl IntoLimits) -> Result<Rule, RuleError> {
        let limits = checked(name, limits)?;
        let manner = Manner { given: true, ..Manner::default() };
        let rule = compile(&self.0.secret, &name.into(), &limits, &manner);
        Ok(Rule::new(Arc::clone(&self.0), Arc::new(rule)))
    }
}

impl Rule {
    /// The same rule, which takes over what keys have used under `former` limits: as a release does from the
    /// one before it, where algorithm and period are the same. What `former` itself took over from others is
    /// not followed any further.
    ///
    /// ```
    /// use ratekeeper::Limiter;
    ///
    /// let limiter = Limiter::memory().build();
    /// let few = limiter.given("mail", "2/hour")?;
    /// few.check("alice").cost(2).try_now()?;
    /// let many = limiter.given("mail", "50/hour")?.after(&few);
    /// assert_eq!(many.peek("alice").try_now()?.remaining(), 48);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the rule itself stays as it is"]
    pub fn after(&self, former: &Rule) -> Rule {
        let mut rule =
            compile(&self.limiter.secret, self.rule.id(), &self.rule.limits, &self.rule.manner);
        rule.follow(&former.rule, self.limiter.clock.now());
        Rule::new(Arc::clone(&self.limiter), Arc::new(rule))
    }

    /// A decision of this rule as the answer to a request that met no other, as [`fields`](crate::fields)
    /// tell it.
    pub fn answer(&self, decision: &Decision) -> Decisions {
        let mut results = Few::default();
        results.push(RuleResult::new(&self.rule.label, std::slice::from_ref(decision)));
        Decisions::new(results, self.rule.manner.version)
    }
}
