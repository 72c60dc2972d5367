//! Waiting in tokio, whose time stands still until nobody has anything to do.
//!
//! Invariant: tokio's timers count whole milliseconds, so a turn comes within a millisecond of its
//! time, and never before.

use crate::one_key::{millis, secs};
use ratekeeper::{Decision, Limit, LimitBuilder, Limiter, Rule};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// A rule on the runtime's clock.
fn rule(limit: LimitBuilder) -> Rule {
    Limiter::memory().tokio_clock().rule("line", limit).unwrap().build().rule("line").unwrap()
}

/// Who passed, and how long after the start.
type Passed = Arc<Mutex<Vec<(usize, Duration)>>>;

/// A task that waits, and notes when it has passed.
fn waits(rule: &Rule, who: usize, passed: &Passed) -> JoinHandle<Decision> {
    let (rule, passed, start) = (rule.clone(), Arc::clone(passed), Instant::now());
    tokio::spawn(async move {
        let decision = rule.wait("alice").await;
        passed.lock().unwrap().push((who, start.elapsed()));
        decision
    })
}

/// Whether they passed in this order, each within a millisecond after its time.
fn assert_passed(passed: &Passed, expected: &[(usize, Duration)]) {
    let passed = passed.lock().unwrap();
    assert_eq!(passed.len(), expected.len(), "{passed:?}");
    for ((who, at), (expected, turn)) in passed.iter().zip(expected) {
        assert_eq!(who, expected, "{passed:?}");
        assert!(at >= turn && *at <= *turn + millis(1), "{who} at {at:?}, its turn is {turn:?}");
    }
}

/// Goal: many tasks pass in the order in which they came, each at its turn.
/// Method: two hundred tasks at 40 a second; tokio moves the time when all of them wait.
#[tokio::test(start_paused = true)]
async fn many_tasks_pass_in_order_and_apart() {
    let (rule, passed) = (rule(Limit::per_second(40).burst(200).shaping()), Passed::default());
    let tasks: Vec<_> = (0..200).map(|who| waits(&rule, who, &passed)).collect();
    for task in tasks {
        assert!(task.await.unwrap().is_allowed());
    }
    let expected: Vec<_> = (0..200).map(|who| (who, millis(25) * who as u32)).collect();
    assert_passed(&passed, &expected);
}

/// Goal: tasks that are aborted leave at once, and the others move up.
/// Method: abort every third of thirty tasks at the time of the fifth turn.
#[tokio::test(start_paused = true)]
async fn aborted_tasks_leave_and_the_rest_move_up() {
    let (rule, passed) = (rule(Limit::per_second(10).burst(30).shaping()), Passed::default());
    let tasks: Vec<_> = (0..30).map(|who| waits(&rule, who, &passed)).collect();
    tokio::time::sleep(millis(450)).await;
    let mut expected: Vec<(usize, Duration)> =
        (0..5).map(|who| (who, millis(100) * who as u32)).collect();
    for (who, task) in tasks.iter().enumerate().skip(5) {
        if who % 3 == 0 {
            task.abort();
        } else {
            expected.push((who, millis(100) * expected.len() as u32));
        }
    }
    for task in tasks {
        let done = task.await;
        assert!(done.is_err() || done.unwrap().is_allowed());
    }
    assert_passed(&passed, &expected);
}

/// Goal: a wait that runs into a timeout leaves the line, and the turn is the next one's.
/// Method: the second of three waits gives up after half a second.
#[tokio::test(start_paused = true)]
async fn a_timeout_leaves_the_line() {
    let (rule, passed) = (rule(Limit::per_second(1).burst(9).shaping()), Passed::default());
    assert!(waits(&rule, 0, &passed).await.unwrap().is_allowed());
    let hasty = async { timeout(millis(500), rule.wait("alice")).await.is_err() };
    let (hasty, patient) = tokio::join!(hasty, waits(&rule, 1, &passed));
    assert!(hasty && patient.unwrap().is_allowed());
    assert_passed(&passed, &[(0, secs(0)), (1, secs(1))]);
    assert_eq!(rule.peek("alice").await.remaining(), 8);
}

/// Goal: a deadline is kept: who cannot pass by then is refused at once, who can waits.
/// Method: deadlines a second apart around the turn.
#[tokio::test(start_paused = true)]
async fn a_deadline_is_kept() {
    for limit in [Limit::per_second(1).burst(1), Limit::per_second(1).burst(2).shaping()] {
        let (rule, start) = (rule(limit), Instant::now());
        assert!(rule.wait("alice").await.is_allowed());
        let early = (start + millis(999)).into_std();
        assert!(rule.wait("alice").deadline(early).await.retry_after().is_some());
        assert_eq!(start.elapsed(), secs(0), "the refusal took no time");
        let late = (start + millis(1_001)).into_std();
        assert!(rule.wait("alice").deadline(late).await.is_allowed());
        assert!(start.elapsed() >= secs(1) && start.elapsed() <= millis(1_001));
    }
}

/// Goal: those who wait for the next unit of a rate all pass, as fast as it allows.
/// Method: thirty tasks at 10 a second and a burst of ten.
#[tokio::test(start_paused = true)]
async fn tasks_that_ask_again_all_pass() {
    let (rule, passed) = (rule(Limit::per_second(10)), Passed::default());
    let tasks: Vec<_> = (0..30).map(|who| waits(&rule, who, &passed)).collect();
    for task in tasks {
        assert!(task.await.unwrap().is_allowed());
    }
    let passed = passed.lock().unwrap();
    for (number, (_, at)) in passed.iter().enumerate().skip(10) {
        let unit = millis(100) * (number - 9) as u32;
        assert!(*at >= unit && *at <= unit + millis(20), "the {number}th at {at:?}");
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicU64);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Goal: one who comes when the turn of others has come, but before anybody woke them, does not pass
/// in front of them: they are woken first.
/// Method: move the time without giving the runtime a chance to see it, and come.
#[tokio::test(start_paused = true)]
async fn who_comes_late_does_not_overtake() {
    let rule = rule(Limit::per_second(1).burst(9).shaping());
    assert!(rule.try_check("alice").unwrap().is_allowed());
    let bells = [(); 2].map(|()| Arc::new(Bell::default()));
    let wakers = bells.each_ref().map(|bell| Waker::from(Arc::clone(bell)));
    let woken = || bells.each_ref().map(|bell| bell.0.load(Ordering::SeqCst));

    let mut first = pin!(rule.wait("alice").into_future());
    assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
    let mut moves = pin!(tokio::time::advance(secs(5)));
    let _ = moves.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(woken(), [0, 0], "nobody has seen that the time has moved");
    let mut late = pin!(rule.wait("alice").into_future());
    assert!(late.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
    assert_eq!(woken(), [1, 1], "each is to be polled again, the first one first");
    assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
    assert!(late.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_ready());
}
