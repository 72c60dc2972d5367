//! Admitting what takes more than a bucket: a turn, a permit, a receipt.
//!
//! Invariants: who is given a turn, stands in line or was told it while no other turn of that bucket
//! could be given; what an admission took is given back once, by its receipt.

use super::leases::Part;
use super::queue::{Held, Ticket};
use super::{Compiled, Inner};
use crate::algorithm::Retry;
use crate::algorithm::bucket::Arrival;
use crate::decision::{Decision, Source};
use crate::few::Few;
use crate::store::{Charge, Receipt};
use std::task::Waker;

/// What became of charges: all of them were made, or none.
pub(super) struct Admitted {
    /// One for each charge.
    pub(super) decisions: Vec<Decision>,
    /// One for each charge; none if they were refused.
    pub(super) receipts: Vec<Receipt>,
    /// The places in line, where turns are not yet.
    pub(super) tickets: Few<Ticket>,
    /// The last tick of turns that nothing changes, which have no place in line.
    pub(super) told: u64,
    /// Whether others of the same bucket had their turn at the same time, and go first.
    pub(super) behind: bool,
    pub(super) now: u64,
}

/// What became of the charge of a bucket that shapes.
pub(super) struct Turn {
    pub(super) decision: Decision,
    pub(super) tickets: Few<Ticket>,
    pub(super) told: u64,
    pub(super) behind: bool,
    pub(super) now: u64,
}

impl Admitted {
    /// As one decision.
    pub(super) fn turn(self) -> Turn {
        let Admitted { decisions, tickets, told, behind, now, .. } = self;
        Turn { decision: Decision::together(&decisions), tickets, told, behind, now }
    }
}

