//! Limits: what is read is written in a way that is read as the same, and makes a limiter that admits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper::{Limit, Limiter};

fuzz_target!(|text: &str| {
    let Ok(limit) = text.parse::<Limit>() else { return };
    let again: Limit = limit.to_string().parse().expect("what is written can be read");
    assert_eq!(limit, again);
    let limiter = Limiter::memory().keys(16).rule("fuzz", limit).expect("it makes sense").build();
    let rule = limiter.rule("fuzz").expect("it was added");
    let first = rule.try_check("alice").expect("memory answers at once");
    assert!(first.is_allowed() && first.remaining() < first.limit() || limit.amount().is_none());
});
