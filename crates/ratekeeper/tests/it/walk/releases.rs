//! Releases: one decides a request from end to end, and the next takes its place in one step.

use super::{Site, by, get, on_paths, rule, set};
use crate::limiter::block_on;
use ratekeeper::RuleSet;
use ratekeeper::rule::{Match, RuleSpec};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Threads that ask while rules are replaced.
const THREADS: usize = 4;

/// Releases that follow each other.
const RELEASES: u64 = 50;

/// Rules that say which release they are of: by their ids, their limits and their paths.
fn release(version: u64) -> RuleSet {
    let named = |part: &str, matches: Match| RuleSpec {
        matches,
        ..rule(&format!("{part}-{version}"), &format!("{}/day", 1_000_000 + version))
    };
    set([
        named("a", Match::default()),
        named("b", on_paths(&["/**"])),
        named("c", on_paths(&["/x/*"])),
    ])
}

/// Goal: a decision is of one release, whole; releases are seen in their order, and once `replace` has
/// returned, none before it decides.
/// Method: four threads ask while fifty releases follow each other, all from one barrier.
#[test]
fn a_decision_is_of_one_release() {
    let site = Site::new(release(1));
    let (barrier, done) = (Barrier::new(THREADS + 1), AtomicU64::new(1));
    let ask = |user: &str| {
        let request = ratekeeper::Request { user: Some(user), ..get("/x/y") };
        let (mut last, mut seen) = (0, 0);
        while last < RELEASES {
            let least = done.load(Ordering::SeqCst);
            let decisions = block_on(site.limiter.check(&request)).unwrap();
            let version = decisions.version();
            assert!(version >= least.max(last), "{version} after {least} and {last}");
            let ids: Vec<&str> = decisions.results().map(|(id, _)| id).collect();
            assert_eq!(ids, ["a", "b", "c"].map(|part| format!("{part}-{version}")));
            assert!(decisions.results().all(|(_, own)| own.limit() == 1_000_000 + version));
            seen += u64::from(version != last);
            last = version;
        }
        seen
    };
    thread::scope(|scope| {
        let askers: Vec<_> = (0..THREADS)
            .map(|number| {
                let (barrier, ask) = (&barrier, &ask);
                scope.spawn(move || {
                    barrier.wait();
                    ask(&format!("u{number}"))
                })
            })
            .collect();
        barrier.wait();
        for version in 2..=RELEASES {
            assert_eq!(site.limiter.replace(release(version)), version);
            done.store(version, Ordering::SeqCst);
        }
        let seen: Vec<u64> = askers.into_iter().map(|asker| asker.join().unwrap()).collect();
        assert!(seen.iter().all(|seen| (1..=RELEASES).contains(seen)), "{seen:?}");
    });
    assert_eq!(site.limiter.version(), RELEASES);
}

/// Goal: nothing is lost or given twice while rules are replaced by the same.
/// Method: four threads take from one key of a hundred while the rules are replaced: a hundred pass.
#[test]
fn what_was_used_stays_used_while_rules_are_replaced() {
    let rules = || set([rule("a", "100/day"), rule("b", "1000/day")]);
    let site = Site::new(rules());
    let barrier = Barrier::new(THREADS + 1);
    let admitted: usize = thread::scope(|scope| {
        let takers: Vec<_> = (0..THREADS)
            .map(|_| {
                let (site, barrier) = (&site, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..100).filter(|_| site.ask(&by("alice")).is_allowed()).count()
                })
            })
            .collect();
        barrier.wait();
        (0..20).for_each(|_| _ = site.limiter.replace(rules()));
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100);
}

/// Goal: replaced from many sides, releases are numbered without gap.
/// Method: four threads replace from one barrier.
#[test]
fn releases_are_numbered_without_gap() {
    let site = Site::new(release(1));
    let barrier = Barrier::new(THREADS);
    let mut numbers: Vec<u64> = thread::scope(|scope| {
        let each: Vec<_> = (0..THREADS)
            .map(|_| {
                let (site, barrier) = (&site, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..10).map(|_| site.limiter.replace(release(0))).collect::<Vec<u64>>()
                })
            })
            .collect();
        each.into_iter().flat_map(|own| own.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, (2..=41).collect::<Vec<u64>>());
    assert_eq!(site.limiter.version(), 41);
}
