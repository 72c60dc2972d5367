//! What buckets hold of a key: for people who look on, or ask why.
//!
//! Invariant: looking changes nothing.

use super::Rule;
use crate::key::{Key, Who};
use crate::store::{Charge, Contents, Meter};
use std::time::Duration;

/// One entry of a sliding log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it was made, in time since the epoch.
    pub at: Duration,
    /// Units.
    pub cost: u64,
}

/// What the buckets of one key hold at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The instant, in time since the epoch, by the clock of the store.
    pub at: Duration,
    /// One for each limit of the rule that limits, in their order.
    pub states: Vec<State>,
}

/// What a bucket holds, as far as it counts; times are since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// A fixed window, and the units charged in it.
    Window {
        /// When it began.
        start: Duration,
        /// Units.
        count: u64,
    },
    /// The two windows of a sliding counter.
    Windows {
        /// When the present one began, and the one before ended.
        start: Duration,
        /// Units charged in it.
        current: u64,
        /// Units charged in the one before.
        previous: u64,
    },
    /// The entries of a sliding log, oldest first; of very many the newest.
    Log(Vec<LogEntry>),
    /// A bucket, or a queue.
    Bucket {
        /// When all of it is there again: now, or in the past, if it is.
        whole_at: Duration,
    },
    /// Units of a concurrency limit that are held.
    Permits(u64),
}

impl Rule {
    /// What the buckets of a key hold; of a log the newest `most` entries. `None` while a shared store is
    /// away. What it has used under other limits before is not there until it is asked or looked at under these.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::limiter::State;
    /// use ratekeeper::{Algorithm, Limit, Limiter};
    ///
    /// let window = Limit::per_minute(9).algorithm(Algorithm::FixedWindow);
    /// let api = Limiter::memory().rule("api", window)?.build().rule("api")?;
    /// api.check("alice").cost(2).await;
    /// let held = api.state("alice", 100).await.unwrap();
    /// assert!(matches!(held.states[..], [State::Window { count: 2, .. }]));
    /// # Ok(()) }
    /// ```
    pub fn state(&self, key: impl Key, most: usize) -> impl Future<Output = Option<Held>> {
        self.state_of(self.limiter.secret.who(&key), most)
    }

    async fn state_of(&self, who: Who, most: usize) -> Option<Held> {
        let (mut at, mut states) = (self.limiter.clock.now(), Vec::new());
        for meter in &self.rule.meters {
            let (now, held) = self.look(meter, who, most).await?;
            states.push(State::of(held));
            at = now;
        }
        Some(Held { at: Duration::from_micros(at), states })
    }

    /// What one bucket holds, and when.
    async fn look(&self, meter: &Meter, who: Who, most: usize) -> Option<(u64, Contents)> {
        let charge = Charge::new(meter, who.local, 0);
        #[cfg(feature = "redis")]
        if let Some(shared) = self.limiter.shared.as_ref().filter(|_| !self.rule.manner.instance) {
            return self.limiter.look_shared(shared, charge, who, most).await;
        }
        let now = self.limiter.clock.now();
        let mut held = self.limiter.store.look(now, &charge);
        if let Contents::Log(entries) = &mut held {
            entries.drain(..entries.len().saturating_sub(most));
        }
        Some((now, held))
    }

    /// The entries of a key that count now, oldest first, of the longest of the rule's sliding logs; of very
    /// many the newest `most`. `None` if it has no such log, and while a shared store is away.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Algorithm, Limit, Limiter};
    ///
    /// let log = Limit::per_minute(9).algorithm(Algorithm::SlidingWindowLog);
    /// let login = Limiter::memory().rule("login", log)?.build().rule("login")?;
    /// login.check("alice").cost(2).await;
    /// assert_eq!(login.entries("alice", 100).await.unwrap()[0].cost, 2);
    /// # Ok(()) }
    /// ```
    pub fn entries(
        &self,
        key: impl Key,
        most: usize,
    ) -> impl Future<Output = Option<Vec<LogEntry>>> {
        self.entries_of(self.limiter.secret.who(&key), most)
    }

    async fn entries_of(&self, who: Who, most: usize) -> Option<Vec<LogEntry>> {
        let logs = self.rule.meters.iter().filter(|meter| meter.log_period().is_some());
        let longest = logs.max_by_key(|meter| meter.log_period())?;
        let (_, held) = self.look(longest, who, most).await?;
        if let State::Log(entries) = State::of(held) { Some(entries) } else { None }
    }
}

impl State {
    fn of(contents: Contents) -> State {
        let time = Duration::from_micros;
        match contents {
            Contents::Window { start, count } => State::Window { start: time(start), count },
            Contents::Windows { start, current, previous } => {
                State::Windows { start: time(start), current, previous }
            }
            Contents::Log(entries) => {
                let entry = |(at, cost)| LogEntry { at: time(at), cost };
                State::Log(entries.into_iter().map(entry).collect())
            }
            Contents::Arrival(arrival) => State::Bucket { whole_at: time(arrival.up()) },
            Contents::Permits(units) => State::Permits(units),
        }
    }
}
