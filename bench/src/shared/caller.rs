//! One slice of time in which so many callers ask, each again as soon as it has its answer.

use super::peer::{Pipelined, Pooled};
use super::server::Server;
use crate::stand::processor_time;
use ratekeeper::{Rule, Source};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

pub enum Contender {
    Pooled(Pooled),
    Pipelined(Pipelined),
    Ratekeeper(Rule),
    /// A rule of a limiter of its own for each caller.
    Alone(Vec<Rule>),
    /// Whoever decides.
    Any(Rule),
}

/// The questions, in the order in which they are asked: names for the peers, keys for ratekeeper.
pub struct Questions {
    pub keys: Vec<String>,
    pub names: Vec<String>,
    next: Cell<usize>,
}

impl Questions {
    pub fn new(keys: Vec<String>) -> Questions {
        let names = keys.iter().map(|key| super::peer::name(key)).collect();
        Questions { keys, names, next: Cell::new(0) }
    }

    fn next(&self) -> usize {
        let next = self.next.get();
        self.next.set((next + 1) % self.keys.len());
        next
    }
}

impl Contender {
    /// Whether the store decided, and admitted.
    pub async fn decide(&self, questions: &Questions) -> bool {
        let number = questions.next();
        match self {
            Contender::Pooled(peer) => peer.decide(&questions.names[number]).await,
            Contender::Pipelined(peer) => peer.decide(&questions.names[number]).await,
            Contender::Ratekeeper(rule) => {
                let decision = rule.check(&questions.keys[number]).await;
                decision.is_allowed() && decision.source() == Source::Store
            }
            Contender::Alone(rules) => {
                let decision = rules[number % rules.len()].check(&questions.keys[number]).await;
                decision.source() != Source::FailedOpen
            }
            Contender::Any(rule) => {
                rule.check(&questions.keys[number]).await.source() != Source::FailedOpen
            }
        }
    }
}

/// What one slice of time gave.
pub struct Round {
    /// Decisions in a second.
    pub rate: f64,
    /// Microseconds that a call took: median and p99.
    pub p50: f64,
    pub p99: f64,
    /// Microseconds of the processor for one decision: the server's, and this process's.
    pub server: f64,
    pub client: f64,
    /// Calls that the store did not answer in time, or did not admit.
    pub failed: usize,
}

pub async fn spend(
    server: &Server,
    contender: &Rc<Contender>,
    questions: &Rc<Questions>,
    callers: usize,
    slice: Duration,
) -> Round {
    let local = LocalSet::new();
    let (server_before, client_before) = (server.processor_time(), processor_time());
    let start = Instant::now();
    let end = start + slice;
    let tasks: Vec<_> = (0..callers)
        .map(|_| local.spawn_local(ask(Rc::clone(contender), Rc::clone(questions), end)))
        .collect();
    local.await;
    let elapsed = start.elapsed().as_secs_f64();
    let (server_used, client_used) =
        (server.processor_time() - server_before, (processor_time() - client_before) / 1e3);
    let (mut nanos, mut failed) = (Vec::new(), 0);
    for task in tasks {
        let (times, failures) = task.await.expect("no panics");
        nanos.extend(times);
        failed += failures;
    }
    nanos.sort_unstable();
    let decisions = nanos.len() as f64;
    let at = |share: f64| f64::from(nanos[((decisions - 1.0) * share) as usize]) / 1e3;
    Round {
        rate: decisions / elapsed,
        p50: at(0.5),
        p99: at(0.99),
        server: server_used / decisions,
        client: client_used / decisions,
        failed,
    }
}

/// Nanoseconds of each call that was decided, and how many were not.
async fn ask(
    contender: Rc<Contender>,
    questions: Rc<Questions>,
    end: Instant,
) -> (Vec<u32>, usize) {
    let (mut times, mut failed) = (Vec::new(), 0);
    let mut now = Instant::now();
    while now < end {
        let decided = contender.decide(&questions).await;
        let then = std::mem::replace(&mut now, Instant::now());
        match decided {
            true => times.push((now - then).as_nanos().min(u128::from(u32::MAX)) as u32),
            false => {
                failed += 1;
                // Whoever brings the store back has to get to run.
                tokio::task::yield_now().await;
            }
        }
    }
    (times, failed)
}
