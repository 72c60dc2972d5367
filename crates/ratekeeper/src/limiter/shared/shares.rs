//! Shares that this server takes from buckets in the store, and gives back.
//!
//! Invariants: a share that nobody waits for any more is asked for no longer; what is left over of one is given back,
//! if the store is there.

use super::Shared;
use crate::key::Who;
use crate::limiter::{Asked, Compiled, Inner};
use crate::store::lease::{self, Granted, LASTS, Left, Part, Wish};
use crate::store::redis::{Ask, Charged, Share, Taken};
use crate::store::{Charge, Meter};
use crate::sync::Ordering;
use std::sync::Arc;
use tokio::runtime::Handle;

/// How often in a second a key has to be asked for, for its units to be taken in shares: under a rule that leases, and
/// under one that does so for hot keys.
const TWICE: u64 = 2;
const HOT: u64 = 100;

/// Whose share it is: one limit of a rule for a key.
#[derive(Clone)]
pub(super) struct Owner {
    rule: Arc<Compiled>,
    who: Who,
    meter: usize,
}

impl Owner {
    fn charge(&self, cost: u64) -> Option<Charge<'_>> {
        let meter: &Meter = self.rule.meters.get(self.meter)?;
        Some(Charge::new(meter, self.who.local, cost))
    }

    pub(super) fn ask(&self, share: Option<Share>) -> Option<Ask<'_>> {
        Some(Ask { charge: self.charge(0)?, who: self.who.shared, patience: 0, share })
    }
}

impl Compiled {
    /// Whether units may be taken in shares: not of lines, in which each has its turn, not of permits, which somebody
    /// holds, and not where what was charged is settled, since a share has no charge of its own for each request.
    #[inline]
    pub(super) fn leases(&self) -> bool {
        self.manner.leases && self.plain
    }
}

/// Shares that are asked for with a request; given up with it.
pub(super) struct Wishes<'s> {
    shared: &'s Shared,
    /// Which asks have one, whose it is, and of how many units.
    wished: Vec<(usize, Owner, u64)>,
    /// Whether any rule of the request leases.
    leases: bool,
}

impl Wishes<'_> {
    fn add(&mut self, number: usize, owner: Owner, units: u64) {
        self.shared.wishes.fetch_add(1, Ordering::AcqRel);
        self.wished.push((number, owner, units));
    }
}

impl Drop for Wishes<'_> {
    fn drop(&mut self) {
        for (_, owner, _) in &self.wished {
            self.shared.wishes.fetch_sub(1, Ordering::AcqRel);
            if let Some(charge) = owner.charge(0) {
                self.shared.leases.unasked(charge.bucket());
            }
        }
    }
}

