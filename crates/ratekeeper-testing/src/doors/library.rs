//! The library itself: what all others are compared with.

use super::{Door, Rules, Said, Step};
use ratekeeper::{Decision, Limiter, ManualClock, Request};

/// The library, asked about a request as the other doors are.
pub struct Library {
    limiter: Limiter,
    clock: ManualClock,
}

impl Library {
    /// By these rules.
    pub fn new(rules: &Rules) -> Library {
        let (limiter, clock) = rules.limiter();
        Library { limiter, clock }
    }

    /// Its decision.
    pub async fn decide(&mut self, step: &Step) -> Decision {
        let cost = step.cost.to_string();
        let headers = [("x-who", step.who), ("x-cost", &*cost)];
        let peer = Some([127, 0, 0, 1].into());
        let request = Request { headers: &headers, peer, ..Request::new("GET", "/r") };
        *self.limiter.check(&request).await.expect("it can be decided")
    }

    /// Its time, in microseconds since the epoch.
    pub fn now(&self) -> u64 {
        self.limiter.now()
    }
}

/// By the name of the rule, and the key: the other way to ask the library.
impl Door for Library {
    fn name(&self) -> &'static str {
        "library"
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    async fn ask(&mut self, step: &Step) -> Said {
        let (rule, key) = self.limiter.rule_for("r", &[step.who], None).expect("there is one");
        rule.check(&key).cost(step.cost).await.into()
    }
}
