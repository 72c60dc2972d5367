//! Shares that this server takes from buckets in the store, and gives back.
//!
//! Invariants: a share that nobody waits for any more is asked for no longer; what is left over of one is given back,
//! if the store is there.

use super::{Shared, asks};
use crate::key::Who;
use crate::limiter::{Asked, Compiled, Inner};
use crate::store::lease::{self, Granted, LASTS, Left, Part, Wish};
use crate::store::redis::{Ask, Charged, Share, StoreError, Taken};
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
pub(super) struct Wishes {
    limiter: Arc<Inner>,
    /// Which asks have one, and whose it is.
    wished: Vec<(usize, Owner, Share)>,
}

impl Wishes {
    fn new(limiter: &Arc<Inner>) -> Wishes {
        Wishes { limiter: Arc::clone(limiter), wished: Vec::new() }
    }

    fn add(&mut self, number: usize, owner: Owner, share: Share) {
        if let Some(shared) = &self.limiter.shared {
            shared.wishes.fetch_add(1, Ordering::AcqRel);
        }
        self.wished.push((number, owner, share));
    }
}

impl Drop for Wishes {
    fn drop(&mut self) {
        let Some(shared) = &self.limiter.shared else { return };
        for (_, owner, _) in &self.wished {
            shared.wishes.fetch_sub(1, Ordering::AcqRel);
            if let Some(charge) = owner.charge(0) {
                shared.leases.unasked(charge.bucket());
            }
        }
    }
}

impl Inner {
    /// Charges in the store, and takes the shares that are worth it; these also if nobody waits for the answer any
    /// more.
    pub(super) async fn charge_with_shares(
        self: &Arc<Self>,
        shared: &Shared,
        (rules, asked): (&[Asked], &[Ask<'_>]),
        patience: u64,
        taken: Taken<'_>,
    ) -> Result<Charged, StoreError> {
        // Where permits are taken, who leaves gives them back.
        let permits = asked.iter().any(|ask| ask.charge.hold().is_some());
        let wishes = if permits { None } else { self.wish(shared, rules, asked) };
        let Some(wishes) = wishes else {
            let charged = shared.redis.charge(asked, taken).await;
            if let Ok(charged) = &charged {
                self.note(shared, (rules, asked), (taken.given, charged));
            }
            return charged;
        };
        let (limiter, owned) = (Arc::clone(self), rules.to_vec());
        let Taken { id, given, hold_most, .. } = taken;
        let charging = tokio::spawn(async move {
            let taken = Taken { id, record: None, given, hold_most };
            limiter.charge_wishes(wishes, &owned, patience, taken).await
        });
        charging.await.unwrap_or_else(|_| Err(shared.redis.unanswered()))
    }

    /// The same where somebody sees to it that it comes to its end.
    async fn charge_wishes(
        self: &Arc<Self>,
        wishes: Wishes,
        rules: &[Asked],
        patience: u64,
        taken: Taken<'_>,
    ) -> Result<Charged, StoreError> {
        let Some(shared) = &self.shared else { return Ok(Charged::default()) };
        let mut asks = asks(rules, patience);
        for (number, _, share) in &wishes.wished {
            asks[*number].share = Some(*share);
        }
        let charged = shared.redis.charge(&asks, taken).await?;
        self.note(shared, (rules, &asks), (taken.given, &charged));
        self.granted(wishes, &asks, (taken.given, &charged));
        Ok(charged)
    }

    /// The shares to ask the store for with a request, if there are any.
    fn wish(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        asks: &[Ask<'_>],
    ) -> Option<Wishes> {
        if !rules.iter().any(|asked| asked.rule.leases()) {
            return None;
        }
        shared.nodes.keep(self);
        let now = self.clock.now();
        let (mut wishes, mut left) = (None, Vec::new());
        let meters =
            rules.iter().flat_map(|own| (0..own.rule.meters.len()).map(move |meter| (own, meter)));
        for (number, (Asked { rule, who, cost }, meter)) in meters.enumerate() {
            let charge = &asks[number].charge;
            if !rule.leases() || *cost == 0 || *cost > charge.shown() {
                continue;
            }
            let owner = || Owner { rule: Arc::clone(rule), who: *who, meter };
            let hot = if rule.manner.leases_hot { HOT } else { TWICE };
            let (share, over) = shared.wish(charge, owner, hot, now);
            left.extend(over);
            if let Some(share) = share {
                wishes.get_or_insert_with(|| Wishes::new(self)).add(number, owner(), share);
            }
        }
        self.give_shares_back_later(left);
        wishes
    }

    /// Takes what came of it.
    fn granted(
        self: &Arc<Self>,
        mut wishes: Wishes,
        asks: &[Ask<'_>],
        (sent, charged): (u64, &Charged),
    ) {
        let Some(shared) = &self.shared else { return };
        let mut unclaimed = Vec::new();
        for (number, owner, Share { units, .. }) in wishes.wished.drain(..) {
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
        let mut wishes = Wishes::new(self);
        wishes.add(0, owner.clone(), share);
        let limiter = Arc::clone(self);
        runtime.spawn(async move {
            let (Some(shared), Some(ask)) = (&limiter.shared, owner.ask(Some(share))) else {
                return;
            };
            let sent = limiter.clock.now();
            let taken = Taken { id: 0, record: None, given: sent, hold_most: 0 };
            match shared.redis.charge(&[ask], taken).await {
                Ok(charged) => limiter.granted(wishes, &[ask], (sent, &charged)),
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
            shared.denied.forget(charge.bucket(), self.clock.now());
            if reset {
                shared.leases.end(charge.bucket());
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
