//! Requests that are held for their turn, in tokio with its time paused.
//!
//! Invariant: tokio's timers count whole milliseconds, so a turn comes within a millisecond of its time,
//! and never before.

use super::{by, from, now, rule, set, told};
use crate::one_key::{millis, secs};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use ratekeeper::layer::{RateLimit, RateLimitLayer};
use ratekeeper::rule::{KeyKind, RuleSpec};
use ratekeeper::{Limit, LimitBuilder, Limiter};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};

type Inner = BoxCloneSyncService<Request<()>, Response<Full<Bytes>>, Infallible>;

/// Who was let through, and when after the start; the service says so at once, and answers later.
type Passed = Arc<Mutex<Vec<(String, Duration)>>>;

struct Held {
    service: RateLimit<Inner>,
    limiter: Limiter,
    passed: Passed,
    start: Instant,
}

impl Held {
    /// Before a service that works for so long.
    fn new(rules: Vec<RuleSpec>, works: Duration) -> Held {
        let limiter = Limiter::memory().tokio_clock().rules(set(rules)).build();
        let (passed, start) = (Passed::default(), Instant::now());
        let noted = Arc::clone(&passed);
        let inner = service_fn(move |request: Request<()>| {
            let who = request.uri().path().trim_matches('/').to_owned();
            noted.lock().unwrap().push((who, start.elapsed()));
            async move {
                sleep(works).await;
                Ok(Response::new(Full::from("hello")))
            }
        });
        let service = RateLimitLayer::new(limiter.clone()).layer(BoxCloneSyncService::new(inner));
        Held { service, limiter, passed, start }
    }

    /// A task that asks for `/who` from an address; its status, and when it was answered.
    fn ask(&self, who: &str, address: &str) -> JoinHandle<(u16, Duration)> {
        let (service, start) = (self.service.clone(), self.start);
        let request = from(address, "GET", &format!("/{who}"));
        tokio::spawn(async move {
            let Ok(response) = service.oneshot(request).await;
            (told(response).status, start.elapsed())
        })
    }

    /// Whether these passed in this order, each within a millisecond after its time.
    fn assert_passed(&self, expected: &[(&str, Duration)]) {
        let passed = self.passed.lock().unwrap();
        assert_eq!(passed.len(), expected.len(), "{passed:?}");
        for ((who, at), (expected, turn)) in passed.iter().zip(expected) {
            assert_eq!(who, expected, "{passed:?}");
            assert!(at >= turn && *at <= *turn + millis(1), "{who} at {at:?}, not {turn:?}");
        }
    }

    fn left(&self, rule: usize) -> u64 {
        let request = ratekeeper::Request {
            cost: Some(0),
            peer: Some("192.0.2.1".parse().unwrap()),
            ..ratekeeper::Request::new("GET", "/")
        };
        now(self.limiter.check(&request)).unwrap().rules()[rule].remaining()
    }
}

fn line(limit: LimitBuilder) -> RuleSpec {
    by(KeyKind::Global, rule("line", limit.shaping()))
}

/// Goal: requests are let through in the order in which they came, each at its turn.
/// Method: forty requests at ten a second.
#[tokio::test(start_paused = true)]
async fn requests_leave_in_order_and_on_schedule() {
    let held = Held::new(vec![line(Limit::per_second(10).burst(40))], millis(0));
    let names: Vec<String> = (0..40).map(|nth| nth.to_string()).collect();
    let tasks: Vec<_> = names.iter().map(|name| held.ask(name, "192.0.2.1")).collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().0, 200);
    }
    let expected =
        names.iter().enumerate().map(|(nth, name)| (&name[..], millis(100) * nth as u32));
    held.assert_passed(&expected.collect::<Vec<_>>());
}

