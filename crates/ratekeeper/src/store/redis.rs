//! State in Redis or Valkey, shared by many servers.
//!
//! One script call decides all buckets of a request that are in one slot; on one server that is all of
//! them. Invariants: what was refused has changed nothing, or, across slots, was given back; the time is
//! the server's; no key is without an end.

mod ask;
mod board;
mod call;
mod cluster;
mod coalesce;
pub(crate) mod config;
mod connect;
mod error;
mod former;
mod link;
mod look;
mod name;
pub(crate) mod random;
mod records;
mod request;
mod script;
mod sentinel;
mod state;
#[cfg(feature = "redis-tls")]
mod tls;
mod topology;
mod usage;
mod verify;

pub(crate) use ask::Back;
pub use board::{Board, NUMBER_MAX, News, Posted, UNREADABLE};
pub use config::RedisConfig;
pub use error::{Again, Breaks, Class, Outcome, Policy, StoreError};
pub(crate) use name::{Held, Tag};
pub(crate) use records::Record;
pub(super) use state::NOT_OURS;
pub(crate) use state::State;
pub use usage::StoreUsage;

use super::{Charge, Receipt};
use crate::algorithm::Retry;
use crate::decision::{Decision, Source};
use ask::Seen;
use call::{Call, Told};
use link::Probe;
use request::Request;
use script::Part;
use std::sync::Arc;
use tokio::time::Instant;
use topology::Topology;

pub(crate) struct Redis {
    config: Arc<RedisConfig>,
    topology: Topology,
    given_time: bool,
}

/// One bucket of a request: what to charge, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) charge: Charge<'a>,
    /// Who is counted.
    pub(crate) who: u128,
    /// How long the caller would wait for its turn, in ticks.
    pub(crate) patience: u64,
    /// What is taken beside the cost, to be spent later.
    pub(crate) share: Option<Share>,
}

/// Units that are taken beside a cost, if so many are left with them that taking them hurts nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) units: u64,
    pub(crate) spare: u64,
}

impl Ask<'_> {
    pub(crate) fn tag(&self) -> Tag {
        Tag::of(self.who)
    }

    fn hash(&self) -> u128 {
        self.who ^ self.charge.meter.name
    }
}

/// What a charge needs to know beside its buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken<'a> {
    /// The identity of permits.
    pub(crate) id: u64,
    /// What is noted by that name.
    pub(crate) record: Option<Record<'a>>,
    /// The time, where it is given.
    pub(crate) given: u64,
    /// Ticks that permits are held at most.
    pub(crate) hold_most: u64,
}

/// What became of a request.
#[derive(Default)]
pub(crate) struct Charged {
    /// One for each ask.
    pub(crate) decisions: Vec<Decision>,
    /// One for each ask; none if they were refused.
    pub(crate) receipts: Vec<Receipt>,
    /// How many of the buckets hold something that is not ours.
    pub(crate) alien: usize,
    /// What is known of each bucket from now on.
    pub(crate) known: Vec<Known>,
}

/// What a bucket holds after a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Nothing if that is not known.
    pub(crate) state: Option<State>,
    /// The time by the store's clock.
    pub(crate) now: u64,
    /// Whether the share was taken that was asked for.
    pub(crate) share: bool,
}

impl Redis {
    /// With time that is given, the scripts take it from the caller: for tests.
    pub(crate) fn new(config: RedisConfig, given_time: bool) -> Redis {
        let config = Arc::new(config);
        let topology = Topology::new(&config, probe);
        Redis { config, topology, given_time }
    }

