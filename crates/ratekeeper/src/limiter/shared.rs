//! The walk over a store that is shared: one call of the store, or, if it is away, what each rule does
//! then.
//!
//! Invariants: an outage is a decision with its source, never an error; whatever a server admits by
//! itself is charged to its share, which is kept in step while the store is there.

mod keeper;
mod near;
mod nodes;
mod records;
mod returned;
mod settle;
mod shares;
mod waiting;
mod within;
mod without;

pub(super) use waiting::Stage;

use super::compile::compile;
use super::{Asked, Compiled, Inner, OnStoreFailure};
use crate::decision::Decision;
use crate::key::{Secret, Who};
use crate::limit::Limit;
use crate::name::PermitId;
use crate::store::denied::Denied;
use crate::store::lease::{Heat, Leases};
use crate::store::redis::random::Random;
use crate::store::redis::{
    Again, Ask, Charged, Held, Record, Redis, RedisConfig, StoreError, Tag, Taken,
};
use crate::store::{Charge, Contents, Receipt};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use arc_swap::ArcSwapOption;
use keeper::{Keeper, UnderWay};
use nodes::Nodes;
use shares::Owner;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) struct Shared {
    pub(super) redis: Redis,
    keeper: Keeper,
    nodes: Nodes,
    denied: Denied,
    leases: Leases<Owner>,
    heat: OnceLock<Heat>,
    /// Whether somebody looks for shares that have ended.
    sweeps: AtomicBool,
    /// Whether no more shares are taken.
    drains: AtomicBool,
    /// Requests under way that may bring shares.
    wishes: AtomicUsize,
    /// Makes identities that cannot be guessed.
    secret: Random,
    count: AtomicU64,
}

/// A rule as one server of so many may apply it by itself, once somebody has asked for it.
#[derive(Default)]
pub(super) struct Share(ArcSwapOption<(u32, Arc<Compiled>)>);

/// How permits are held that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permits {
    /// By name, until their time is over.
    ByName,
    /// In this process, until they are given back.
    Here,
    /// By a reservation that has a name, until its time is over.
    Reserved,
}

/// What became of a request.
pub(super) struct Admitted {
    /// One for each limit of each rule.
    pub(super) decisions: Vec<Decision>,
    /// One for each limit of each rule that was charged; none if they refused.
    pub(super) receipts: Vec<Receipt>,
    pub(super) backing: Backing,
}

/// Where something is charged, and can be settled.
pub(super) enum Backing {
    /// In memory, under these rules.
    Memory(Vec<Asked>),
    /// In the shared store; permits have this identity.
    Shared(u64),
}

impl Shared {
    pub(super) fn new(config: RedisConfig, given_time: bool) -> Shared {
        let (nodes, denied) = (Nodes::new(&config), Denied::new(config.forget_refusals));
        let (secret, count) = (Random::new(&config), AtomicU64::new(0));
        let (redis, keeper) = (Redis::new(config, given_time), Keeper::default());
        Shared {
            redis,
            keeper,
            nodes,
            denied,
            leases: Leases::new(),
            heat: OnceLock::new(),
            sweeps: AtomicBool::new(false),
            drains: AtomicBool::new(false),
            wishes: AtomicUsize::new(0),
            secret,
            count,
        }
    }

    /// A new identity that leads to the tag.
    fn id(&self, tag: Tag, permits: Permits) -> NonZeroU64 {
        loop {
            let random = self.secret.number(self.count.fetch_add(1, Ordering::Relaxed));
            if let Some(id) = NonZeroU64::new(tag.id(permits != Permits::ByName, random)) {
                return id;
            }
        }
    }

    /// Those of the rules of which this server has a share, as the fleet is now.
    fn shares(&self, secret: &Secret, rules: &[Asked]) -> Vec<Asked> {
        let nodes = self.nodes.count();
        let own = rules.iter().filter(|asked| asked.is_local());
        own.map(|asked| Asked { rule: asked.rule.share(secret, nodes), ..*asked }).collect()
    }
}

impl Compiled {
    /// The rule as one server of so many may apply it by itself.
    fn share(&self, secret: &Secret, nodes: u32) -> Arc<Compiled> {
        if let Some(made) = self.share.0.load().as_deref().filter(|made| made.0 == nodes) {
            return Arc::clone(&made.1);
        }
        let limits: Vec<Limit> = self.limits.iter().map(|limit| limit.share(nodes)).collect();
        let share = Arc::new(compile(secret, self.id(), &limits, &self.manner));
        self.share.0.store(Some(Arc::new((nodes, Arc::clone(&share)))));
        share
    }
}