/// Goal: what is refused is refused at once, and takes no place: the queue is full, or the wait too long.
/// Method: three places of a burst; and a longest wait of two seconds, with one just at it.
#[tokio::test(start_paused = true)]
async fn who_would_wait_too_long_is_refused_at_once() {
    for limit in [Limit::per_second(1).burst(3), Limit::per_second(1).burst(9).max_wait(secs(2))] {
        let held = Held::new(vec![line(limit)], millis(0));
        let tasks = ["a", "b", "c", "d", "e"].map(|who| held.ask(who, "192.0.2.1"));
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        assert_eq!(answers.iter().map(|own| own.0).collect::<Vec<_>>(), [200, 200, 200, 429, 429]);
        assert_eq!([answers[3].1, answers[4].1], [secs(0); 2]);
        held.assert_passed(&[("a", secs(0)), ("b", secs(1)), ("c", secs(2))]);
    }
}

/// Goal: a client that leaves while it waits frees its place: the others move up, and the service is
/// never asked for it.
/// Method: the second and fourth of six leave at half a second.
#[tokio::test(start_paused = true)]
async fn who_leaves_frees_its_place() {
    let held = Held::new(vec![line(Limit::per_second(1).burst(6))], millis(0));
    let names = ["a", "b", "c", "d", "e", "f"];
    let tasks = names.map(|who| held.ask(who, "192.0.2.1"));
    sleep(millis(500)).await;
    tasks[1].abort();
    tasks[3].abort();
    sleep(millis(1)).await;
    assert_eq!(held.left(0), 2, "two places are free, and half a one");
    for task in tasks {
        let answer = task.await;
        assert!(answer.is_err() || answer.unwrap().0 == 200);
    }
    held.assert_passed(&[("a", secs(0)), ("c", secs(1)), ("e", secs(2)), ("f", secs(3))]);
}

/// Goal: with two lines on one request, it passes when its turn has come in both, and who leaves frees its
/// place in both.
/// Method: a line of one a second beside one of one every two seconds, in either order; the second of four
/// leaves.
#[tokio::test(start_paused = true)]
async fn who_leaves_two_lines_frees_both_places() {
    let slow = Limit::per(1, secs(2)).burst(6).shaping();
    let slow = by(KeyKind::Global, rule("slow", slow));
    for slow_first in [true, false] {
        let mut rules = vec![line(Limit::per_second(1).burst(6)), slow.clone()];
        if slow_first {
            rules.reverse();
        }
        let held = Held::new(rules, millis(0));
        let tasks = ["a", "b", "c", "d"].map(|who| held.ask(who, "192.0.2.1"));
        sleep(millis(500)).await;
        tasks[1].abort();
        sleep(millis(1)).await;
        assert_eq!((held.left(0), held.left(1)), (3, 3), "three places are taken in each");
        for task in tasks {
            let answer = task.await;
            assert!(answer.is_err() || answer.unwrap().0 == 200);
        }
        held.assert_passed(&[("a", secs(0)), ("c", secs(2)), ("d", secs(4))]);
    }
}

/// Goal: a request that another of its rules refuses takes no place.
/// Method: one a minute for each address beside the line; the second of an address comes between.
#[tokio::test(start_paused = true)]
async fn who_is_refused_by_another_rule_takes_no_place() {
    let own = by(KeyKind::Ip, rule("own", "1/minute"));
    let held = Held::new(vec![line(Limit::per_second(1).burst(9)), own], millis(0));
    let tasks = [
        ("a", "192.0.2.1"),
        ("again", "192.0.2.1"),
        ("b", "192.0.2.2"),
        ("b2", "192.0.2.2"),
        ("c", "192.0.2.3"),
    ]
    .map(|(who, address)| held.ask(who, address));
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap().0);
    }
    assert_eq!(statuses, [200, 429, 200, 429, 200]);
    held.assert_passed(&[("a", secs(0)), ("b", secs(1)), ("c", secs(2))]);
}

