//! A timer that is set anew only when it has to be.
//!
//! Most waits end long before their time. Invariant: whoever waits is woken when its time is over, and perhaps
//! once before.

use std::pin::{Pin, pin};
use std::task::Context;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer for one wait after the other.
#[derive(Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Whether this time has come; if not, whoever `context` is of is woken by then.
    pub(super) fn is_over(&mut self, deadline: Instant, context: &mut Context<'_>) -> bool {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            // Whoever has much to do at a time has to look at the clock all the same.
            if pin!(unconstrained(sleep.as_mut())).poll(context).is_pending() {
                return false;
            }
            if sleep.deadline() >= deadline {
                return true;
            }
            // It was set for a wait that is over.
            sleep.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Alarm;
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;
    use tokio::time::Instant;

    /// Goal: an alarm rings at its time, whether it was set for a later or an earlier one before.
    /// Method: time that the test moves; deadlines in every order, each waited for.
    #[tokio::test(start_paused = true)]
    async fn it_rings_at_its_time() {
        let mut alarm = Alarm::default();
        for seconds in [10, 3, 20, 20, 1] {
            let (begun, wait) = (Instant::now(), Duration::from_secs(seconds));
            // A wait that is given up, of any length, changes nothing.
            for other in [1, 60] {
                let given_up = begun + Duration::from_secs(other);
                poll_fn(|context| Poll::Ready(alarm.is_over(given_up, context))).await;
            }
            poll_fn(|context| match alarm.is_over(begun + wait, context) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
            let late = begun.elapsed() - wait;
            assert!(late <= Duration::from_millis(1), "{seconds}: {late:?}");
        }
    }
}
