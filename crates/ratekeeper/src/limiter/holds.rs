//! Reservations by name: made for callers outside of this process, who settle them later, on whichever
//! server shares the store.
//!
//! Invariants: a reservation is settled once, or its time is over; then it stays charged, and its
//! permits are free. In memory there are never more than the most.

use super::answer::{Answer, NeedsAwait, awaitable};
use super::hold::Reserve;
use super::named::Named;
#[cfg(feature = "redis")]
use super::shared::Shared;
use super::{Asked, Inner};
use crate::decision::Decisions;
use crate::name::HoldId;
use crate::store::{Meter, Receipt};
use std::fmt;
use std::future::IntoFuture;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Most reservations by name at a time, unless said.
pub const HOLDS_MAX: usize = 1 << 16;

/// How long a reservation by name may wait to be settled, unless said.
pub const HOLD_TIME: Duration = Duration::from_secs(600);

pub(super) struct Holds {
    table: Named<Kept>,
    most: usize,
    /// Ticks that each is kept at most.
    time: u64,
}

/// A reservation without its limiter, which it is a part of.
pub(super) struct Kept {
    pub(super) rules: Vec<Asked>,
    pub(super) receipts: Vec<Receipt>,
}

impl Holds {
    pub(super) fn new(most: usize, time: Duration) -> Holds {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        Holds { table: Named::new(most), most, time }
    }

    /// Ticks that each is kept at most.
    #[cfg(feature = "redis")]
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    /// How long one is kept: from its turn on for as long as its permits are held, but no longer than
    /// any.
    pub(super) fn ticks(&self, rules: &[Asked], decisions: &Decisions) -> u64 {
        let permits =
            rules.iter().flat_map(|asked| &asked.rule.meters).filter_map(Meter::hold).max();
        let turn = decisions.delay().unwrap_or_default();
        let turn = u64::try_from(turn.as_micros()).unwrap_or(u64::MAX / 4);
        permits.map_or(self.time, |permits| permits.min(self.time)).saturating_add(turn)
    }
}

impl Inner {
    /// Ends reservations whose time is over.
    #[inline]
    pub(super) fn end_holds(&self) {
        let end = |_, kept: Kept| {
            self.release_all(&kept.rules, &kept.receipts);
            None
        };
        self.holds.table.expire(|| self.clock.now(), end);
    }

    /// Settles a reservation of this process.
    fn settle_named(&self, hold: HoldId, actual: u64) -> bool {
        self.end_names();
        let Some(kept) = self.holds.table.take(hold.0, |kept| kept) else { return false };
        self.settle_all(&kept.rules, &kept.receipts, actual);
        self.release_all(&kept.rules, &kept.receipts);
        true
    }
}

/// A reservation to be made by name; see [`Reserve::by_name`].
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct ByName<'a>(pub(super) Reserve<'a>);

impl ByName<'_> {
    /// The reservation, without await.
    pub fn try_now(self) -> Result<Result<Reserved, HoldsFull>, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn run(self) -> Result<Reserved, HoldsFull> {
        let limiter = self.0.limiter;
        limiter.end_holds();
        let Some(room) = limiter.holds.table.room() else {
            return Err(HoldsFull(limiter.holds.most));
        };
        let mut hold = self.0.run();
        let decisions = hold.decisions.clone();
        if decisions.is_refused() {
            return Ok(Reserved { decisions, hold: None });
        }
        let (rules, receipts) = (mem::take(&mut hold.rules), mem::take(&mut hold.receipts));
        let end = limiter.clock.now().saturating_add(limiter.holds.ticks(&rules, &decisions));
        let name = room.keep(end, Kept { rules, receipts });
        Ok(Reserved { decisions, hold: Some(HoldId(name)) })
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.0.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Result<Reserved, HoldsFull> {
        let Reserve { limiter, rules, .. } = self.0;
        let (decisions, made) = limiter.reserve_by_name(shared, rules).await;
        let hold = match made {
            Some(Ok(hold)) => Some(hold),
            // Without the store it is kept here, if there is room.
            Some(Err(kept)) => limiter.holds.table.room().map(|room| {
                let ticks = limiter.holds.ticks(&kept.rules, &decisions);
                HoldId(room.keep(limiter.clock.now().saturating_add(ticks), kept))
            }),
            None => None,
        };
        Ok(Reserved { decisions, hold })
    }
}

impl fmt::Debug for ByName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByName").field(&self.0).finish()
    }
}

/// What became of a reservation by name. Reads as the [`Decisions`] of its rules.
#[derive(Clone, Debug)]
pub struct Reserved {
    decisions: Decisions,
    hold: Option<HoldId>,
}

impl Reserved {
    pub(super) fn new(decisions: Decisions, hold: Option<HoldId>) -> Reserved {
        Reserved { decisions, hold }
    }

    /// The name to settle it by; `None` if it was refused, or if the shared store went away before it
    /// could be noted: then it stays charged.
    pub fn hold(&self) -> Option<HoldId> {
        self.hold
    }
}

impl Deref for Reserved {
    type Target = Decisions;

    fn deref(&self) -> &Decisions {
        &self.decisions
    }
}

/// There are as many reservations by name as may be; nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldsFull(usize);

impl fmt::Display for HoldsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0;
        write!(f, "there are {most} holds, which is the most; settle or cancel some first")
    }
}

impl std::error::Error for HoldsFull {}

/// A reservation by name to be settled; see [`Limiter::settle`](super::Limiter::settle).
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct SettleByName<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) hold: HoldId,
    pub(super) actual: u64,
}

impl SettleByName<'_> {
    /// Whether there was such a reservation, without await.
    pub fn try_now(self) -> Result<bool, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn run(self) -> bool {
        self.limiter.settle_named(self.hold, self.actual)
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> bool {
        let SettleByName { limiter, hold, actual } = self;
        // One that was made while the store was away is known here alone.
        limiter.settle_named(hold, actual) || limiter.settle_by_name(shared, hold, actual).await
    }
}

impl fmt::Debug for SettleByName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SettleByName").field(&self.hold).finish()
    }
}

awaitable!(['a 'a] ByName<'a>, Result<Reserved, HoldsFull>);
awaitable!(['a 'a] SettleByName<'a>, bool);