/// Goal: a line, permits and a rate on one request are one decision: permits are taken on entering the
/// line and held until the body ends, and who leaves gives the place and the permit back.
/// Method: two permits, a service that works for ten seconds, and a client that leaves while it waits.
#[tokio::test(start_paused = true)]
async fn a_line_permits_and_a_rate_on_one_request() {
    let seats = by(KeyKind::Global, rule("seats", "2 concurrent"));
    let rate = by(KeyKind::Global, rule("rate", "9/minute"));
    let held = Held::new(vec![line(Limit::per_second(1).burst(9)), seats, rate], secs(10));
    let first = held.ask("a", "192.0.2.1");
    let second = held.ask("b", "192.0.2.1");
    sleep(millis(500)).await;
    assert_eq!((held.left(1), held.left(2)), (0, 7));
    assert_eq!(held.ask("c", "192.0.2.1").await.unwrap(), (429, millis(500)));
    assert_eq!(held.left(2), 7, "a refusal charges nothing");
    second.abort();
    sleep(millis(1)).await;
    assert_eq!((held.left(1), held.left(2)), (1, 7), "the permit is back, the rate stays charged");
    let third = held.ask("d", "192.0.2.1");
    assert_eq!(first.await.unwrap().0, 200);
    assert_eq!(held.left(1), 1);
    assert_eq!(third.await.unwrap().0, 200);
    assert_eq!(held.left(1), 2);
    held.assert_passed(&[("a", secs(0)), ("d", secs(1))]);
}

/// Goal: who was let through and then leaves has had its turn: nobody gets it again.
/// Method: the first leaves while the service works on it.
#[tokio::test(start_paused = true)]
async fn who_leaves_after_its_turn_has_had_it() {
    let held = Held::new(vec![line(Limit::per_second(1).burst(9))], secs(10));
    let first = held.ask("a", "192.0.2.1");
    let second = held.ask("b", "192.0.2.1");
    sleep(millis(100)).await;
    first.abort();
    assert_eq!(second.await.unwrap().0, 200);
    held.assert_passed(&[("a", secs(0)), ("b", secs(1))]);
}

/// Goal: every answer of a held request carries its fields, and lines of different keys do not wait for
/// each other.
/// Method: two addresses, two requests each.
#[tokio::test(start_paused = true)]
async fn lines_of_different_keys_are_apart() {
    let own = by(KeyKind::Ip, rule("line", Limit::per_second(1).burst(9).shaping()));
    let held = Held::new(vec![own], millis(0));
    let tasks = [("a", "192.0.2.1"), ("x", "192.0.2.2"), ("b", "192.0.2.1"), ("y", "192.0.2.2")]
        .map(|(who, address)| held.ask(who, address));
    for task in tasks {
        assert_eq!(task.await.unwrap().0, 200);
    }
    // Of turns at the same time either may be the first.
    held.passed.lock().unwrap().sort_by_key(|(who, at)| (at.as_secs(), who.clone()));
    held.assert_passed(&[("a", secs(0)), ("x", secs(0)), ("b", secs(1)), ("y", secs(1))]);
    let Ok(response) = held.service.clone().oneshot(from("192.0.2.3", "GET", "/z")).await;
    assert_eq!(told(response).remaining(), Some(8));
}

/// Goal: the most who wait at a time is the burst, whoever leaves and comes.
/// Method: fill the line, let one leave, fill its place; the next is refused.
#[tokio::test(start_paused = true)]
async fn a_place_that_was_freed_can_be_taken() {
    let held = Held::new(vec![line(Limit::per_second(1).burst(3))], millis(0));
    let tasks = ["a", "b", "c"].map(|who| held.ask(who, "192.0.2.1"));
    sleep(millis(10)).await;
    assert_eq!(held.ask("full", "192.0.2.1").await.unwrap().0, 429);
    tasks[1].abort();
    sleep(millis(10)).await;
    let late = held.ask("d", "192.0.2.1");
    sleep(millis(10)).await;
    assert_eq!(held.ask("full", "192.0.2.1").await.unwrap().0, 429);
    assert_eq!(late.await.unwrap().0, 200);
    held.assert_passed(&[("a", secs(0)), ("c", secs(1)), ("d", secs(2))]);
}
