//! Rules that change while requests are decided (F4, F6 of the fault matrix), and changes that race.
//!
//! Invariant: no request is lost or waits for a change; a decision names a release that existed.

use crate::live::{call, daily, get, version};
use crate::server::Server;
use crate::wire::{connect, read_reply, request};
use ratekeeper::Limiter;
use ratekeeper::rule::file::RuleFile;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

/// How many reloads, and how long after one another.
const RELOADS: u64 = 30;
const PAUSE: Duration = Duration::from_millis(100);

/// Goal: ten reloads a second lose no request, and every decision names a release that existed, in their order.
/// Method: two connections ask without a pause while rules are sent thirty times; then the versions that they saw.
#[test]
fn reloads_under_load_lose_no_request() {
    let server = Server::start();
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(1_000_000)).status, 200);
    let over = AtomicBool::new(false);
    let ask = || {
        let mut stream = connect(server.address);
        let body = r#"{"rule":"api","key":"alice"}"#;
        let question = request("POST /v1/check", "Content-Type: application/json\r\n", body);
        let (mut seen, mut asked) = (Vec::new(), 0_u64);
        while !over.load(Ordering::Acquire) {
            stream.write_all(question.as_bytes()).expect("the question goes out");
            let reply = read_reply(&mut stream);
            assert_eq!(reply.status, 200, "{}", reply.body);
            let decision = reply.json();
            assert_eq!(decision["allowed"], true, "{decision}");
            seen.push(decision["version"].as_u64().expect("a version"));
            asked += 1;
        }
        assert!(seen.is_sorted(), "a connection never sees an older release again");
        seen.dedup();
        (asked, seen)
    };
    let (asked, seen): (Vec<u64>, Vec<Vec<u64>>) = scope(|threads| {
        let asking = [threads.spawn(ask), threads.spawn(ask)];
        for number in 0..RELOADS {
            let limit = 1_000_000 + u32::try_from(number).expect("few");
            assert_eq!(
                call(server.address, "PUT /v1/rules", "", &daily(limit)).json()["version"],
                3 + number
            );
            sleep(PAUSE);
        }
        over.store(true, Ordering::Release);
        asking.into_iter().map(|thread| thread.join().expect("it asked")).unzip()
    });
    let seen: BTreeSet<u64> = seen.into_iter().flatten().collect();
    assert!(seen.iter().all(|number| (2..=2 + RELOADS).contains(number)), "{seen:?}");
    assert!(seen.len() > 2, "they met several releases: {seen:?}");
    let left =
        crate::live::ask(server.address, "alice", 0)["remaining"].as_u64().expect("a figure");
    assert_eq!(1_000_000 + RELOADS - 1 - left, asked.iter().sum::<u64>(), "each was counted once");
}

/// Goal: decisions go on while a hundred thousand rules are made ready.
/// Method: one thread replaces the rules; others decide meanwhile, and count what they decided by the old release
/// after that began.
#[test]
fn decisions_go_on_while_many_rules_are_made_ready() {
    let rules: String = (0..100_000)
        .map(|number| {
            format!(
                "  - {{id: r{number}, match: {{path: /p{number}}}, key: ip, limit: 5/minute}}\n"
            )
        })
        .collect();
    let rules = format!("rules:\n{rules}");
    let few =
        Limiter::memory().rules(RuleFile::parse(&daily(1_000_000_000)).unwrap().rules).build();
    let (began, over, meanwhile) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    scope(|threads| {
        let making = threads.spawn(|| {
            began.store(true, Ordering::Release);
            let set = RuleFile::parse(&rules).expect("these are rules").rules;
            assert_eq!(few.replace_as(set, 7), 7);
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) && !making.is_finished() {
            let Ok(rule) = few.rule("api") else { continue };
            let decision = rule.try_check("alice").expect("memory answers at once");
            assert!(decision.is_allowed());
            meanwhile.fetch_add(u64::from(began.load(Ordering::Acquire)), Ordering::Relaxed);
        }
    });
    assert_eq!((few.version(), few.rules().len()), (7, 100_000));
    assert!(meanwhile.load(Ordering::Relaxed) > 100, "decisions were made meanwhile");
}

/// Goal: of several changes by those who have seen the same release, one is made.
/// Method: eight threads send rules with the same `If-Match` at the same moment, several times.
#[test]
fn of_changes_that_race_one_wins() {
    let server = Server::start();
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(1)).status, 200);
    for round in 0..5 {
        let (live, barrier) = (version(server.address), Barrier::new(8));
        let statuses: Vec<u16> = scope(|threads| {
            let each = |number: u32| {
                let (address, barrier) = (server.address, &barrier);
                threads.spawn(move || {
                    let seen = format!("If-Match: \"{live}\"\r\n");
                    barrier.wait();
                    call(address, "PUT /v1/rules", &seen, &daily(100 + number)).status
                })
            };
            let all: Vec<_> = (0..8).map(each).collect();
            all.into_iter().map(|thread| thread.join().expect("it was answered")).collect()
        });
        let won = statuses.iter().filter(|status| **status == 200).count();
        let lost = statuses.iter().filter(|status| **status == 412).count();
        assert_eq!((won, lost), (1, 7), "round {round}: {statuses:?}");
        assert_eq!(version(server.address), live + 1);
    }
    assert_eq!(get(server.address, "/v1/releases")["releases"].as_array().map(Vec::len), Some(7));
}
