//! One request on its way through the slots: charged in each, and given back if a later one refuses.
//!
//! Invariant: when it is answered, either every bucket was charged, or none is any more, as far as the
//! store can be reached; while it is not answered, no more is charged than was asked for.

use super::super::{Receipt, Stamp};
use super::ask::{self, Back, Seen};
use super::call::Told;
use super::error::{Class, StoreError};
use super::script::Part;
use super::state::{Judged, State};
use super::{Ask, Charged, Known, Record, Redis, Tag, Taken};
use crate::algorithm::bucket::Arrival;
use crate::decision::{Decision, Source};
use tokio::time::Instant;

/// Most buckets of a script of which each may have a share: as many as its flags can tell.
const SHARES: usize = 32;

pub(super) struct Request<'r, 'a> {
    redis: &'r Redis,
    /// Distinct buckets, and for each that was asked which of these it is.
    asks: Vec<Ask<'a>>,
    owner: Vec<usize>,
    taken: Taken<'r>,
    groups: Vec<Vec<usize>>,
    /// What is known of each bucket.
    seen: Vec<Option<Report>>,
    /// Groups that were charged.
    charged: usize,
    /// Whether a group was taken apart, so that the record is made by itself.
    apart: bool,
    pub(super) refused: bool,
    /// What has to be brought over from former names first.
    pub(super) left: Vec<Left<'a>>,
    pub(super) deadline: Instant,
}

/// What a script reported of a bucket.
#[derive(Clone, Copy)]
struct Report {
    /// What it held; nothing if that cannot be read.
    state: Option<State>,
    /// When.
    now: u64,
    /// Whether a share was taken beside the cost.
    share: bool,
}

/// What a key has used under a former rate, and not yet under its own.
pub(super) struct Left<'a> {
    pub(super) ask: Ask<'a>,
    pub(super) former: Ask<'a>,
    pub(super) held: Arrival,
    pub(super) now: u64,
}

