//! Five workers call a partner who takes ten calls a second, spread out.
//!
//!     cargo run --example outbound --features wait
//!
//! The same rate twice. `10/second` is a token bucket: what was saved up goes out at once, and the
//! partner complains. Shaped, the same limit is a line: each call has a turn, 100 ms after the one
//! before, however many workers there are. Only the rule differs; the workers are the same.

use ratekeeper::limiter::IntoLimits;
use ratekeeper::{Limit, Limiter};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const WORKERS: usize = 5;
const JOBS: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{WORKERS} workers make {JOBS} calls to a partner who takes 10 a second");
    say("Without shaping", "10/second", &run("10/second").await?);
    say("With shaping", "10/second, shaping", &run(Limit::per_second(10).shaping()).await?);
    Ok(())
}

/// Makes all calls under this limit, and returns what the partner saw.
async fn run(limit: impl IntoLimits) -> Result<Vec<Call>, Box<dyn Error>> {
    let limiter = Limiter::memory().rule("outbound", limit)?.build();
    let outbound = limiter.rule("outbound")?;
    let (partner, jobs) = (Arc::new(Partner::default()), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (outbound, partner) = (outbound.clone(), Arc::clone(&partner));
            let jobs = Arc::clone(&jobs);
            tokio::spawn(async move {
                while jobs.fetch_add(1, Ordering::Relaxed) < JOBS {
                    // All that there is to it. A worker that is cancelled here leaves the line.
                    let turn = outbound.wait("partner").max_wait(Duration::from_secs(5)).await;
                    if turn.is_refused() {
                        break; // The line is longer than five seconds: this job is for later.
                    }
                    partner.call(worker).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    Ok(partner.seen())
}

/// The other side, here in the process. It counts what it sees within 100 ms.
#[derive(Default)]
struct Partner(Mutex<Vec<Call>>);

#[derive(Clone, Copy)]
struct Call {
    at: Instant,
    worker: usize,
    /// Calls within 100 ms, this one included.
    crowd: usize,
}

impl Call {
    /// Two are borne with: one that is a millisecond late comes closer to the next.
    fn is_too_much(&self) -> bool {
        self.crowd > 2
    }
}

impl Partner {
    async fn call(&self, worker: usize) {
        self.note(worker);
        sleep(Duration::from_millis(2)).await;
    }

    fn note(&self, worker: usize) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Instant::now();
        let near = |call: &&Call| at - call.at < Duration::from_millis(100);
        let crowd = 1 + calls.iter().filter(near).count();
        calls.push(Call { at, worker, crowd });
    }

    fn seen(&self) -> Vec<Call> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One line for each call: when, how long after the one before, and by whom.
fn say(title: &str, limit: &str, calls: &[Call]) {
    println!("\n{title} ({limit})\n\n  at ms    gap");
    let Some(first) = calls.first() else { return };
    let mut before = first.at;
    for call in calls {
        let (at, gap) = (millis(call.at - first.at), millis(call.at - before));
        before = call.at;
        let bar = "─".repeat((gap / 5.0).round() as usize);
        let complaint = if call.is_too_much() {
            format!("   too much: {} within 100 ms", call.crowd)
        } else {
            String::new()
        };
        println!("  {at:5.0}  {gap:5.0}  {bar}● worker {}{complaint}", call.worker + 1);
    }
    let most = calls.iter().map(|call| call.crowd).max().unwrap_or_default();
    let complaints = calls.iter().filter(|call| call.is_too_much()).count();
    let took = (before - first.at).as_secs_f64();
    println!(
        "\n{title}: {} calls in {took:.1} s, at most {most} within 100 ms, {complaints} complaints.",
        calls.len()
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
