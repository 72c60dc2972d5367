//! What a sliding log holds of a key: for people who ask why.
//!
//! Invariant: looking changes nothing.

use super::Rule;
use crate::key::Key;
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
    /// The entries of a key that count now, oldest first, of the longest of the rule's sliding logs; `None`
    /// if it has none, and where the store is shared, which keeps them to itself.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Algorithm, Limit, Limiter};
    ///
    /// let log = Limit::per_minute(9).algorithm(Algorithm::SlidingWindowLog);
    /// let login = Limiter::memory().rule("login", log)?.build().rule("login")?;
    /// login.check("alice").cost(2).try_now()?;
    /// assert_eq!(login.entries("alice").unwrap()[0].cost, 2);
    /// # Ok(()) }
    /// ```
    pub fn entries(&self, key: impl Key) -> Option<Vec<LogEntry>> {
        self.limiter.not_shared().ok()?;
        let who = self.limiter.secret.who(&key);
        let logs = self.rule.meters.iter().filter(|meter| meter.log_period().is_some());
        let longest = logs.max_by_key(|meter| meter.log_period())?;
        let charge = Charge::new(longest, who.local, 0);
        let entries = self.limiter.store.entries(self.limiter.clock.now(), &charge);
        let entry = |(at, cost)| LogEntry { at: Duration::from_micros(at), cost };
        Some(entries.into_iter().map(entry).collect())
    }
}
