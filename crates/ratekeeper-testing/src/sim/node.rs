//! One node of the fleet: the real limiter in a runtime of its own, whose time is the simulation's.
//!
//! Invariants: a node that is paused does nothing and sees no time pass; when it goes on, all that it missed has
//! passed at once. With a crash all is gone that it had.

use super::history::{Answer, Asked, Notes};
use super::network::Network;
use super::rules::{RulePlan, set};
use super::stream;
use ratekeeper::{Decision, Limiter, RedisConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep, sleep_until};

/// After so many turns in which nothing happened, nothing more will at this moment.
const QUIET: u32 = 3;

/// Most turns at one moment; what is left is done at the next.
const TURNS: u32 = 200;

/// A request that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// When.
    pub at: u64,
    /// Under which rule.
    pub rule: usize,
    /// For which key.
    pub key: usize,
    /// Units.
    pub cost: u64,
    /// Together with which other rule, as one decision.
    pub with: Option<usize>,
    /// Nanoseconds after which a permit is given back.
    pub holds: u64,
}

/// What all nodes have in common, and what is to be asked of this one.
#[derive(Clone, Debug)]
pub(super) struct NodePlan {
    /// Which node it is.
    pub number: usize,
    /// The rules of all releases.
    pub rules: Arc<[RulePlan]>,
    /// What is asked of it, in the order of time.
    pub asks: Arc<[Ask]>,
    /// How many nodes there are, if they are told.
    pub nodes: Option<u32>,
    /// The database that it selects.
    pub db: u32,
    /// What its random numbers come from.
    pub seed: u64,
    /// The time since the epoch at the start.
    pub epoch: Duration,
}

/// A node that runs.
#[derive(Debug)]
pub(super) struct Node {
    plan: NodePlan,
    network: Network,
    notes: Notes,
    runtime: Option<Runtime>,
    limiter: Option<Limiter>,
    /// Nanoseconds up to which time has passed for it.
    clock: u64,
    paused: bool,
    life: u32,
    release: usize,
}

impl Node {
    /// A node that was not started.
    pub(super) fn new(plan: NodePlan, network: &Network, notes: &Notes) -> Node {
        Node {
            plan,
            network: network.clone(),
            notes: notes.clone(),
            runtime: None,
            limiter: None,
            clock: 0,
            paused: false,
            life: 0,
            release: 0,
        }
    }

    /// Whether it can do anything at this moment.
    pub(super) fn is_running(&self) -> bool {
        self.runtime.is_some() && !self.paused
    }

    /// Starts it, with the rules of a release.
    pub(super) fn start(&mut self, now: u64, release: usize) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime is built");
        (self.clock, self.paused, self.release) = (now, false, release);
        self.life += 1;
        let limiter = runtime.block_on(async { self.limiter(now, release) });
        let caller = Caller {
            plan: self.plan.clone(),
            limiter: limiter.clone(),
            life: self.life,
            network: self.network.clone(),
            notes: self.notes.clone(),
        };
        runtime.spawn(caller.ask_all(now));
        (self.runtime, self.limiter) = (Some(runtime), Some(limiter));
    }

    fn limiter(&self, now: u64, release: usize) -> Limiter {
        let plan = &self.plan;
        let (network, number) = (self.network.clone(), plan.number);
        let url = format!("redis://store:6379/{}", plan.db);
        let mut config: RedisConfig = url.parse().expect("a URL of the store");
        config = config.seed(plan.seed.wrapping_add(u64::from(self.life) << 32));
        config = config.connector(move |_, _| Box::pin(stream::connect(network.clone(), number)));
        if let Some(nodes) = plan.nodes {
            config = config.nodes(nodes);
        }
        let limiter = Limiter::redis(config)
            .tokio_clock_at(plan.epoch + Duration::from_nanos(now))
            .rules(set(&plan.rules, release))
            .build();
        limiter.replace_as(set(&plan.rules, release), release as u64 + 1);
        limiter
    }

    /// Lets time pass up to then, and all be done that is to be done by then.
    pub(super) fn run_until(&mut self, now: u64) {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.paused) else { return };
        let passed = Duration::from_nanos(now - self.clock);
        self.clock = now;
        let network = &self.network;
        runtime.block_on(async {
            advance(passed).await;
            let (mut quiet, mut seen) = (0, network.activity());
            for _ in 0..TURNS {
                yield_now().await;
                let active = network.activity();
                quiet = if active == seen { quiet + 1 } else { 0 };
                seen = active;
                if quiet == QUIET {
                    break;
                }
            }
        });
    }

    /// Stands still.
    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    /// Goes on.
    pub(super) fn go_on(&mut self) {
        self.paused = false;
    }

    /// Crashes.
    pub(super) fn crash(&mut self) {
        self.limiter = None;
        self.runtime = None;
    }

    /// Takes the rules of a release, unless it has them.
    pub(super) fn take_release(&mut self, release: usize) -> bool {
        let (Some(runtime), Some(limiter)) = (&self.runtime, &self.limiter) else { return false };
        if release <= self.release {
            return false;
        }
        self.release = release;
        let rules = set(&self.plan.rules, release);
        runtime.block_on(async { limiter.replace_as(rules, release as u64 + 1) });
        true
    }
}

