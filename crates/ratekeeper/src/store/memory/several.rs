//! Several buckets as one charge: all, or none if one refuses.
//!
//! The books of their shards are opened in order, so that no bucket moves; then every newcomer gets
//! its place; then the lines of all buckets are held, evaluated, and written only if all admit.
//! Trying one after the other and undoing would refuse neighbours on a charge that never was.
//! Invariant: books are opened in the order of the shards, the shared one last, and never while a
//! line is held.

use super::super::{Charge, Kind, Receipt, Stamp};
use super::arrivals::{Narrow, Turn};
use super::line::{Locked, Seen, tag_of};
use super::logs::At;
use super::place::Book;
use super::shard::{Shard, with_words};
use super::slots::{Place, Slots};
use super::words::Words;
use super::{Memory, NO_PERMIT, NO_ROOM};
use crate::algorithm::Verdict;
use crate::decision::{Decision, Source};
use crate::sync::MutexGuard;

/// Charges all, or none; each decision is its bucket's own, and if all admit there is a receipt for
/// each charge.
pub(super) fn charge_all(
    memory: &Memory,
    now: u64,
    charges: &[Charge<'_>],
) -> (Vec<Decision>, Vec<Receipt>) {
    let (distinct, owner) = merge_same(charges);
    let mut request = Request::open(memory, now, distinct);
    let mut verdicts = request.check(false);
    if verdicts.iter().all(Verdict::allowed) {
        request.place();
        verdicts = request.charge();
    }
    let admitted = verdicts.iter().all(Verdict::allowed);
    if !admitted {
        // Nothing was charged: the buckets that would have admitted show what they still hold.
        request.note_refusals(&verdicts);
        let peeks = request.check(true);
        for (verdict, peek) in
            verdicts.iter_mut().zip(peeks).filter(|(verdict, _)| verdict.allowed())
        {
            *verdict = peek;
        }
    }
    for (index, first) in &request.twins {
        verdicts[*index] = verdicts[*first];
        request.stamps[*index] = request.stamps[*first];
    }
    let receipts = owner.iter().zip(charges).filter(|_| admitted);
    let receipts = receipts.map(|(index, charge)| request.receipt(*index, charge.cost)).collect();
    let decisions = owner.iter().map(|index| request.decision(*index, verdicts[*index])).collect();
    (decisions, receipts)
}

/// The charges with those to the same bucket made one, since a charge of their sum is the same as
/// all of them in turn; and for each charge, which of these it became.
fn merge_same<'c>(charges: &[Charge<'c>]) -> (Vec<Charge<'c>>, Vec<usize>) {
    let mut distinct: Vec<Charge<'c>> = Vec::with_capacity(charges.len());
    let mut owner = Vec::with_capacity(charges.len());
    for charge in charges {
        match distinct.iter().position(|known| known.bucket == charge.bucket) {
            Some(index) => {
                distinct[index].cost = distinct[index].cost.saturating_add(charge.cost);
                owner.push(index);
            }
            None => {
                owner.push(distinct.len());
                distinct.push(*charge);
            }
        }
    }
    (distinct, owner)
}

/// The charges of one request, to distinct buckets, and the shards that they are in.
struct Request<'m, 'c> {
    memory: &'m Memory,
    now: u64,
    charges: Vec<Charge<'c>>,
    /// The shard of each charge: its bucket's own, or the shared one.
    at: Vec<usize>,
    /// Charges that another one has taken over, since both came to the same shared bucket.
    twins: Vec<(usize, usize)>,
    /// Charges for permits of a key that there is no room for.
    roomless: Vec<usize>,
    /// Where each charge went, once it was made.
    stamps: Vec<Stamp>,
    /// The open books, by shard.
    books: Vec<(usize, MutexGuard<'m, Book>)>,
}

impl<'m, 'c> Request<'m, 'c> {
    fn open(memory: &'m Memory, now: u64, charges: Vec<Charge<'c>>) -> Request<'m, 'c> {
        let at: Vec<usize> = charges.iter().map(|charge| memory.shard_of(charge.bucket)).collect();
        let mut shards = at.clone();
        shards.sort_unstable();
        shards.dedup();
        let books =
            shards.into_iter().map(|shard| (shard, memory.shards[shard].0.book())).collect();
        let stamps = vec![Stamp::default(); charges.len()];
        let (twins, roomless) = (Vec::new(), Vec::new());
        Request { memory, now, charges, at, twins, roomless, stamps, books }
    }

