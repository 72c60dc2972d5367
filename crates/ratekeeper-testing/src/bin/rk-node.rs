//! One process of a fleet that is killed and paused: it makes decisions, and writes each down.
//!
//! `rk-node URL RULES.yaml NODE_NAME NODES HISTORY SEED SECONDS RATE KEYS` asks at an even rate, by dice
//! that fall as the seed says, until its time is over or `SIGTERM` comes; then it waits for the last
//! answers. Invariant: a decision is in the file before anything else is done with it, by one call of the
//! system, so that `kill -9` loses none but those that nobody had the answer of.
#![forbid(unsafe_code)]

use ratekeeper::rule::file::{RuleFile, Store};
use ratekeeper::{Decision, Limiter, RedisConfig, Rule, Source};
use ratekeeper_testing::dice::Dice;
use ratekeeper_testing::processes::{Line, now};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "usage: rk-node URL RULES.yaml NODE_NAME NODES HISTORY SEED SECONDS RATE KEYS";

/// Bits of an id that count decisions; those above are the number of the process.
const COUNTER_BITS: u32 = 40;

/// One call in so many costs more than one unit.
const DEAR: u64 = 8;
const DEAR_COST: u64 = 3;

/// What this process is and does.
struct Node {
    name: String,
    /// The number at the end of the name, which no other process of the fleet has.
    number: u64,
    version: u64,
    history: File,
}

/// One question.
struct Question {
    count: u64,
    rule: Rule,
    key: String,
    cost: u64,
}

fn main() -> Outcome<()> {
    // Whoever started it may be killed while it is paused.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    runtime.block_on(run(&arguments))
}

async fn run(arguments: &[String]) -> Outcome<()> {
    let [url, rules, name, nodes, history, seed, seconds, rate, keys] = arguments else {
        return Err(USAGE.into());
    };
    let limiter = limiter(url, &std::fs::read_to_string(rules)?, nodes.parse()?)?;
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let node = Arc::new(Node {
        name: name.clone(),
        number: digits.parse().map_err(|_| "NODE_NAME ends with no number, as `n3` does")?,
        version: limiter.version(),
        history: OpenOptions::new().create(true).append(true).open(history)?,
    });
    let (rate, keys): (u32, u64) = (rate.parse()?, keys.parse()?);
    let (rules, mut dice) = (limiter.rules(), Dice::new(seed.parse()?));
    let mut ticks = interval(Duration::from_secs(1) / rate.max(1));
    // Whoever was paused does not make up for it: that would be no even rate.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut term = signal(SignalKind::terminate())?;
    let over = sleep(Duration::from_secs(seconds.parse()?));
    tokio::pin!(over);
    let mut calls = JoinSet::new();
    for count in 0.. {
        tokio::select! {
            () = &mut over => break,
            _ = term.recv() => break,
            _ = ticks.tick() => {}
        }
        let rule = rules[usize::try_from(dice.below(rules.len() as u64))?].clone();
        let key = format!("k{}", dice.below(keys));
        let cost = if dice.below(DEAR) == 0 { DEAR_COST } else { 1 };
        calls.spawn(ask(Arc::clone(&node), Question { count, rule, key, cost }));
        while let Some(call) = calls.try_join_next() {
            call??;
        }
    }
    while let Some(call) = calls.join_next().await {
        call??;
    }
    Ok(())
}

/// The rules of the file, over this store; the file's own says how long to wait for it.
fn limiter(url: &str, rules: &str, nodes: u32) -> Outcome<Limiter> {
    let file = RuleFile::parse(rules)?;
    let mut config = RedisConfig::new(url)?.nodes(nodes);
    if let Store::Url { deadline: Some(deadline), .. } = file.settings.store {
        config = config.deadline(deadline);
    }
    Ok(Limiter::redis(config).rules(file.rules).build())
}

/// Asks, and writes the answer down.
async fn ask(node: Arc<Node>, question: Question) -> std::io::Result<()> {
    let Question { count, rule, key, cost } = question;
    let id = node.number << COUNTER_BITS | count;
    // Should this process be killed before the answer, the store may have been charged nevertheless.
    let (outcome, source) = ("error".to_owned(), Source::FailedClosed.name().to_owned());
    let (name, named, version) = (node.name.clone(), rule.name().to_owned(), node.version);
    let asked = now();
    let question = Line { node: name, rule: named, version, outcome, source, ..Line::default() };
    let question = Line { id, key: key.clone(), cost, asked, answered: asked, ..question };
    (&node.history).write_all(format!("{question}\n").as_bytes())?;
    let decision = rule.check(&key).cost(cost).await;
    let answered = now();
    let line = Line { id, key, cost, asked, answered, ..line(&node, &rule, &decision) };
    (&node.history).write_all(format!("{line}\n").as_bytes())
}

fn line(node: &Node, rule: &Rule, decision: &Decision) -> Line {
    let figures = !decision.is_without_figures();
    let retry = decision.retry_after().filter(|_| figures);
    Line {
        node: node.name.clone(),
        rule: rule.name().to_owned(),
        version: node.version,
        outcome: if decision.is_allowed() { "allow" } else { "deny" }.to_owned(),
        source: decision.source().name().to_owned(),
        retry: retry.and_then(|retry| u64::try_from(retry.as_nanos()).ok()),
        remaining: figures.then(|| decision.remaining()),
        ..Line::default()
    }
}
