//! A crowd that waits, in a process of its own, so that its threads can be counted.
#![cfg(all(target_os = "linux", not(loom)))]

use ratekeeper::{Limit, Limiter};
use std::task::{Context, Waker};

const KEYS: usize = 10_000;
const EACH: usize = 10;

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux tells").count()
}

/// Goal: those who wait have one thread together, and none each.
/// Method: 100 000 wait for turns that are hours away, at 10 000 keys, on the system's clock.
#[test]
fn a_crowd_waits_with_one_thread() {
    let limit = Limit::per_hour(1).burst(100).shaping();
    let limiter = Limiter::memory().keys(2 * KEYS).rule("line", limit).unwrap().build();
    let line = limiter.rule("line").unwrap();
    let before = threads();
    let mut context = Context::from_waker(Waker::noop());
    let mut crowd = Vec::with_capacity(KEYS * EACH);
    for key in 0..KEYS {
        let key = key.to_string();
        assert!(line.try_check(&key).unwrap().is_allowed());
        for _ in 0..EACH {
            let mut wait = Box::pin(line.wait(&key).into_future());
            assert!(wait.as_mut().poll(&mut context).is_pending());
            crowd.push(wait);
        }
    }
    assert_eq!(threads(), before + 1);
    drop(crowd);
    let left = line.peek("7").try_now().unwrap().remaining();
    assert_eq!(left, 99, "all but the check have left");
}
