//! What a sliding log holds of a key: for people who ask why.
//!
//! Invariant: looking changes nothing.

use super::Rule;
use crate::key::{Key, Who};
use crate::store::Charge;
use std::time::Duration;

/// One entry of a sliding log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it was made, in time since the epoch.
    pub at: Duration,
    /// Units.
    pub cost: u64,
}

impl Rule {
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
        let charge = Charge::new(longest, who.local, 0);
        let entry = |(at, cost)| LogEntry { at: Duration::from_micros(at), cost };
        #[cfg(feature = "redis")]
        if let Some(shared) = self.limiter.shared.as_ref().filter(|_| !self.rule.manner.instance) {
            let entries = self.limiter.entries_shared(shared, charge, who, most).await?;
            return Some(entries.into_iter().map(entry).collect());
        }
        let entries = self.limiter.store.entries(self.limiter.clock.now(), &charge);
        let more = entries.len().saturating_sub(most);
        Some(entries.into_iter().skip(more).map(entry).collect())
    }
}
