//! Sliding window log: every admitted request with its time; exact in every window.
//!
//! An entry counts while it is less than a period old; one exactly a period old is out. Refused
//! requests are not entered, so a client that hammers still recovers, and a log never holds more
//! than `amount` units. Invariant: entries are in order of time, and `units` is the sum of their
//! costs.

use super::{PERIOD_MAX, Retry, UNITS_MAX, Verdict, settled};
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    amount: u64,
    period: u64,
}

/// The state of one key: what was admitted, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    entries: VecDeque<Entry>,
    units: u64,
}

/// Bits of an entry that hold its cost; the others hold its time.
const COST_BITS: u32 = 12;

/// Most units in one entry; a larger cost takes several entries of the same time.
const ENTRY_MAX: u64 = 1 << COST_BITS;

/// Time and cost in one word: `tick << 12 | cost − 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    fn new(at: u64, cost: u64) -> Entry {
        Entry(at << COST_BITS | (cost - 1))
    }

    fn at(self) -> u64 {
        self.0 >> COST_BITS
    }

    fn cost(self) -> u64 {
        (self.0 & (ENTRY_MAX - 1)) + 1
    }
}

impl SlidingLog {
    /// `None` beyond [`UNITS_MAX`] or [`PERIOD_MAX`].
    pub fn new(amount: NonZeroU64, period: NonZeroU64) -> Option<SlidingLog> {
        let (amount, period) = (amount.get(), period.get());
        (amount <= UNITS_MAX && period <= PERIOD_MAX).then_some(SlidingLog { amount, period })
    }

    /// The length of the window, in ticks.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// What the log says to `cost` units; [`record`](SlidingLog::record) then enters them.
    pub fn check(&self, log: &Log, now: u64, cost: u64) -> Verdict {
        let now = log.not_before_newest(now);
        let used = log.units - self.expired(log, now).map(Entry::cost).sum::<u64>();
        self.verdict(used, log.newest().unwrap_or(0), now, cost, |excess| {
            self.wait(log, now, excess)
        })
    }

    /// What a log says that holds so many units which count, the newest of them of that time, no later
    /// than `now`; `wait` finds how long it takes until as many of the oldest are out.
    pub(crate) fn verdict(
        &self,
        used: u64,
        newest: u64,
        now: u64,
        cost: u64,
        wait: impl FnOnce(u64) -> u64,
    ) -> Verdict {
        let free = self.amount.saturating_sub(used);
        let allowed = cost == 0 || cost <= free;
        let reset_after = match used {
            _ if allowed && cost > 0 => self.period,
            0 => 0,
            _ => newest + self.period - now,
        };
        Verdict {
            remaining: if allowed { free - cost } else { free },
            reset_after,
            retry_after: Retry::judge(allowed, cost, self.amount, || {
                wait(used + cost - self.amount)
            }),
            more_after: 0,
        }
    }

    /// The verdict with the time at which there is more, of a key whose log it was asked about.
    pub fn with_more(&self, verdict: Verdict, log: &Log, now: u64) -> Verdict {
        let now = log.not_before_newest(now);
        let used = log.units - self.expired(log, now).map(Entry::cost).sum::<u64>();
        self.told_more(verdict, used, |excess| self.wait(log, now, excess))
    }

    /// The same of a log that holds so many units which count; see [`verdict`](SlidingLog::verdict).
    pub(crate) fn told_more(
        &self,
        verdict: Verdict,
        used: u64,
        wait: impl FnOnce(u64) -> u64,
    ) -> Verdict {
        let more_after = match used {
            _ if verdict.retry_after.ticks().is_some() => 0,
            0 if verdict.remaining == self.amount => 0,
            0 => self.period,
            // The oldest unit has to go, and before it what was used beyond the amount.
            _ => wait(used.saturating_sub(self.amount) + 1),
        };
        Verdict { more_after, ..verdict }
    }

    /// How many entries a cost takes.
    pub fn entries_for(cost: u64) -> usize {
        cost.div_ceil(ENTRY_MAX) as usize
    }

    /// Enters an admitted cost, after dropping what is too old to count.
    pub fn record(&self, log: &mut Log, now: u64, cost: u64) {
        self.prune(log, now);
        let now = log.not_before_newest(now);
        let mut rest = cost;
        while rest > 0 {
            let part = rest.min(ENTRY_MAX);
            log.entries.push_back(Entry::new(now, part));
            rest -= part;
        }
        log.units += cost;
    }

    /// Enters an admitted cost without a new entry, by moving the newest one up to now, where it
    /// stays a little longer than it should: the log then refuses sooner, never later. For stores
    /// that have no room left. `false` if the newest entry cannot take it.
    pub fn merge(&self, log: &mut Log, now: u64, cost: u64) -> bool {
        self.prune(log, now);
        let now = log.not_before_newest(now);
        match log.entries.back_mut() {
            Some(newest) if newest.cost() + cost <= ENTRY_MAX => {
                *newest = Entry::new(now, newest.cost() + cost);
                log.units += cost;
                true
            }
            _ => false,
        }
    }

