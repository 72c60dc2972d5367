//! Rules that mean the same for every key, and take one look at one bucket: what most questions of a batch are
//! about.
//!
//! Invariant: what is decided here is what the long way would decide; whatever is special about a rule or a key
//! takes the long way.

use super::One;
use crate::decision::Decision;
use crate::key::{Key, Who};
use crate::limiter::Inner;
use crate::limiter::asked::Compiled;
use crate::limiter::named_key::unsaid;
use crate::limiter::release::{Entry, Release};
use crate::rule::Rollout;
use crate::rule::key::parts_of;
use crate::rule::kind::{KeyKind, KeyPart};
use crate::store::Charge;
use std::sync::Arc;

impl Inner {
    /// The limits of a rule that are the same for every key, and take one look at one bucket.
    pub(super) fn alike<'e>(&self, entry: &'e Entry) -> Option<&'e Arc<Compiled>> {
        let rollout = self.switched(&entry.spec.id).unwrap_or(entry.spec.rollout);
        let same = entry.trial.is_empty() && entry.overrides.is_empty() && entry.live.len() == 1;
        let same = same && rollout == Rollout::Percent(100);
        entry.live.first().filter(|rule| same && rule.is_simple())
    }

    /// Who a key is that somebody wrote; `None` if it does not fit the rule.
    pub(super) fn met(&self, release: &Release, entry: &Entry, key: &[&str]) -> Option<Who> {
        let spec = &entry.spec.key;
        if spec.is_given() {
            let [only] = key else { return None };
            let who = self.secret.who(*only);
            self.meet(&entry.spec.id, &who, &|| vec![KeyPart::new(KeyKind::Given, *only)]);
            return Some(who);
        }
        let written = spec.written(unsaid(key), |address| release.identity.network(address))?;
        let who = self.secret.who(written.as_bytes());
        self.meet(&entry.spec.id, &who, &|| parts_of(written.as_bytes()));
        Some(who)
    }

    /// Who a key is under a rule that came with it.
    pub(super) fn met_given<K: Key>(&self, rule: &str, key: &K) -> Who {
        let who = self.secret.who(key);
        self.meet(rule, &who, &|| {
            let mut parts = Vec::new();
            key.parts(&mut |part| {
                let is_exact = std::str::from_utf8(part).is_ok();
                let text = String::from_utf8_lossy(part);
                parts.push(KeyPart { is_exact, ..KeyPart::new(KeyKind::Given, text) });
            });
            parts
        });
        who
    }

    /// One rule, many keys, each by itself; the clock is read once.
    pub(in crate::limiter) fn charge_each(
        &self,
        rule: &Compiled,
        keys: &[Who],
        cost: u64,
    ) -> Vec<Decision> {
        let now = self.clock.now();
        let mut decisions = Vec::with_capacity(keys.len());
        match &rule.meters[..] {
            [meter] if rule.plain => {
                let charges = keys.iter().map(|who| Charge::new(meter, who.local, cost));
                self.store.charge_each(now, charges, &mut decisions);
            }
            _ => {
                let each = |who: &Who| self.charge_at(now, rule, who.local, cost);
                decisions.extend(keys.iter().map(each));
            }
        }
        self.observe_all(decisions.iter().zip(keys).map(|(own, who)| (rule, who.local, own, cost)));
        decisions
    }

    /// Decides questions of one look each, in their order.
    pub(super) async fn take_ones(
        self: &Arc<Self>,
        rules: &[Arc<Compiled>],
        ones: &[One],
        decisions: &mut Vec<Decision>,
    ) {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            for part in ones.chunks(crate::limiter::call::AT_ONCE) {
                let each = part.iter().map(|One { rule, who, cost }| async {
                    let rule = &rules[*rule as usize];
                    if rule.manner.instance {
                        return self.charge(rule, who.local, *cost);
                    }
                    let asked =
                        crate::limiter::Asked { rule: Arc::clone(rule), who: *who, cost: *cost };
                    crate::limiter::call::charge_one(self, shared, asked).await
                });
                decisions.extend(futures_util::future::join_all(each).await);
            }
            return;
        }
        if ones.is_empty() {
            return;
        }
        let charges = ones.iter().filter_map(|One { rule, who, cost }| {
            let meter = rules[*rule as usize].meters.first()?;
            Some(Charge::new(meter, who.local, *cost))
        });
        let from = decisions.len();
        self.store.charge_each(self.clock.now(), charges, decisions);
        let decided = ones.iter().zip(&decisions[from..]);
        self.observe_all(decided.map(|(One { rule, who, cost }, decision)| {
            (&*rules[*rule as usize], who.local, decision, *cost)
        }));
    }
}
