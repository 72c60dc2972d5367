//! What each rule of the fleet may admit in any interval.
//!
//! Invariant: what is found to be too much is too much: bounds are rounded up, and the store's clock, which
//! counts whole microseconds, may be early by one.

use ratekeeper_testing::load::History;
use std::time::Duration;

/// Each rule that is asked for more than it admits.
pub(super) const AMOUNT: u64 = 30;
pub(super) const BURST: u64 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// The rules, one for each algorithm that polices, and one that is never asked for all that it has.
pub(super) const RULES: &str = "
store: {url: 'redis://127.0.0.1:6379/0', deadline: 250ms}
rules:
  - {id: fixed, key: user, limit: 30/second, algorithm: fixed_window, consistency: exact, on_store_failure: deny}
  - {id: log, key: user, limit: 30/second, algorithm: sliding_window_log, consistency: exact, on_store_failure: deny}
  - {id: counter, key: user, limit: 30/second, algorithm: sliding_window_counter, on_store_failure: deny}
  - {id: token, key: user, limit: 30/second burst 10, algorithm: token_bucket, on_store_failure: deny}
  - {id: leaky, key: user, limit: 30/second burst 10, algorithm: leaky_bucket, on_store_failure: deny}
  - {id: light, key: user, limit: 2000/second, on_store_failure: deny}
";

/// Those of the rules that are asked for more than they admit.
pub(super) const HEAVY: [&str; 5] = ["fixed", "log", "counter", "token", "leaky"];

/// The most that a rule admits to a key in so much time.
fn most(rule: &str, time: Duration) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 1_000) + 2;
    let window = 1_000_000;
    let in_time = (AMOUNT * micros).div_ceil(window);
    match rule {
        "token" | "leaky" => BURST + in_time,
        "log" => AMOUNT * (micros / window + 1),
        "counter" if time <= WINDOW => AMOUNT + in_time,
        "light" => 2_000 + 2_000 * micros.div_ceil(window),
        _ => AMOUNT * (micros.div_ceil(window) + 1),
    }
}

/// Asserts that a key was in no interval admitted more than its rule admits.
pub(super) fn judge(of_key: &History) {
    let (rule, key) = (&of_key.calls[0].rule, &of_key.calls[0].key);
    let (excess, interval) = of_key.worst_of(|time| most(rule, time));
    assert!(excess <= 0, "{rule}, {key}: {excess} too many in {interval:?}");
}