    fn receipt(&self, index: usize, held: u64) -> Receipt {
        let (bucket, stamp) = (self.charges[index].bucket, self.stamps[index]);
        Receipt { bucket, shared: self.is_shared(index), stamp, held }
    }

    fn is_shared(&self, index: usize) -> bool {
        self.at[index] == self.memory.overflow()
    }

    fn decision(&self, index: usize, verdict: Verdict) -> Decision {
        let shared = self.is_shared(index) || self.roomless.contains(&index);
        self.charges[index].decision(verdict, if shared { Source::Overflow } else { Source::Store })
    }

    /// What each bucket says to its charge, or to a peek; writes nothing.
    fn check(&self, peek: bool) -> Vec<Verdict> {
        let check = |(index, charge): (usize, &Charge<'_>)| {
            let cost = if peek { 0 } else { charge.cost };
            self.shard(index).check(self.book(index), self.now, &Charge { cost, ..*charge })
        };
        self.charges.iter().enumerate().map(check).collect()
    }

    /// Marks the buckets that refused, so that they stay.
    fn note_refusals(&mut self, verdicts: &[Verdict]) {
        for (index, verdict) in verdicts.iter().enumerate() {
            if verdict.retry_after.ticks().is_some() {
                let (shard, charge) = (self.shard(index), self.charges[index]);
                shard.note_refusal(self.book_mut(index), &charge);
            }
        }
    }

    /// Gives every newcomer its place, or where there is none, turns its charge to the shared bucket.
    fn place(&mut self) {
        let mut mine: Vec<u64> = self.charges.iter().map(|charge| charge.bucket).collect();
        for index in 0..mine.len() {
            let charge = self.charges[index];
            if charge.cost == 0
                || self.place_one(index, &mine)
                || self.memory.relieve(self.now, charge.bucket) && self.place_one(index, &mine)
            {
                continue;
            }
            if !charge.is_shareable() {
                // Permits are not shared, nor are limits that callers choose.
                self.roomless.push(index);
                continue;
            }
            self.share(index);
            mine[index] = self.charges[index].bucket;
            self.place_one(index, &mine);
        }
    }

    /// Turns a charge to the shared bucket of its rule; if another one is there already, they are one.
    fn share(&mut self, index: usize) {
        let (overflow, shared) = (self.memory.overflow(), self.charges[index].shared());
        let same = |other: &usize| {
            self.at[*other] == overflow && self.charges[*other].bucket == shared.bucket
        };
        let first = (0..index).find(same);
        (self.at[index], self.charges[index]) = (overflow, shared);
        if let Some(first) = first {
            self.charges[first].cost = self.charges[first].cost.saturating_add(shared.cost);
            self.charges[index].cost = 0;
            self.twins.push((index, first));
        }
        if self.books.iter().all(|(shard, _)| *shard != overflow) {
            self.books.push((overflow, self.shard(index).book()));
        }
    }

    fn place_one(&mut self, index: usize, mine: &[u64]) -> bool {
        let (shard, now, charge) = (self.shard(index), self.now, self.charges[index]);
        shard.place(self.book_mut(index), now, &charge, mine)
    }