impl<'r, 'a> Request<'r, 'a> {
    pub(super) fn new(redis: &'r Redis, asks: &[Ask<'a>], taken: Taken<'r>) -> Request<'r, 'a> {
        let (asks, owner) = merge_same(asks);
        let deadline = redis.deadline();
        // What can never be admitted is not even tried: the buckets are only looked at.
        let refused = asks.iter().any(|ask| ask.charge.cost > ask.charge.meter.shown);
        let (groups, seen) = (redis.groups(&asks), vec![None; asks.len()]);
        Request {
            redis,
            asks,
            owner,
            taken,
            groups,
            seen,
            charged: 0,
            apart: false,
            refused,
            left: Vec::new(),
            deadline,
        }
    }

    /// The same from its start, in what is left of its time.
    pub(super) fn again(&self, asks: &[Ask<'a>]) -> Request<'r, 'a> {
        Request { deadline: self.deadline, ..Request::new(self.redis, asks, self.taken) }
    }

    /// Charges one group after the other; after a refusal the rest are only looked at.
    pub(super) async fn run(&mut self) -> Result<(), StoreError> {
        let mut number = 0;
        while number < self.groups.len() {
            let admitted = match self.charge_group(number).await {
                Err(error) if error.class() == Class::TryAgain && self.take_apart(number) => {
                    continue;
                }
                admitted => admitted?,
            };
            self.charged += usize::from(admitted && !self.refused);
            self.refused |= !admitted;
            number += 1;
        }
        match self.taken.record.filter(|_| self.apart && !self.refused) {
            Some(record) => self.redis.keep(record, self.taken.given).await,
            None => Ok(()),
        }
    }

    /// Makes several groups of one whose slot is on its way to another server, so that its keys may be in
    /// two places; `false` if there is nothing to take apart.
    fn take_apart(&mut self, number: usize) -> bool {
        let group = &self.groups[number];
        if group.len() == 1 && (self.apart || self.taken.record.is_none()) {
            return false;
        }
        let single: Vec<Vec<usize>> = group.iter().map(|index| vec![*index]).collect();
        self.groups.splice(number..=number, single);
        self.apart = true;
        true
    }

    /// Whether all of a group admitted.
    async fn charge_group(&mut self, number: usize) -> Result<bool, StoreError> {
        let (redis, group) = (self.redis, &self.groups[number]);
        let (given, turn) = (self.taken.given, self.turn());
        let tag = self.asks[group[0]].tag();
        let known_before = |index: &usize| self.asks[*index].formers(given).next().is_some();
        let shares = !self.refused && group.len() <= SHARES && !group.iter().any(known_before);
        let mut call = redis.call(true, tag, given, self.deadline);
        for index in group {
            let ask = &self.asks[*index];
            for former in ask.formers(given) {
                call.add(Part::Former, redis.name(&former), ask::former());
            }
            let argument = match ask.share.filter(|_| shares) {
                Some(share) => ask::share(&ask.charge, share, &self.taken),
                None => ask::charge(&ask.charge, self.refused, ask.patience, &self.taken, turn),
            };
            call.add(ask::part_of(&ask.charge.meter.kind), redis.name(ask), argument);
        }
        let record = self.taken.record.filter(|record| {
            let here = redis.topology.together(Tag::of_id(record.id), tag);
            here && !self.refused && !self.apart
        });
        if let Some(record) = record {
            redis.add_record(&mut call, Record { ticks: record.ticks + turn, ..record });
        }
        let keys = call.keys.len();
        let Told { now, rows } = redis.topology.ask(call).await?;
        let (admitted, rows) = rows.split_first().ok_or_else(|| redis.unreadable())?;
        if rows.len() != keys {
            return Err(redis.unreadable());
        }
        let flags = if let Seen::Flags(flags) = admitted { *flags } else { 0 };
        let mut rows = rows.iter();
        for (place, index) in group.iter().enumerate() {
            let ask = self.asks[*index];
            let mut kept = None;
            for former in ask.formers(given) {
                kept = kept.or(rows.next().and_then(Seen::held).map(|held| (former, held)));
            }
            let seen = rows.next().ok_or_else(|| redis.unreadable())?;
            if let Some((former, held)) = kept.filter(|_| *seen == Seen::Nothing) {
                self.left.push(Left { ask, former, held, now });
            }
            let state = seen.state(&ask.charge.meter.kind);
            let share = shares && ask.share.is_some() && flags >> (place + 1) & 1 == 1;
            self.seen[*index] = Some(Report { state, now, share });
        }
        Ok(flags & 1 == 1)
    }

    /// How far away the turn is, as far as it is known.
    fn turn(&self) -> u64 {
        let turn = |index| self.judge(index, self.asks[index].charge.cost);
        let turns = (0..self.asks.len()).filter_map(turn);
        turns.map(|judged| judged.verdict.retry_after.delay()).max().unwrap_or(0)
    }

    /// What a bucket says to a cost.
    fn judge(&self, index: usize, cost: u64) -> Option<Judged> {
        let Report { state, now, .. } = self.seen[index]?;
        let ask = &self.asks[index];
        state?.judge(&ask.charge, cost, now, ask.patience)
    }

    /// What was taken from a bucket if it admitted: the cost, and a share that came with it.
    fn units(&self, index: usize) -> u64 {
        let Ask { charge, share, .. } = &self.asks[index];
        let with = share.filter(|_| self.seen[index].is_some_and(|report| report.share));
        charge.cost.saturating_add(with.map_or(0, |share| share.units))
    }

    /// Gives back what was charged. Where that fails, it stays charged.
    pub(super) async fn give_back(&mut self) {
        let charged: Vec<usize> = self.groups[..self.charged].concat();
        if charged.is_empty() {
            return;
        }
        let mut each = Vec::new();
        for index in charged {
            let (ask, held) = (self.asks[index], self.units(index));
            let stamp = self.judge(index, held).map_or_else(Stamp::default, |judged| judged.stamp);
            let back = match ask.charge.hold() {
                Some(_) => Back::Release(self.taken.id),
                None => Back::Settle { stamp, held, actual: 0 },
            };
            each.push((ask, back));
        }
        let _ = self.redis.back(&each, self.taken.given).await;
        if let Some(record) = self.taken.record {
            let _ = self.redis.take(record.what, record.id, self.taken.given).await;
        }
    }

    /// The decision of each bucket that was asked; if all admitted, a receipt for each. A bucket whose
    /// report makes no sense, or is another's than the script's decision, refuses.
    pub(super) fn answer(&self, asked: &[Ask<'_>]) -> Charged {
        let judge = |index: usize, cost: u64| self.judge(index, cost).unwrap_or(Judged::ALIEN);
        let each = |index: usize| judge(index, self.units(index));
        let mut judged: Vec<Judged> = (0..self.asks.len()).map(each).collect();
        let fits = judged.iter().all(|judged| judged.verdict.allowed());
        if self.refused && fits {
            judged.fill(Judged::ALIEN);
        }
        let refused = self.refused || !fits;
        let unread = (0..self.asks.len()).filter(|index| self.judge(*index, 0).is_none());
        let alien = if self.refused && fits { judged.len() } else { unread.count() };
        let (decisions, receipts, known) = (Vec::new(), Vec::new(), Vec::new());
        let mut charged = Charged { decisions, receipts, alien, known };
        for (index, ask) in self.owner.iter().zip(asked) {
            let Judged { mut verdict, stamp, next } = judged[*index];
            if refused && verdict.allowed() {
                // Nothing was charged: it shows what it still holds.
                verdict = judge(*index, 0).verdict;
            }
            let decision = ask.charge.decision(verdict, Source::Store);
            charged.decisions.push(Decision { atomic: self.groups.len() <= 1, ..decision });
            let seen = self.seen[*index];
            let held = seen.and_then(|report| report.state);
            let state = if refused { held } else { next }.filter(|_| alien == 0);
            let now = seen.map_or(0, |report| report.now);
            let share = !refused && seen.is_some_and(|report| report.share);
            charged.known.push(Known { state, now, share });
            if !refused {
                let (bucket, held) = (ask.charge.bucket, ask.charge.cost);
                charged.receipts.push(Receipt { bucket, shared: false, stamp, held });
            }
        }
        charged
    }
}

/// The asks with those of the same bucket made one, since a charge of their sum is the same as all of
/// them in turn; and for each, which of these it became.
fn merge_same<'a>(asks: &[Ask<'a>]) -> (Vec<Ask<'a>>, Vec<usize>) {
    let mut distinct: Vec<Ask<'a>> = Vec::with_capacity(asks.len());
    let mut owner = Vec::with_capacity(asks.len());
    for ask in asks {
        match distinct.iter().position(|known| known.hash() == ask.hash()) {
            Some(index) => {
                let charge = &mut distinct[index].charge;
                charge.cost = charge.cost.saturating_add(ask.charge.cost);
                distinct[index].share = None;
                owner.push(index);
            }
            None => {
                owner.push(distinct.len());
                distinct.push(*ask);
            }
        }
    }
    (distinct, owner)
}
