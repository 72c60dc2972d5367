//! Rules that mean the same at every door.
//!
//! Invariant: the rule for requests and the one for descriptors have the same limits; only how they are found differs.

use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, ManualClock};
use ratekeeper_server::app::{App, Parts};
use ratekeeper_server::observe::Observe;
use std::sync::Arc;
use std::time::Duration;

/// A limit, and how it counts.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The limit, or several in brackets, as rule files write it.
    pub limit: &'static str,
    /// The algorithm, and what else a rule says.
    pub manner: &'static str,
    /// More rules for requests of everybody, one line each; those of a domain as well.
    pub beside: &'static str,
}

impl Rules {
    /// The rule file, with more at its top.
    pub fn file(&self, top: &str) -> String {
        let Rules { limit, manner, beside } = self;
        let cost = "cost: {header: x-cost, default: 1, max: 1000}";
        format!(
            "{top}\nidentity: {{trusted_proxies: [127.0.0.1]}}\nrules:\n\
             - {{id: r, match: {{path: /r}}, key: 'header:x-who', limit: {limit}, {manner}, {cost}}}\n\
             - {{id: e, domain: edge, key: 'descriptor:who', limit: {limit}, {manner}}}\n{beside}"
        )
    }

    /// A limiter by them, with a clock that is moved by hand.
    pub fn limiter(&self) -> (Limiter, ManualClock) {
        let (app, clock) = self.app("");
        (app.limiter.clone(), clock)
    }

    /// What doors share, with more at the top of the rule file.
    pub fn app(&self, top: &str) -> (App, ManualClock) {
        let (clock, observe) = (ManualClock::new(), Arc::<Observe>::default());
        let file = RuleFile::parse(&self.file(top)).expect("the file is fine");
        let builder = Limiter::from_file(file).expect("its store is memory");
        let limiter = builder.clock(&clock).observer(observe.observer()).build();
        let parts = Parts { observe, ..Parts::new(limiter, Duration::from_secs(10)) };
        (App::from(parts), clock)
    }
}
