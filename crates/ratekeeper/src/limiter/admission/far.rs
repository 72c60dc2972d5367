//! The same over a shared store: rules of this instance in memory first, then those of the fleet.
//!
//! Invariant: what the instance's rules charged is given back if the fleet's refuse. If the instance's own
//! refuse, the store is not asked: they are there to protect this server.

use super::line::Line;
use super::{Admission, Later, Selected, Sheet, Slot, Way, charges_in};
use crate::decision::{Decision, Decisions, RuleResult};
use crate::few::Few;
use crate::limiter::hold::{Hold, Reserve};
use crate::limiter::holds::Reserved;
use crate::limiter::queue::Sleeper;
use crate::limiter::shared::{Backing, Permits, Shared};
use crate::limiter::{Asked, HoldsFull, Inner, alarm};
use crate::name::PermitId;
use crate::store::Receipt;
use futures_util::future::join_all;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;
use tokio::time::Instant;

impl Later {
    pub(super) async fn run_far(self) -> Admission {
        let Later { limiter, selected, sheet, way, until } = self;
        let Selected { enforced, shadow, slots, looks, .. } = selected;
        let order: Vec<bool> = enforced.iter().map(|asked| asked.rule.manner.instance).collect();
        let (near, far): (Vec<_>, Vec<_>) =
            enforced.into_iter().partition(|asked| asked.rule.manner.instance);
        let mut holds = Vec::new();
        let (near, told) = match way {
            Way::Here => (limiter.take_near(near, &mut holds).await, None),
            Way::Told | Way::Now => {
                let told = limiter.tell_near(near, way);
                (told.results.clone(), Some(told))
            }
        };
        if near.iter().any(|result| result.is_refused()) {
            return refused_near(sheet, &slots, &order, near);
        }
        let far = limiter.take_far(far, (way, until), &mut holds).await;
        let passes = far.iter().all(|result| result.is_allowed());
        if !passes {
            holds.iter().for_each(|hold: &Hold| hold.settle_each(|_| Some(0)));
            holds.clear();
        }
        let near = match told {
            Some(told) if passes => told.stays(),
            Some(told) => told.give_back(),
            None => near,
        };
        let results = in_order(&order, near, far);
        let shadow = if passes { shadow } else { Vec::new() };
        limiter.observe_shut(&slots, &results, looks);
        let each = shadow.into_iter().map(|asked| limiter.take_shadow(asked, (way, until)));
        let mut shadows = Few::default();
        for (own, more) in join_all(each).await {
            shadows.extend(own);
            holds.extend(more);
        }
        Admission::new(sheet, &slots, results, shadows, holds)
    }
}

/// How what is admitted is held, and how long the store is waited for, if not as long as it takes.
type Manner = (Way, Option<Instant>);

/// What rules of the instance charged for somebody elsewhere. Given back, unless it stays.
struct Told<'a> {
    limiter: &'a Inner,
    results: Few<RuleResult>,
    rules: Vec<Asked>,
    receipts: Vec<Receipt>,
    permit: Option<PermitId>,
}

/// What rules said, in the order of the file: which of them are of the instance.
fn in_order(order: &[bool], near: Few<RuleResult>, far: Few<RuleResult>) -> Few<RuleResult> {
    let (mut near, mut far) = (near.into_iter(), far.into_iter());
    let each = |instance: &bool| if *instance { near.next() } else { far.next() };
    order.iter().filter_map(each).collect()
}

/// Refused by rules of the instance; no other was asked.
fn refused_near(sheet: Sheet, slots: &[Slot], order: &[bool], near: Few<RuleResult>) -> Admission {
    let mut order = order.iter();
    let asked = slots.iter().filter(|slot| match slot {
        Slot::Enforced => order.next().is_some_and(|instance| *instance),
        Slot::Shadow => false,
        Slot::Closed(..) => true,
    });
    let slots: Vec<Slot> = asked.map(Slot::clone).collect();
    Admission::new(sheet, &slots, near, Few::default(), Vec::new())
}

impl Inner {
    /// Asks several rules, some of which each server counts by itself.
    pub(in crate::limiter) async fn check_near_and_far(
        self: &Arc<Self>,
        rules: Vec<Asked>,
    ) -> Decisions {
        let release = self.rules.load().sheet();
        let selected = Selected { enforced: rules.into(), ..Selected::default() };
        Later::new(self, selected, release, Way::Told).run_far().await.decisions
    }

    /// Charges rules of this instance, and waits for the turn that they give.
    async fn take_near(
        self: &Arc<Self>,
        rules: Vec<Asked>,
        holds: &mut Vec<Hold>,
    ) -> Few<RuleResult> {
        if rules.is_empty() {
            return Few::default();
        }
        let (results, hold) = Line::new(self, rules).await;
        holds.push(hold);
        results
    }