    /// Gives `units` back, the newest first.
    pub fn refund(&self, log: &mut Log, now: u64, units: u64) -> Verdict {
        self.prune(log, now);
        let mut rest = units;
        while let Some(newest) = log.entries.pop_back() {
            let kept = newest.cost().saturating_sub(rest);
            rest = rest.saturating_sub(newest.cost());
            if kept > 0 {
                log.entries.push_back(Entry::new(newest.at(), kept));
                break;
            }
        }
        log.units = log.entries.iter().map(|entry| entry.cost()).sum();
        self.check(log, now, 0)
    }

    /// Settles a charge of `held` units that was entered `at` a time, at `actual`. Once that entry is
    /// too old to count, nothing happens. A charge of nothing was not entered: it is now.
    pub fn settle(&self, log: &mut Log, now: u64, at: u64, held: u64, actual: u64) -> Verdict {
        self.prune(log, now);
        let at = if held == 0 { log.not_before_newest(now) } else { at };
        if log.not_before_newest(now).saturating_sub(at) < self.period {
            let before = log.units;
            let units = settled(before, held, actual, self.amount);
            log.add_at(at, units.saturating_sub(before));
            log.take_at(at, before.saturating_sub(units));
        }
        self.check(log, now, 0)
    }

    /// Drops what is too old to count at `now`.
    pub fn prune(&self, log: &mut Log, now: u64) {
        let now = log.not_before_newest(now);
        let count = self.expired(log, now).count();
        for entry in log.entries.drain(..count) {
            log.units -= entry.cost();
        }
    }

    fn expired<'a>(&self, log: &'a Log, now: u64) -> impl Iterator<Item = Entry> + 'a {
        let period = self.period;
        log.entries.iter().copied().take_while(move |entry| now - entry.at() >= period)
    }

    /// Ticks until the oldest entries that together cost `excess` are out. Walking them, instead of
    /// taking the oldest alone, is what makes the answer right for costs above one.
    fn wait(&self, log: &Log, now: u64, excess: u64) -> u64 {
        let mut freed = 0;
        let live = log.entries.iter().skip_while(|entry| now - entry.at() >= self.period);
        for entry in live {
            freed += entry.cost();
            if freed >= excess {
                return entry.at() + self.period - now;
            }
        }
        self.period
    }
}

impl Log {
    /// Adds entries where they belong in the order of time.
    fn add_at(&mut self, at: u64, units: u64) {
        let mut rest = units;
        while rest > 0 {
            let part = rest.min(ENTRY_MAX);
            let behind = self.entries.partition_point(|entry| entry.at() <= at);
            self.entries.insert(behind, Entry::new(at, part));
            rest -= part;
        }
        self.units += units;
    }

    /// Takes units off the entries of this very time, at most what they hold.
    fn take_at(&mut self, at: u64, units: u64) {
        let first = self.entries.partition_point(|entry| entry.at() < at);
        let mut rest = units;
        while rest > 0 && self.entries.get(first).is_some_and(|entry| entry.at() == at) {
            let cost = self.entries[first].cost();
            let taken = cost.min(rest);
            if taken == cost {
                self.entries.remove(first);
            } else {
                self.entries[first] = Entry::new(at, cost - taken);
            }
            rest -= taken;
            self.units -= taken;
        }
    }

    /// A log of these times and costs; those that no entry can have are left out.
    pub fn of(entries: &[(u64, u64)]) -> Log {
        let mut log = Log::default();
        log.reserve(entries.len());
        let fits = |(at, cost): &(u64, u64)| at >> (64 - COST_BITS) == 0 && *cost <= ENTRY_MAX;
        entries.iter().filter(|own| fits(own)).for_each(|(at, cost)| log.add_at(*at, *cost));
        log
    }

    /// When the newest entry was made.
    pub fn newest(&self) -> Option<u64> {
        self.entries.back().map(|entry| entry.at())
    }

    /// Times and costs, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.entries.iter().map(|entry| (entry.at(), entry.cost()))
    }

    /// Bytes that the entries take.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is entered.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes space for so many more entries, and not for more.
    pub fn reserve(&mut self, entries: usize) {
        self.entries.reserve_exact(entries);
    }

    /// Gives memory back if most of the space is unused, and there is more than `spare`.
    pub fn trim(&mut self, spare: usize) {
        if self.entries.capacity() > 4 * self.entries.len() + spare {
            self.entries.shrink_to(2 * self.entries.len());
        }
    }

    /// Whether another entry would make the log take more memory.
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// A clock that went back stands at the newest entry, so that the log stays in order.
    fn not_before_newest(&self, now: u64) -> u64 {
        self.newest().map_or(now, |newest| now.max(newest))
    }
}