impl Inner {
    /// Adds shares to what the store is asked for, where that is worth it.
    pub(super) fn wish<'s>(
        self: &Arc<Self>,
        shared: &'s Shared,
        rules: &[Asked],
        asks: &mut [Ask<'_>],
    ) -> Wishes<'s> {
        let leases = rules.iter().any(|asked| asked.rule.leases());
        let mut wishes = Wishes { shared, wished: Vec::new(), leases };
        if !leases {
            return wishes;
        }
        shared.nodes.keep(self);
        let now = self.clock.now();
        let (mut number, mut left) = (0, Vec::new());
        for Asked { rule, who, cost } in rules {
            for meter in 0..rule.meters.len() {
                let ask = &mut asks[number];
                if rule.leases() && *cost > 0 {
                    let owner = || Owner { rule: Arc::clone(rule), who: *who, meter };
                    let hot = if rule.manner.leases_hot { HOT } else { TWICE };
                    let (share, over) = shared.wish(&ask.charge, owner, hot, now);
                    ask.share = share;
                    left.extend(over);
                    if let Some(share) = share {
                        wishes.add(number, owner(), share.units);
                    }
                }
                number += 1;
            }
        }
        self.give_shares_back_later(left);
        wishes
    }

    /// Takes what came of it.
    pub(super) fn granted(
        self: &Arc<Self>,
        mut wishes: Wishes<'_>,
        asks: &[Ask<'_>],
        (sent, charged): (u64, &Charged),
    ) {
        let shared = wishes.shared;
        if wishes.leases {
            for (ask, decision) in asks.iter().zip(&charged.decisions) {
                shared.leases.told(ask.charge.bucket(), decision.remaining());
            }
        }
        let mut unclaimed = Vec::new();
        for (number, owner, units) in wishes.wished.drain(..) {
            shared.wishes.fetch_sub(1, Ordering::AcqRel);
            let (ask, known) = (&asks[number], &charged.known[number]);
            let receipt = charged.receipts.get(number).filter(|_| known.share);
            let granted = receipt.map(|receipt| {
                let lasts = ask.charge.edge(known.now).map_or(LASTS, |edge| edge.min(LASTS));
                let decision = &charged.decisions[number];
                Granted {
                    part: Part {
                        left: units,
                        until: sent + lasts,
                        held: units,
                        stamp: receipt.stamp(),
                    },
                    remaining: decision.remaining(),
                    whole: sent.saturating_add(decision.verdict.reset_after),
                }
            });
            let claimed = shared.leases.granted(ask.charge.bucket(), granted);
            match granted {
                Some(_) if claimed => self.sweep(shared),
                Some(granted) => unclaimed.push((owner, granted.part)),
                None => {}
            }
        }
        self.give_shares_back_later(unclaimed);
    }

    /// Asks for another share before the one that there is has been spent.
    pub(super) fn renew_share(
        self: &Arc<Self>,
        shared: &Shared,
        rule: &Arc<Compiled>,
        who: Who,
        meter: usize,
    ) {
        let Ok(runtime) = Handle::try_current() else { return };
        let owner = Owner { rule: Arc::clone(rule), who, meter };
        let Some(charge) = owner.charge(0) else { return };
        let (share, left) = shared.wish(&charge, || owner.clone(), u64::MAX, self.clock.now());
        self.give_shares_back_later(left);
        let Some(share) = share else { return };
        let limiter = Arc::clone(self);
        runtime.spawn(async move {
            let Some(shared) = &limiter.shared else { return };
            let mut wishes = Wishes { shared, wished: Vec::new(), leases: true };
            wishes.add(0, owner.clone(), share.units);
            let Some(ask) = owner.ask(Some(share)) else { return };
            let sent = limiter.clock.now();
            let taken = Taken { id: 0, record: None, given: sent, hold_most: 0 };
            let asks = [ask];
            match shared.redis.charge(&asks, taken).await {
                Ok(charged) => limiter.granted(wishes, &asks, (sent, &charged)),
                Err(error) => limiter.tell(&error),
            }
        });
    }

    /// Ends all shares, because other rules count from now on.
    pub(in crate::limiter) fn end_shares(self: &Arc<Self>) {
        if let Some(shared) = &self.shared {
            shared.denied.clear(self.clock.now());
            self.give_shares_back_later(shared.leases.end_all());
        }
    }

    /// Forgets what is known here of the buckets of a key: something came back to them; `reset` if they were forgotten.
    pub(super) fn forget_near(&self, shared: &Shared, asks: &[Ask<'_>], reset: bool) {
        for Ask { charge, .. } in asks {
            match reset {
                true => {
                    shared.denied.reset(charge.bucket(), self.clock.now());
                    shared.leases.end(charge.bucket());
                }
                false => shared.denied.forget(charge.bucket()),
            }
        }
    }
}

impl Shared {
    fn wish(
        &self,
        charge: &Charge<'_>,
        owner: impl FnOnce() -> Owner,
        hot: u64,
        now: u64,
    ) -> (Option<Share>, Vec<Left<Owner>>) {
        let nodes = self.nodes.fleet(now).filter(|_| !self.drains.load(Ordering::Relaxed));
        let most = nodes.map_or(0, |nodes| lease::share(charge.shown(), nodes) - 1);
        let nodes = nodes.unwrap_or(1);
        let wish = Wish { units: charge.cost(), most, nodes, now };
        let is_hot = || {
            let heat = self.heat.get_or_init(lease::Heat::new);
            most > 0 && hot < u64::MAX && heat.touch(charge.bucket(), now) >= hot
        };
        self.leases.wish(charge.bucket(), owner, wish, is_hot)
    }
}