/// Who asks a node, and notes what it answers.
#[derive(Clone)]
struct Caller {
    plan: NodePlan,
    limiter: Limiter,
    life: u32,
    network: Network,
    notes: Notes,
}

impl Caller {
    /// Asks everything from now on, each at its time, whatever became of the others.
    async fn ask_all(self, now: u64) {
        let start = Instant::now();
        for ask in self.plan.asks.iter().filter(|ask| ask.at >= now) {
            sleep_until(start + Duration::from_nanos(ask.at - now)).await;
            tokio::spawn(self.clone().ask(*ask));
        }
    }

    async fn ask(self, ask: Ask) {
        let numbers: Vec<usize> = [ask.rule].into_iter().chain(ask.with).collect();
        let names: Vec<&str> = numbers.iter().map(|rule| &*self.plan.rules[*rule].id).collect();
        let key = format!("key-{}", ask.key);
        let rule = self.limiter.rule(names[0]).expect("the rule is there");
        let first = self.note(&numbers, &ask, rule.version());
        let (passes, each) = match ask.with {
            None => {
                let decision = rule.check(&*key).cost(ask.cost).await;
                (decision.is_allowed(), vec![decision])
            }
            Some(_) => {
                let asked = names.iter().map(|name| (*name, &*key));
                let together = self.limiter.check_all(asked).expect("the rules are there");
                let decisions = together.cost(ask.cost).await;
                let each = decisions.results().map(|(_, decision)| *decision).collect();
                (decisions.is_allowed(), each)
            }
        };
        let at = self.network.now();
        self.network.stir();
        for (number, decision) in each.iter().enumerate() {
            let (allowed, source) = (decision.is_allowed(), decision.source().name());
            let (limit, remaining) = (decision.limit(), decision.remaining());
            let answer = Answer { at, allowed, passes, source, limit, remaining };
            self.notes.with(|history| history.asked[first + number].answer = Some(answer));
        }
        let Some(permit) = each.iter().find_map(Decision::permit).filter(|_| passes) else {
            return;
        };
        sleep(Duration::from_nanos(ask.holds)).await;
        let freed = Some(self.network.now());
        self.notes.with(|history| {
            history.asked[first..first + each.len()].iter_mut().for_each(|own| own.freed = freed);
        });
        self.limiter.release(permit).await;
    }

    /// Notes a question to each of the rules, before it is asked; the number of the first.
    fn note(&self, rules: &[usize], ask: &Ask, version: u64) -> usize {
        let (node, life, at) = (self.plan.number, self.life, self.network.now());
        let (key, cost) = (ask.key, ask.cost);
        let each = rules.iter().map(|rule| {
            let rule = *rule;
            Asked { node, life, key, rule, version, cost, at, answer: None, freed: None }
        });
        self.notes.with(|history| {
            let first = history.asked.len();
            history.asked.extend(each);
            first
        })
    }
}