    /// Holds the lines of all buckets, and writes if all admit.
    fn charge(&mut self) -> Vec<Verdict> {
        let mut lines = Lines { one: Grips(Vec::new()), two: Grips(Vec::new()) };
        let mut places = Vec::with_capacity(self.charges.len());
        for (index, charge) in self.charges.iter().enumerate() {
            let (at, shard) = (self.at[index], self.shard(index));
            places.push(with_words!(charge,
                (&mut lines.one, &shard.one),
                (&mut lines.two, &shard.two),
                _log => None,
                |table, _algorithm| table.0.hold(at, table.1, charge.bucket)));
        }
        let each = 0..self.charges.len();
        let verdicts: Vec<Verdict> =
            each.map(|index| self.evaluate(&lines, index, places[index])).collect();
        if verdicts.iter().all(Verdict::allowed) {
            for (index, place) in places.into_iter().enumerate() {
                self.stamps[index] = self.write(&mut lines, index, place, verdicts[index]);
            }
        }
        verdicts
    }

    fn evaluate(&self, lines: &Lines<'_>, index: usize, place: Option<Place>) -> Verdict {
        let (now, charge) = (self.now, &self.charges[index]);
        with_words!(charge, &lines.one, &lines.two,
        log => match self.book(index).logs.contains(charge.bucket) || charge.cost == 0 {
            true => self.book(index).logs.check(log, charge.bucket, now, charge.cost),
            false => NO_ROOM,
        },
        |grips, algorithm| match place {
            None if charge.cost > 0 && !charge.is_shareable() => NO_PERMIT,
            None if charge.cost > 0 => NO_ROOM,
            _ => algorithm.charge_words(grips.words(place), now, charge.cost).0,
        })
    }

    fn write(
        &mut self,
        lines: &mut Lines<'_>,
        index: usize,
        place: Option<Place>,
        verdict: Verdict,
    ) -> Stamp {
        let (now, charge) = (self.now, self.charges[index]);
        let cost = charge.cost;
        if cost == 0 {
            return Stamp::default();
        }
        with_words!(charge, &mut lines.one, &mut lines.two,
        log => {
            let shard = self.shard(index);
            shard.record(self.book_mut(index), log, charge.bucket, At { now, cost, verdict });
            let tick = self.book(index).logs.newest(charge.bucket).unwrap_or(now);
            Stamp { tick, part: 0 }
        },
        |grips, algorithm| {
            let (verdict, words) = algorithm.charge_words(grips.words(place), now, cost);
            let tag = tag_of(charge.bucket);
            grips.write(place, Seen { tag, spent: algorithm.stays(&verdict), words });
            algorithm.stamp(words)
        })
    }

    fn shard(&self, index: usize) -> &'m Shard {
        &self.memory.shards[self.at[index]].0
    }

    fn book(&self, index: usize) -> &Book {
        &self.books[self.book_of(index)].1
    }

    fn book_mut(&mut self, index: usize) -> &mut Book {
        let book = self.book_of(index);
        &mut self.books[book].1
    }

    fn book_of(&self, index: usize) -> usize {
        self.books.partition_point(|(shard, _)| *shard < self.at[index])
    }
}

/// The lines that a request holds.
struct Lines<'m> {
    one: Grips<'m, 1, 4>,
    two: Grips<'m, 2, 5>,
}

/// Those of one kind, each with its shard and number.
struct Grips<'m, const N: usize, const S: usize>(Vec<(usize, usize, Locked<'m, N, S>)>);

impl<'m, const N: usize, const S: usize> Grips<'m, N, S> {
    /// Holds the line of a bucket, unless it is held already: two buckets may share one. Says which
    /// of the lines it is, and in which slot the bucket.
    fn hold(&mut self, shard: usize, slots: &'m Slots<N, S>, bucket: u64) -> Option<Place> {
        let (line, slot) = slots.locate(bucket)?;
        let known = self.0.iter().position(|(of, number, _)| (*of, *number) == (shard, line));
        if known.is_none() {
            self.0.push((shard, line, slots.line(line)?.lock()));
        }
        Some((known.unwrap_or(self.0.len() - 1), slot))
    }

    fn words(&self, place: Option<Place>) -> [u64; N] {
        place.map_or([0; N], |(grip, slot)| self.0[grip].2.words(slot))
    }

    fn write(&mut self, place: Option<Place>, seen: Seen<N>) {
        if let Some((grip, slot)) = place {
            self.0[grip].2.write(slot, seen);
        }
    }
}
