//! The flood: ten million invented keys against a store that remembers one million.
//!
//! A test binary of its own, because it measures the memory of its process.

use ratekeeper::{Limiter, ManualClock};

const CAP: usize = 1_000_000;
const FLOOD: u64 = 10_000_000;
const BLOCKED: u64 = 100;

/// How many newcomers come between two looks at all blocked keys.
const LOOK_EVERY: u64 = 50_000;

/// Resident bytes that the store may add: 1 M keys at some 24 bytes, and room to spare.
const GROWTH_MAX: u64 = 64 << 20;

/// Goal: nobody washes their own state away by inventing keys, and memory stays bounded.
/// Method: block a hundred keys, then flood the store with ten times the keys that it may hold;
/// look at every blocked key again and again, and at the resident memory at the end.
#[test]
fn keys_that_were_refused_stay_refused_through_a_flood_of_new_keys() {
    let clock = ManualClock::new();
    let builder = Limiter::memory().keys(CAP).clock(&clock);
    let limiter = builder.rule("api", "10/hour").expect("a limit").build();
    let api = limiter.rule("api").expect("the rule");
    let blocked: Vec<String> = (0..BLOCKED).map(|number| format!("blocked {number}")).collect();
    for key in &blocked {
        let drained = api.check(key).cost(10).try_now().expect("memory");
        assert!(drained.is_allowed());
        assert!(api.try_check(key).expect("memory").is_refused());
    }

    let before = resident();
    let mut admitted = 0_u64;
    for number in 0..FLOOD {
        admitted +=
            u64::from(api.try_check(&number.to_le_bytes()[..]).expect("memory").is_allowed());
        if number % LOOK_EVERY == 0 {
            for key in &blocked {
                assert!(
                    api.try_check(key).expect("memory").is_refused(),
                    "{key} got in after {number} newcomers"
                );
            }
        }
    }
    let grown = resident().saturating_sub(before);
    let stats = limiter.stats();

    assert!(stats.keys <= CAP as u64, "{stats:?}");
    assert!(stats.evicted >= FLOOD - CAP as u64 - BLOCKED, "{stats:?}");
    assert!(grown <= GROWTH_MAX, "resident memory grew by {} MiB", grown >> 20);
    assert!(admitted > FLOOD * 99 / 100, "newcomers were refused: {admitted} of {FLOOD} got in");
    for key in &blocked {
        assert!(api.try_check(key).expect("memory").is_refused());
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}
