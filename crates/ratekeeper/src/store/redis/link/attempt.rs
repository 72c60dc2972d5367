//! Attempts to connect, and how long each waits after others that failed.
//!
//! Invariant: an attempt that is over, however it ended, leaves the way to the next one.

use super::super::error::Class;
use super::{CONNECT, Link, State};
use crate::store::guard::share;
use crate::sync::lock;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// After the first failure the next attempt waits at most as long, then twice as long, up to the most:
/// with a probe's turn on top, a server that is back is in use within a second. One that does not let
/// us in has to be mended by somebody, and is asked less often.
const BACKOFF: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_millis(700);
const BACKOFF_DENIED: Duration = Duration::from_secs(2);

/// One attempt to connect. Should its task end before it has, as with its runtime, others may try.
pub(super) struct Attempt(pub(super) Arc<Link>);

impl Attempt {
    pub(super) async fn run(self, failures: u32) {
        let link = &self.0;
        let connected = timeout(CONNECT, link.connect()).await;
        let late = |_| Err(link.error(Class::Timeout, "did not let us connect in a second"));
        let next = match connected.unwrap_or_else(late) {
            Ok(live) => State::Up(live),
            Err(error) => {
                let until = Instant::now() + backoff(failures, error.class(), link.random());
                State::Down { failures: failures + 1, until, error }
            }
        };
        *lock(&link.state) = next;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Connecting) {
            *state = State::Idle;
        }
        drop(state);
        self.0.changed.notify_waiters();
    }
}

/// How long the next attempt waits after so many failures and this one; `random` is any number.
fn backoff(failures: u32, class: Class, random: u64) -> Duration {
    let most = if class == Class::Denied { BACKOFF_DENIED } else { BACKOFF_MAX };
    share(BACKOFF.saturating_mul(1 << failures.min(10)).min(most), random)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: attempts are spread over a time that doubles, and no server that is back waits a second.
    /// Method: the ends of what is random, for the first failures and for many.
    #[test]
    fn attempts_wait_at_random_for_longer_and_never_too_long() {
        let longest =
            |failures, class| backoff(failures, class, u64::MAX).as_micros().div_ceil(1_000);
        assert_eq!(
            [0, 1, 2, 3].map(|failures| longest(failures, Class::Connection)),
            [50, 100, 200, 400]
        );
        assert_eq!(backoff(3, Class::Connection, 0), Duration::ZERO);
        for failures in [4, 10, u32::MAX] {
            assert_eq!(longest(failures, Class::Timeout), 700, "and a probe comes within 150 ms");
        }
        assert_eq!(longest(u32::MAX, Class::Denied), 2_000);
    }
}