    /// Charges all buckets, or none if one refuses, within one deadline. Permits that are taken have this identity.
    pub(crate) async fn charge(
        &self,
        asks: &[Ask<'_>],
        taken: Taken<'_>,
    ) -> Result<Charged, StoreError> {
        let mut request = Request::new(self, asks, taken);
        let mut done = request.run().await;
        if done.is_ok() && !request.left.is_empty() {
            request.give_back().await;
            for left in &request.left {
                self.bring_over(left, taken.given, request.deadline).await?;
            }
            request = request.again(asks);
            done = request.run().await;
        }
        if done.is_err() || request.refused {
            request.give_back().await;
        }
        done.map(|()| request.answer(asks))
    }

    /// Gives something back to buckets, or charges them without asking: for each, whether there was
    /// anything to do, and what it says to a peek.
    pub(crate) async fn back(
        &self,
        each: &[(Ask<'_>, Back)],
        given: u64,
    ) -> Result<Vec<(bool, Decision)>, StoreError> {
        let deadline = self.deadline();
        let mut done = vec![None; each.len()];
        let asks: Vec<Ask<'_>> = each.iter().map(|(ask, _)| *ask).collect();
        let mut failed = Ok(());
        for group in self.groups(&asks) {
            if Instant::now() >= deadline {
                let fault = "was asked for more than it could do in time";
                return Err(StoreError::new(&self.config.to_string(), Class::Busy, fault));
            }
            // What cannot be given back in one place is in another.
            if let Err(error) = self.back_group(each, &group, (given, deadline), &mut done).await {
                failed = failed.and(Err(error));
            }
        }
        failed?;
        done.into_iter().collect::<Option<_>>().ok_or_else(|| self.unreadable())
    }

    async fn back_group(
        &self,
        each: &[(Ask<'_>, Back)],
        group: &[usize],
        (given, deadline): (u64, Instant),
        done: &mut [Option<(bool, Decision)>],
    ) -> Result<(), StoreError> {
        let mut call = self.call(false, each[group[0]].0.tag(), given, deadline);
        for index in group {
            let (ask, back) = &each[*index];
            let meter = ask.charge.meter;
            let (part, argument) = ask::back(&meter.kind, meter.shown, *back);
            call.add(part, self.name(ask), argument);
        }
        let parts = call.parts.clone();
        let Told { now, rows } = self.topology.ask(call).await?;
        for ((index, row), part) in group.iter().zip(rows.chunks(2)).zip(&parts) {
            let [did, seen] = row else { return Err(self.unreadable()) };
            // What is reported of a bucket that was forgotten is what it held before.
            let seen = if *part == Part::Plain { &Seen::Nothing } else { seen };
            let charge = each[*index].0.charge;
            let state = seen.state(&charge.meter.kind);
            let judged = state.and_then(|state| state.judge(&charge, 0, now, 0));
            let mut verdict = judged.map_or(NOT_OURS, |judged| judged.verdict);
            // Nobody waits for a turn here.
            verdict.retry_after = verdict.retry_after.max(Retry::NOW);
            // Nor is anybody told when there is more.
            verdict.more_after = 0;
            let did = *did != Seen::Alien;
            done[*index] = Some((did, charge.decision(verdict, Source::Store)));
        }
        Ok(())
    }

    /// Renews a permit of this identity, each part of it by itself, so that one does not depend on another.
    pub(crate) async fn renew(
        &self,
        asks: &[Ask<'_>],
        id: u64,
        given: u64,
    ) -> Result<(), StoreError> {
        let taken = Taken { id, record: None, given, hold_most: u64::MAX };
        let mut failed = Ok(());
        for ask in asks {
            let mut call = self.call(true, ask.tag(), given, self.deadline());
            let argument = ask::charge(&ask.charge, false, 0, &taken, 0);
            call.add(Part::Permits, self.name(ask), argument);
            failed = failed.and(self.topology.ask(call).await.map(|_| ()));
        }
        failed
    }

    /// What is told of keys that hold something else.
    pub(crate) fn alien(&self) -> StoreError {
        let fault = format!(
            "a key under `{}:` holds something that is not ours, so it is refused; delete it, or give \
             us a prefix of our own",
            self.config.prefix
        );
        StoreError::new(&self.config.to_string(), Class::BadValue, fault)
    }

    /// The asks that one script can decide together, those with a turn first, so that permits know it.
    fn groups(&self, asks: &[Ask<'_>]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, ask) in asks.iter().enumerate() {
            let same =
                |group: &&mut Vec<usize>| self.topology.together(asks[group[0]].tag(), ask.tag());
            match groups.iter_mut().find(same) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        for group in &mut groups {
            group.sort_by_key(|index| asks[*index].charge.hold().is_some());
        }
        groups.sort_by_key(|group| group.iter().all(|index| asks[*index].charge.pace().is_none()));
        groups
    }

    fn name(&self, ask: &Ask<'_>) -> Vec<u8> {
        name::bucket(&self.config.prefix, ask.tag(), ask.hash())
    }

    /// A call without keys yet, of which all have this tag.
    fn call(&self, charges: bool, tag: Tag, given: u64, deadline: Instant) -> Call {
        Call::new(charges, tag, self.given_time.then_some(given), deadline)
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.config.deadline
    }

    /// What is told where nobody was left to hear the answer.
    pub(crate) fn unanswered(&self) -> StoreError {
        let fault = "was asked by a runtime that has ended";
        StoreError::new(&self.config.to_string(), Class::Connection, fault)
    }

    /// Whether buckets of different keys may be on different servers.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.topology, Topology::Cluster(_))
    }

    fn unreadable(&self) -> StoreError {
        let fault =
            "gave an answer that is none of our scripts'; is this a Redis or Valkey server?";
        StoreError::new(&self.config.to_string(), Class::Alien, fault)
    }
}

/// The call by which a server is probed: a charge of a bucket that is whole again in a moment. It runs
/// the script that most rules use, and it writes.
fn probe(config: &RedisConfig, tag: Tag) -> Probe {
    let mut call = Call::new(true, tag, None, Instant::now());
    call.add(Part::Bucket, name::other(&config.prefix, tag, "probe"), ask::probe());
    let (mut sizes, mut given) = (Vec::new(), Vec::new());
    Probe(call::texts(&[&call], &mut sizes, &mut given).whole())
}