    /// The same for somebody elsewhere.
    fn tell_near(&self, rules: Vec<Asked>, way: Way) -> Told<'_> {
        let admitted = self.admit_by_name(&charges_in(&rules, way), None);
        let results = self.results(&rules, &admitted.decisions, false);
        let permit = admitted.decisions.iter().find_map(Decision::permit);
        Told { limiter: self, results, rules, receipts: admitted.receipts, permit }
    }

    /// Reserves: rules of the instance are charged, and given back if those of the fleet refuse.
    pub(super) async fn reserve_far(
        self: &Arc<Self>,
        rules: Few<Asked>,
        sheet: Sheet,
    ) -> Result<Reserved, HoldsFull> {
        let order: Vec<bool> = rules.iter().map(|asked| asked.rule.manner.instance).collect();
        let (near, far) = rules.into_iter().partition(|asked| asked.rule.manner.instance);
        let told = self.tell_near(near, Way::Told);
        if told.results.iter().any(|result| result.is_refused()) {
            return Ok(Reserved::new(Decisions::new(told.stays(), sheet.version), None));
        }
        let reserved = Reserve { limiter: self, rules: far, units: 0 }.by_name().await;
        let near = match reserved.as_ref().is_ok_and(|reserved| reserved.is_allowed()) {
            true => told.stays(),
            false => told.give_back(),
        };
        let reserved = reserved?;
        let results = in_order(&order, near, reserved.rules().iter().cloned().collect());
        Ok(Reserved::new(Decisions::new(results, sheet.version), reserved.hold()))
    }

    /// Charges rules of the fleet, and waits for the turn that they give.
    async fn take_far(
        self: &Arc<Self>,
        rules: Vec<Asked>,
        (way, until): Manner,
        holds: &mut Vec<Hold>,
    ) -> Few<RuleResult> {
        let Some(shared) = self.shared.as_ref().filter(|_| !rules.is_empty()) else {
            return Few::default();
        };
        let (results, hold) = self.charge_far(shared, rules, (way, until), false).await;
        let delays = results.iter().filter(|own| own.is_allowed()).filter_map(|own| own.delay());
        let delay = delays.max().map_or(0, |delay| u64::try_from(delay.as_micros()).unwrap_or(0));
        if let Some(hold) = hold {
            if delay > 0 && way == Way::Here && results.iter().all(|own| own.is_allowed()) {
                Turn::new(self, &hold).wait(self.clock.now() + delay).await;
            }
            holds.push(hold);
        }
        results
    }

    /// Charges rules in the shared store, all or none.
    async fn charge_far(
        self: &Arc<Self>,
        shared: &Shared,
        rules: Vec<Asked>,
        (way, until): Manner,
        shadow: bool,
    ) -> (Few<RuleResult>, Option<Hold>) {
        let permits = if way == Way::Here { Permits::Here } else { Permits::ByName };
        let patience = if way == Way::Now { 0 } else { u64::MAX };
        if let Some(decisions) = self.near(shared, &rules, patience) {
            return (self.results(&rules, &decisions, shadow), None);
        }
        let admitted = match until.filter(|_| way == Way::Now) {
            Some(until) => self.admit_within(shared, &rules, until).await,
            None => self.admit_far(shared, &rules, patience, permits).await,
        };
        let hold = match admitted.backing {
            _ if admitted.receipts.is_empty() || way != Way::Here => None,
            Backing::Memory(own) => Some(Hold::new(self, own, admitted.receipts)),
            Backing::Shared(id) => {
                let mut hold = Hold::new(self, rules.clone(), admitted.receipts);
                hold.permit = Some(id);
                if hold.has_permits() {
                    self.keep_shared(shared, id, &rules);
                }
                Some(hold)
            }
        };
        (self.results(&rules, &admitted.decisions, shadow), hold)
    }

    /// Charges a rule in shadow by itself.
    async fn take_shadow(
        self: &Arc<Self>,
        asked: Asked,
        (way, until): Manner,
    ) -> (Few<RuleResult>, Vec<Hold>) {
        let mut holds = Vec::new();
        let results = match self.shared.as_ref().filter(|_| !asked.rule.manner.instance) {
            Some(shared) => {
                let (results, hold) =
                    self.charge_far(shared, vec![asked], (way, until), true).await;
                holds.extend(hold);
                results
            }
            None => self.take(Few::One(asked), way, true, &mut holds),
        };
        (results, holds)
    }
}

impl Told<'_> {
    /// The request passes, or nothing was charged: what the rules said.
    fn stays(mut self) -> Few<RuleResult> {
        (self.permit, self.receipts) = (None, Vec::new());
        mem::take(&mut self.results)
    }

    /// The request does not pass: what the rules said, without permits.
    fn give_back(mut self) -> Few<RuleResult> {
        mem::take(&mut self.results).into_iter().map(RuleResult::without_permit).collect()
    }
}

/// Also where nobody waits for the answer any more.
impl Drop for Told<'_> {
    fn drop(&mut self) {
        if !self.receipts.is_empty() {
            self.limiter.settle_all(&self.rules, &self.receipts, 0);
        }
        if let Some(permit) = self.permit {
            self.limiter.leases.release(&self.limiter.store, permit);
        }
    }
}

/// A turn that the shared store gave. Dropped before it has come, it is given back, if it is the last.
struct Turn<'a> {
    limiter: &'a Arc<Inner>,
    charged: Option<(Vec<Asked>, Vec<Receipt>)>,
    sleeper: Option<Sleeper>,
}

impl<'a> Turn<'a> {
    fn new(limiter: &'a Arc<Inner>, hold: &Hold) -> Turn<'a> {
        let shared = hold.permit.is_some();
        let charged = shared.then(|| (hold.rules.clone(), hold.receipts.clone()));
        Turn { limiter, charged, sleeper: None }
    }

    async fn wait(mut self, tick: u64) {
        poll_fn(|context| {
            let (queues, waker) = (&self.limiter.queues, context.waker());
            let sleeper = self.sleeper.get_or_insert_with(|| queues.sleep(tick, waker));
            if !queues.sleeps(sleeper, self.limiter.clock.now(), waker) {
                return Poll::Ready(());
            }
            alarm::keep(self.limiter);
            Poll::Pending
        })
        .await;
        self.charged = None;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(sleeper) = &self.sleeper {
            self.limiter.queues.rise(sleeper);
        }
        if let Some((rules, receipts)) = mem::take(&mut self.charged) {
            self.limiter.leave_turn(rules, receipts, None);
        }
    }
}
