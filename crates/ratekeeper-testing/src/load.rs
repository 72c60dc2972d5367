//! Load on limiters, and what became of every call.
//!
//! Calls are made at an even pace, whether or not the former ones were answered, as callers do who do
//! not know of each other. Invariant: every call that was made is in the history, once.

mod history;
mod recorded;
mod witness;

pub use history::{Call, Envelope, History};
pub use recorded::Fault;
pub use witness::Witness;

use ratekeeper::Rule;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

/// How long the last calls may take to be answered.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether tasks get to run.
const TICK: Duration = Duration::from_millis(1);

/// Calls of one key under one rule of one limiter.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Which of the limiters it is.
    pub node: usize,
    /// The rule.
    pub rule: Rule,
    /// Who calls.
    pub key: String,
    /// What each call costs.
    pub cost: u64,
    /// The time between two calls.
    pub every: Duration,
}

/// Load that goes on until it is stopped.
#[derive(Debug)]
pub struct Load {
    runtime: Handle,
    start: Instant,
    calls: Arc<Mutex<Vec<Call>>>,
    stop: Arc<AtomicBool>,
    stall: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts making calls, in this runtime.
    pub fn start(runtime: &Handle, offers: Vec<Offer>) -> Load {
        let (stop, stall) = (Arc::default(), Arc::default());
        let mut load = Load {
            runtime: runtime.clone(),
            start: Instant::now(),
            calls: Arc::default(),
            stop,
            stall,
            tasks: Vec::new(),
        };
        load.tasks.push(runtime.spawn(watch(Arc::clone(&load.stop), Arc::clone(&load.stall))));
        let count = offers.len().max(1) as u32;
        for (number, offer) in offers.into_iter().enumerate() {
            // Callers do not know of each other, so they do not call at the same instant.
            let first = load.start + offer.every * number as u32 / count;
            let calls = Arc::clone(&load.calls);
            let stop = Arc::clone(&load.stop);
            load.tasks.push(runtime.spawn(make_calls(offer, (load.start, first), calls, stop)));
        }
        load
    }

    /// How long it has gone on.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Lets it go on for so long.
    pub fn go_on(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Does something every so often, for so long; how often it was.
    pub fn each(&self, every: Duration, time: Duration, mut act: impl FnMut()) -> u32 {
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < time {
            act();
            count += 1;
            let next = every * count;
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
        count
    }

    /// Ends it, waits for the last answers, and tells all.
    pub fn stop(self) -> History {
        self.stop.store(true, Ordering::Relaxed);
        let took = self.now();
        for task in self.tasks {
            let ended = self.runtime.block_on(async { timeout(PATIENCE, task).await });
            ended.expect("every call is answered").expect("no call panics");
        }
        let mut calls = std::mem::take(&mut *self.calls.lock().expect("nobody panicked"));
        calls.sort_by_key(|call| call.asked);
        let stall = Duration::from_micros(self.stall.load(Ordering::Relaxed));
        History { calls, took, stall }
    }
}

/// Makes the calls of one offer, each in a task of its own.
async fn make_calls(
    offer: Offer,
    (start, first): (Instant, Instant),
    calls: Arc<Mutex<Vec<Call>>>,
    stop: Arc<AtomicBool>,
) {
    let offer = Arc::new(offer);
    let mut ticks = interval_at(first, offer.every);
    // Calls that are late are made as soon as can be: as many are made as were said.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut tasks = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        ticks.tick().await;
        let (offer, calls) = (Arc::clone(&offer), Arc::clone(&calls));
        tasks.push(tokio::spawn(async move {
            let call = make_call(&offer, start).await;
            calls.lock().expect("nobody panicked").push(call);
        }));
    }
    for task in tasks {
        task.await.expect("no call panics");
    }
}

async fn make_call(offer: &Offer, start: Instant) -> Call {
    let asked = start.elapsed();
    let decision = offer.rule.check(&offer.key).cost(offer.cost).await;
    Call {
        node: offer.node,
        rule: offer.rule.name().to_owned(),
        key: offer.key.clone(),
        cost: offer.cost,
        asked,
        answered: start.elapsed(),
        allowed: decision.is_allowed(),
        source: decision.source(),
        limit: decision.limit(),
        remaining: decision.remaining(),
    }
}

/// Finds the longest time for which a task that was due did not get to run: no call can be quicker.
async fn watch(stop: Arc<AtomicBool>, stall: Arc<AtomicU64>) {
    while !stop.load(Ordering::Relaxed) {
        let due = Instant::now() + TICK;
        sleep(TICK).await;
        let late = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        stall.fetch_max(late, Ordering::Relaxed);
    }
}