/// A charge for each limit of each rule; the caller waits for a turn no longer than `patience`.
fn asks(rules: &[Asked], patience: u64) -> Vec<Ask<'_>> {
    let each = rules.iter().flat_map(|Asked { rule, who, cost }| {
        rule.charges(who.local, *cost).map(move |charge| Ask {
            charge,
            who: who.shared,
            patience,
            share: None,
        })
    });
    each.collect()
}

impl Compiled {
    /// Whether each server has a share while the store is away.
    fn is_local(&self) -> bool {
        self.manner.on_store_failure == OnStoreFailure::Local
    }
}

impl Asked {
    fn is_local(&self) -> bool {
        self.rule.is_local()
    }
}

impl Inner {
    /// Charges all rules, or none: in the shared store, unless it refused a moment ago.
    pub(super) async fn admit_shared(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        patience: u64,
        permits: Permits,
    ) -> Admitted {
        match self.denied(shared, rules, (patience, self.clock.now())) {
            Some(decisions) => Admitted::nowhere(decisions),
            None => self.admit_far(shared, rules, patience, permits).await,
        }
    }

    /// The same for who has looked already whether it is decided [here](Self::near).
    pub(super) async fn admit_far(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        patience: u64,
        permits: Permits,
    ) -> Admitted {
        let asks = asks(rules, patience);
        let Some(first) = asks.first() else {
            return Admitted::nowhere(Vec::new());
        };
        if rules.iter().any(Asked::is_local) {
            shared.nodes.keep(self);
        }
        let held = asks.iter().filter(|ask| ask.charge.hold().is_some() && ask.charge.cost() > 0);
        let id = shared.id(held.clone().next().unwrap_or(first).tag(), permits);
        let mut text = Vec::new();
        held.clone().for_each(|ask| shared.redis.note(ask, &mut text));
        let longest = held.filter_map(|ask| ask.charge.hold()).max();
        let record = longest.filter(|_| permits == Permits::ByName);
        let record =
            record.map(|ticks| Record { what: Held::Permit, id: id.get(), ticks, text: &text });
        let hold_most = if permits == Permits::Reserved { self.holds.time() } else { u64::MAX };
        let taken = Taken { id: id.get(), record, given: self.clock.now(), hold_most };
        let under_way = longest.map(|_| UnderWay { limiter: self, id: id.get(), rules });
        let charged = self.charge_with_shares(shared, (rules, &asks), patience, taken).await;
        self.tell_time(taken.given, charged.is_ok());
        // What took too long, or was lost, may have been carried out.
        let unknown = |error: &StoreError| error.class().policy().retry == Again::Unsent;
        if !charged.as_ref().is_err_and(unknown) {
            under_way.into_iter().for_each(UnderWay::arrived);
        }
        match charged {
            Ok(charged) => {
                let mut admitted = self.arrived(shared, rules, id.get(), charged);
                let named = record.is_some() && !admitted.receipts.is_empty();
                for (ask, decision) in asks.iter().zip(&mut admitted.decisions) {
                    decision.permit = ask.charge.hold().filter(|_| named).map(|_| PermitId(id));
                }
                admitted
            }
            Err(error) => self.failed(shared, rules, (patience, permits), &error),
        }
    }

    /// What the store has answered.
    fn arrived(&self, shared: &Shared, rules: &[Asked], id: u64, charged: Charged) -> Admitted {
        let Charged { decisions, receipts, alien, .. } = charged;
        if alien > 0 {
            self.tell(&shared.redis.alien());
        }
        if !receipts.is_empty() {
            self.keep_warm(shared, rules);
        }
        Admitted { decisions, receipts, backing: Backing::Shared(id) }
    }

    /// Tells the observer how long the store took.
    fn tell_time(&self, start: u64, answered: bool) {
        if let Some(observer) = self.observer.as_ref().filter(|_| answered) {
            let took = self.clock.now().saturating_sub(start);
            observer.store_answered(Duration::from_micros(took));
        }
    }

    /// What a bucket holds, as the store has it, and when; `None` while it is away.
    pub(super) async fn look_shared(
        &self,
        shared: &Shared,
        charge: Charge<'_>,
        who: Who,
        most: usize,
    ) -> Option<(u64, Contents)> {
        let ask = Ask { charge, who: who.shared, patience: 0, share: None };
        let held = shared.redis.look(&ask, most, self.clock.now()).await;
        held.inspect_err(|error| self.tell(error)).ok()
    }

    /// Tells the observer what is wrong with the store.
    fn tell(&self, error: &StoreError) {
        if let Some(observer) = &self.observer {
            observer.store_failed(error);
        }
    }
}

impl Admitted {
    /// Where there is nothing to charge.
    fn nowhere(decisions: Vec<Decision>) -> Admitted {
        Admitted { decisions, receipts: Vec::new(), backing: Backing::Memory(Vec::new()) }
    }
}