impl Inner {
    /// Charges all or none. With a waker a turn that is to come is waited for in line, else it is told.
    pub(super) fn admit(&self, charges: &[Charge<'_>], waker: Option<&Waker>) -> Admitted {
        if charges.iter().any(|charge| charge.hold().is_some()) {
            self.end_names();
        }
        let shaped = charges.iter().filter(|charge| charge.pace().is_some());
        let mut lines = self.queues.hold(shaped.clone().map(Charge::bucket));
        let now = self.clock.now();
        let mut behind = false;
        for charge in shaped {
            behind |= lines.release(charge.bucket(), now);
        }
        let (decisions, receipts) = self.store.charge_all(now, charges);
        let (mut tickets, mut told) = (Few::default(), now);
        for ((charge, receipt), decision) in charges.iter().zip(&receipts).zip(&decisions) {
            if charge.pace().is_none() || charge.cost() == 0 {
                continue;
            }
            let ticket = match receipt.is_shared() {
                true => None,
                false => take_place(&mut lines, charge, receipt.until(), now, waker),
            };
            match ticket {
                Some(ticket) => tickets.push(ticket),
                None => told = told.max(now + decision.verdict.retry_after.delay()),
            }
        }
        Admitted { decisions, receipts, tickets, told, behind, now }
    }

    /// The same for a single bucket that shapes, without receipts.
    pub(super) fn admit_turn(&self, charge: &Charge<'_>, waker: Option<&Waker>) -> Turn {
        let mut lines = self.queues.hold_one(charge.bucket());
        let now = self.clock.now();
        let behind = lines.release(charge.bucket(), now);
        let (decision, until) = self.store.charge_turn(now, charge);
        let ticket = until.and_then(|until| take_place(&mut lines, charge, until, now, waker));
        let delay = if charge.cost() > 0 { decision.verdict.retry_after.delay() } else { 0 };
        let told = if ticket.is_none() { now + delay } else { now };
        Turn { decision, tickets: ticket.into_iter().collect(), told, behind, now }
    }

    /// The same, and what is held of concurrency limits becomes a permit by name.
    pub(super) fn admit_by_name(&self, charges: &[Charge<'_>], waker: Option<&Waker>) -> Admitted {
        let takes_permit = |charge: &Charge<'_>| charge.cost() > 0 && charge.hold().is_some();
        if !charges.iter().any(takes_permit) {
            return self.admit(charges, waker);
        }
        self.end_names();
        let Some(room) = self.leases.room() else { return self.no_room(charges) };
        let mut admitted = self.admit(charges, waker);
        let charged = charges.iter().zip(&admitted.receipts);
        // Whoever has to wait for its turn holds what it took from then on.
        let turns = admitted.decisions.iter().map(|decision| decision.verdict.retry_after.delay());
        let turn = admitted.now + turns.max().unwrap_or(0);
        let parts = charged.filter_map(|(charge, receipt)| {
            charge.hold().map(|hold| Part { end: turn + hold, receipt: *receipt })
        });
        let parts: Vec<Part> = parts.collect();
        if !parts.is_empty() {
            let id = room.keep(parts);
            for (charge, decision) in charges.iter().zip(&mut admitted.decisions) {
                decision.permit = charge.hold().map(|_| id);
            }
        }
        admitted
    }

    /// Refuses permits by name, of which there are too many.
    fn no_room(&self, charges: &[Charge<'_>]) -> Admitted {
        let peeks: Vec<Charge<'_>> = charges.iter().map(Charge::peek).collect();
        let mut admitted = self.admit(&peeks, None);
        for (charge, decision) in charges.iter().zip(&mut admitted.decisions) {
            if charge.hold().is_some() {
                let never = charge.cost() > decision.limit;
                decision.verdict.retry_after = if never { Retry::NEVER } else { Retry::UNKNOWN };
                decision.source = Source::Overflow;
            }
        }
        admitted.receipts.clear();
        admitted
    }

    /// Ends permits and reservations by name whose time is over.
    #[inline]
    pub(super) fn end_names(&self) {
        self.leases.expire(&self.store, || self.clock.now());
        self.end_holds();
    }

    /// Gives up places in line, unless their turns have come; all behind them move up.
    pub(super) fn leave<'c>(&self, tickets: &[Ticket], charges: impl Iterator<Item = Charge<'c>>) {
        for charge in charges {
            let own = |ticket: &&Ticket| ticket.is_of(charge.bucket());
            let Some(ticket) = tickets.iter().find(own) else { continue };
            let mut lines = self.queues.hold_one(charge.bucket());
            if let Some(end) = lines.leave(ticket, self.clock.now()) {
                self.store.move_end(&charge, end);
            }
        }
    }

    /// Whether any of these places still waits for its turn; if so, `waker` will be woken then.
    pub(super) fn waits(&self, tickets: &[Ticket], waker: &Waker) -> bool {
        let now = self.clock.now();
        // Each of them has to know whom to wake.
        let each = tickets.iter().map(|ticket| self.queues.waits(ticket, now, waker));
        each.fold(false, |any, waits| any | waits)
    }

    /// Gives units back. Where somebody waits in line, the turns before were used, and permits are
    /// given back by who holds them.
    pub(super) fn refund(&self, rule: &Compiled, fingerprint: u64, units: u64) -> Decision {
        self.end_names();
        let refund = |charge: Charge<'_>| {
            let mut line = self.line_of(&charge);
            let now = self.clock.now();
            let waiting = line.as_mut().is_some_and(|line| line.is_waiting(charge.bucket(), now));
            match waiting || charge.hold().is_some() {
                true => self.store.charge(now, &charge.peek()),
                false => self.store.refund(now, &charge),
            }
        };
        Decision::together(&rule.charges(fingerprint, units).map(refund).collect::<Vec<_>>())
    }

    /// Forgets what was used. The first who waits in line has its turn now.
    pub(super) fn reset(&self, rule: &Compiled, fingerprint: u64) -> Decision {
        for charge in rule.charges(fingerprint, 0) {
            let bucket = charge.bucket();
            if charge.hold().is_some() {
                self.leases.forget(&self.store, bucket);
                continue;
            }
            let mut line = self.line_of(&charge);
            let now = self.clock.now();
            match line.as_mut().and_then(|line| line.begin_now(bucket, now)) {
                Some(end) => self.store.move_end(&charge, end),
                None => self.store.reset(&charge),
            }
        }
        self.charge_at(self.clock.now(), rule, fingerprint, 0)
    }

    /// Settles a charge at what was really used. Where others wait in line behind it, its turn was
    /// used, whatever it cost.
    pub(super) fn settle(&self, charge: &Charge<'_>, receipt: &Receipt, actual: u64) {
        let mut line = if receipt.is_shared() { None } else { self.line_of(charge) };
        let now = self.clock.now();
        if !line.as_mut().is_some_and(|line| line.is_waiting(charge.bucket(), now)) {
            self.store.settle(now, charge, receipt, actual);
        }
    }

    /// Holds the line of a bucket that shapes, so that nobody enters while the bucket changes.
    fn line_of(&self, charge: &Charge<'_>) -> Option<Held<'_>> {
        charge.pace().map(|_| self.queues.hold_one(charge.bucket()))
    }
}

/// Gives a charge that was admitted, and will have drained at `until`, its place: in line for who
/// brings a waker, if the turn is to come, else a turn that was told.
fn take_place(
    lines: &mut Held<'_>,
    charge: &Charge<'_>,
    until: Arrival,
    now: u64,
    waker: Option<&Waker>,
) -> Option<Ticket> {
    let (bucket, cost, pace) = (charge.bucket(), charge.cost(), charge.pace()?);
    let start = pace.earlier(until, cost, now);
    match waker.filter(|_| start.up() > now) {
        Some(waker) => Some(lines.enter(bucket, (pace, start), cost, waker)),
        None => {
            lines.tell(bucket, cost);
            None
        }
    }
}
