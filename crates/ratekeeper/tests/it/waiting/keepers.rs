//! Who keeps the time for those who wait: a thread, a runtime, and another one when that is gone.
//!
//! Invariant: time is the system's here, so only two things are said: everyone passes, and nobody
//! early. Nothing sleeps but those who wait.

use crate::one_key::millis;
use ratekeeper::{Limit, Limiter, Rule};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// How far the limiter's clock may be off from tokio's.
const OFF: Duration = Duration::from_millis(1);

fn rule(per_second: u64) -> Rule {
    let limit = Limit::per_second(per_second).burst(100).shaping();
    Limiter::memory().rule("line", limit).unwrap().build().rule("line").unwrap()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, outside of any runtime.
fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future.into_future());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// A future that says when it was polled for the first time.
struct Begun<F>(Pin<Box<F>>, Option<SyncSender<()>>);

impl<F: Future> Future for Begun<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = self.0.as_mut().poll(context);
        if let Some(begun) = self.1.take() {
            begun.send(()).unwrap();
        }
        polled
    }
}

/// Starts a wait in a runtime, and returns once it is in line.
fn wait_in(runtime: &Runtime, rule: &Rule) -> tokio::task::JoinHandle<bool> {
    let (rule, (begun, has_begun)) = (rule.clone(), sync_channel(1));
    let task = runtime.spawn(async move {
        Begun(Box::pin(rule.wait("alice").into_future()), Some(begun)).await.is_allowed()
    });
    has_begun.recv().unwrap();
    task
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap()
}

/// Goal: waiting works outside of any runtime, on many threads at once, and nobody passes early.
/// Method: eight threads wait at 200 a second; sorted, the times are five milliseconds apart.
#[test]
fn waiting_works_without_a_runtime() {
    let (rule, start) = (rule(200), Instant::now());
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let wait = || {
            assert!(block_on(rule.wait("alice")).is_allowed());
            start.elapsed()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(wait)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    times.sort_unstable();
    for (turn, time) in times.iter().enumerate() {
        assert!(*time + OFF >= millis(5) * turn as u32, "{times:?}");
    }
}

/// Goal: after everyone has passed and the thread has gone, the next one finds another.
/// Method: wait again and again, with nobody in line between.
#[test]
fn a_keeper_that_has_gone_is_replaced() {
    let (rule, start) = (rule(100), Instant::now());
    for turn in 0..5 {
        assert!(block_on(rule.wait("alice")).is_allowed());
        assert!(start.elapsed() + OFF >= millis(10) * turn);
    }
}

/// Goal: when the runtime that keeps the time is shut down, those who wait in another one are woken
/// all the same, and those who waited in the first have left.
/// Method: the first to wait is in the runtime that goes; of four turns three are left in the other.
#[test]
fn waiters_outlive_the_runtime_that_kept_their_time() {
    let (rule, start) = (rule(20), Instant::now());
    assert!(rule.try_check("alice").unwrap().is_allowed());
    let (first, second) = (runtime(), runtime());
    let gone = wait_in(&first, &rule);
    let stays: Vec<_> = (0..3).map(|_| wait_in(&second, &rule)).collect();
    first.shutdown_background();
    for (turn, task) in (1..).zip(stays) {
        assert!(second.block_on(task).unwrap());
        assert!(start.elapsed() + OFF >= millis(50) * turn, "turn {turn}");
    }
    drop(gone);
}

/// Goal: a waiter outside of any runtime is woken, too, when the runtime that kept its time is gone.
/// Method: the keeper is in a runtime; shut it down while a thread waits.
#[test]
fn a_thread_outlives_the_runtime_that_kept_its_time() {
    let (rule, start) = (rule(20), Instant::now());
    assert!(rule.try_check("alice").unwrap().is_allowed());
    let runtime = runtime();
    let gone = wait_in(&runtime, &rule);
    let (begun, has_begun) = sync_channel(1);
    thread::scope(|scope| {
        let rule = &rule;
        let waits = scope.spawn(move || {
            block_on(Begun(Box::pin(rule.wait("alice").into_future()), Some(begun)))
        });
        has_begun.recv().unwrap();
        runtime.shutdown_background();
        assert!(waits.join().unwrap().is_allowed());
    });
    assert!(start.elapsed() + OFF >= millis(50));
    drop(gone);
}

/// Goal: a runtime that runs only while somebody blocks on it does not hold up those who wait
/// elsewhere.
/// Method: the first to wait is polled in such a runtime, which then stands still; another one waits
/// outside of it.
#[test]
fn a_runtime_that_stands_still_holds_nobody_up() {
    let (rule, start) = (rule(50), Instant::now());
    assert!(rule.try_check("alice").unwrap().is_allowed());
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let mut first = Box::pin(rule.wait("alice").into_future());
    let polled =
        runtime.block_on(std::future::poll_fn(|context| Poll::Ready(first.as_mut().poll(context))));
    assert!(polled.is_pending());
    assert!(block_on(rule.wait("alice")).is_allowed());
    assert!(start.elapsed() + OFF >= millis(40), "it was the second in line");
    assert!(block_on(first).is_allowed());
}
