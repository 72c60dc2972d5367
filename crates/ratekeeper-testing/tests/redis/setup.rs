//! How a store is set up: who is let in, over what, to which server; and what is said if that is wrong.
//!
//! Invariant: every fault is found by `verify` within four seconds, and told with the place, the fault
//! and the repair, but never with the password.

mod canary;
mod eviction;
mod heartbeats;
mod login;
mod names;
mod permissions;
mod strangers;
mod tls;

use ratekeeper::outage::Class;
use ratekeeper::{Limiter, Observer, RedisConfig, StoreError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A password that must never be shown.
const PASSWORD: &str = "open-sesame-4711";

/// The longest that `verify` may take.
const VERIFIED: Duration = Duration::from_secs(4);

fn config(url: &str) -> RedisConfig {
    url.parse().unwrap()
}

/// What `verify` finds.
async fn verify(config: RedisConfig) -> Result<(), StoreError> {
    let limiter = Limiter::redis(config).build();
    let verified = tokio::time::timeout(VERIFIED, limiter.verify()).await;
    verified.expect("it is known within four seconds")
}

/// Asserts that `verify` finds a fault of this class, and tells it with these words and no secret.
async fn refused(config: RedisConfig, class: Class, words: &[&str]) {
    let error = verify(config).await.expect_err("there is a fault");
    let text = error.to_string();
    assert!(!text.contains(PASSWORD) && !format!("{error:?}").contains(PASSWORD), "{text}");
    assert_eq!(error.class(), class, "{text}");
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

/// Keeps what went wrong.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<StoreError>>>);

impl Errors {
    fn take(&self) -> Vec<StoreError> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Errors {
    fn decided(&self, _: &str, _: &ratekeeper::Decision) {}

    fn store_failed(&self, error: &StoreError) {
        self.0.lock().unwrap().push(error.clone());
    }
}

/// Waits until something holds, for at most 30 seconds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let held = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let held = tokio::time::timeout(Duration::from_secs(30), held).await;
    assert!(held.is_ok(), "in 30 s it did not come to pass that {what}");
}
