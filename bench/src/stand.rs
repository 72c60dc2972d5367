//! One slice of time in which tasks wait for their turn, over and over.
//!
//! The line of a key never runs empty, so the n-th release of a key has a time that can be told
//! beforehand: n intervals after somebody first asked. Late is what comes after that, also for one
//! that falls behind for good; early is what comes more than a microsecond before.

use crate::patient::{Pace, Patient};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Nanoseconds that clocks may differ.
const TOLERANCE: i64 = 1_000;

pub struct Scene {
    /// What it is called on the command line.
    pub word: &'static str,
    pub name: &'static str,
    pub keys: usize,
    /// For each key.
    pub tasks: usize,
}

/// What one slice of time gave.
pub struct Round {
    pub rate: f64,
    /// Microseconds: median, p99, most.
    pub late: [f64; 3],
    pub early: usize,
    /// Microseconds off the schedule, early or late: p99.
    pub off: f64,
    /// Microseconds of the processor for one release.
    pub cost: f64,
}

pub fn runtime(workers: usize) -> Runtime {
    let builder = match workers {
        0 => Builder::new_current_thread().enable_time().build(),
        _ => Builder::new_multi_thread().worker_threads(workers).enable_time().build(),
    };
    builder.expect("the system gives threads")
}

pub fn spend<P: Patient>(scene: &Scene, pace: Pace, runtime: Runtime, slice: Duration) -> Round {
    let (before, end) = (processor_time(), Instant::now() + slice);
    let logs = runtime.block_on(async {
        let patient = Arc::new(P::new(pace));
        let numbers = (0..scene.tasks).flat_map(|_| 0..scene.keys);
        let first = |key: usize| pace.interval() * key as u32 / scene.keys as u32;
        let spawn = |key| (key, tokio::spawn(stand(Arc::clone(&patient), key, first(key), end)));
        let tasks: Vec<_> = numbers.map(spawn).collect();
        let mut logs: Vec<Log> = (0..scene.keys).map(|_| Log::default()).collect();
        for (key, task) in tasks {
            logs[key].add(task.await.expect("no panics"));
        }
        logs
    });
    let cost = processor_time() - before;
    let rate = logs.iter().map(Log::rate).sum();
    let mut late: Vec<i64> = logs.into_iter().flat_map(|log| log.lateness(pace)).collect();
    late.sort_unstable();
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    Round {
        rate,
        late: [at(0.5), at(0.99), at(1.0)],
        off: off(&late),
        early: late.partition_point(|nanos| *nanos < -TOLERANCE),
        cost: cost / 1e3 / late.len() as f64,
    }
}

fn off(late: &[i64]) -> f64 {
    let mut off: Vec<u64> = late.iter().map(|nanos| nanos.unsigned_abs()).collect();
    off.sort_unstable();
    off[((off.len() - 1) as f64 * 0.99) as usize] as f64 / 1e3
}

/// When somebody first asked, and when they passed.
#[derive(Default)]
struct Log {
    asked: Option<Instant>,
    passed: Vec<Instant>,
}

impl Log {
    fn add(&mut self, other: Log) {
        self.asked = self.asked.into_iter().chain(other.asked).min();
        self.passed.extend(other.passed);
    }

    /// How many passed in a second, from when somebody first asked to when somebody last passed. The
    /// first did not wait.
    fn rate(&self) -> f64 {
        let (Some(asked), Some(last)) = (self.asked, self.passed.iter().max()) else { return 0.0 };
        (self.passed.len() - 1) as f64 / last.duration_since(asked).as_secs_f64()
    }

    /// Nanoseconds by which each of them was late.
    fn lateness(mut self, pace: Pace) -> Vec<i64> {
        self.passed.sort_unstable();
        let Some(start) = self.asked else { return Vec::new() };
        let interval = pace.interval().as_nanos() as i64;
        let since = |passed: &Instant| passed.duration_since(start).as_nanos() as i64;
        let due = (0..).map(|number: i64| number * interval);
        self.passed.iter().zip(due).map(|(passed, due)| since(passed) - due).collect()
    }
}

/// Waits again and again. Keys do not begin together, so that their turns do not fall together.
async fn stand<P: Patient>(patient: Arc<P>, key: usize, first: Duration, end: Instant) -> Log {
    tokio::time::sleep(first).await;
    let mut log = Log { asked: Some(Instant::now()), passed: Vec::new() };
    loop {
        let answer = patient.wait(key).await;
        assert!(P::passes(&answer), "the line has a place for every task");
        let now = Instant::now();
        if now >= end {
            return log;
        }
        log.passed.push(now);
    }
}

/// Nanoseconds for which the threads of this process ran. Those that have ended do not count.
pub fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let ran = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    ran.sum()
}
