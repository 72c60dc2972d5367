//! Switches: what an operator turns on a running limiter, whatever the release says.
//!
//! Invariant: a switch outlives every release, waits for none, and ends by itself where it was given an end.

use super::{Inner, Limiter};
use crate::rule::{Rollout, RuleSpec};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// For whom a rule is enforced, until it is turned back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// For whom.
    pub rollout: Rollout,
    /// Until when, in time since the epoch; for good, unless said.
    pub until: Option<Duration>,
    /// Why, for people.
    pub reason: Option<String>,
}

/// Switches by rule; `*` is for all rules that have none of their own.
pub(super) type Switches = HashMap<Arc<str>, Switch>;

/// The name that stands for all rules.
const ALL: &str = "*";

impl Limiter {
    /// Turns a switch for a rule, or for all with `*`; `None` turns it back.
    pub fn switch(&self, rule: &str, switch: Option<Switch>) {
        // Without a lock: a release in the making holds the one that there is, and may take seconds.
        let turned = switch.map(|switch| (Arc::<str>::from(rule), switch));
        self.0.switches.rcu(|switches| {
            let mut next = Switches::clone(switches);
            match &turned {
                Some((rule, switch)) => next.insert(Arc::clone(rule), switch.clone()),
                None => next.remove(rule),
            };
            next
        });
    }

    /// The switches that are turned at present, by rule.
    pub fn switches(&self) -> Vec<(Arc<str>, Switch)> {
        let now = self.0.clock.now();
        let switches = self.0.switches.load();
        let active = switches.iter().filter(|(_, switch)| !is_over(switch, now));
        active.map(|(rule, switch)| (Arc::clone(rule), switch.clone())).collect()
    }
}

impl Inner {
    /// For whom a rule is enforced now, if a switch says so.
    pub(super) fn switched(&self, rule: &str) -> Option<Rollout> {
        let switches = self.switches.load();
        if switches.is_empty() {
            return None;
        }
        let now = self.clock.now();
        let active = |name| switches.get(name).filter(|switch| !is_over(switch, now));
        active(rule).or_else(|| active(ALL)).map(|switch| switch.rollout)
    }
}

impl Inner {
    /// Whether a rule is enforced for anybody now.
    pub(super) fn is_enforced(&self, spec: &RuleSpec) -> bool {
        let rollout = self.switched(&spec.id).unwrap_or(spec.rollout);
        !matches!(rollout, Rollout::Off | Rollout::Shadow | Rollout::Percent(0))
    }
}

fn is_over(switch: &Switch, now: u64) -> bool {
    switch.until.is_some_and(|until| until.as_micros() <= now.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::sync::lock;
    use std::sync::mpsc::sync_channel;

    /// Goal: a switch is in effect at once, also while a release is made ready, which may take seconds.
    /// Method: hold what a release in the making holds, turn a switch meanwhile, and look at it.
    #[test]
    fn a_switch_waits_for_no_release() {
        let limiter = Limiter::memory().rule("api", Limit::per_minute(1)).unwrap().build();
        let making = lock(&limiter.0.releasing);
        let (turned, seen) = sync_channel(1);
        let own = limiter.clone();
        let turning = std::thread::spawn(move || {
            let off = Switch { rollout: Rollout::Off, until: None, reason: None };
            own.switch("api", Some(off));
            turned.send(own.switches().len()).unwrap();
        });
        let found = seen.recv_timeout(Duration::from_secs(10));
        drop(making);
        turning.join().unwrap();
        assert_eq!(found, Ok(1), "it was turned while the release was in the making");
    }
}
