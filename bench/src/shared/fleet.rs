//! The three ways of a fleet, side by side: exact, exact with calls that go together, leased; on keys of every spread.
//!
//! What is admitted beyond a limit is counted on the busiest key, over a whole slice.

use super::caller::{Contender, Questions, Round, spend};
use super::peer::{self, Pooled};
use super::server::Server;
use super::{DEADLINE, OURS, runtime};
use crate::keys::{Spread, questions};
use crate::median;
use ratekeeper::rule::Consistency;
use ratekeeper::{Limit, LimitBuilder, Limiter, RedisConfig, Rule};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use tokio::time::{MissedTickBehavior, interval};

const KEYS: usize = 1_000_000;
const CALLERS: usize = 256;

/// Callers that have a limiter, and so a connection, each: nothing of theirs can go together.
const ALONE: usize = 50;

const ROUNDS: usize = 5;
const SLICE: Duration = Duration::from_millis(2_000);
const WARM_UP: Duration = Duration::from_millis(1_500);

/// What every key has: more than the busiest asks for while it is measured. A unit takes a minute to come back, so
/// that every key has to be remembered.
const BURST: u64 = 4_000_000;

struct Work {
    name: &'static str,
    keys: Rc<Questions>,
}

pub fn run(server: &Server, words: &[&str]) {
    runtime().block_on(async {
        let hot = || Questions::new(vec!["hot".to_owned()]);
        let spread = |spread| Rc::new(Questions::new(questions(spread, KEYS, KEYS, 11)));
        let all = [
            Work { name: "uniform, 1 M keys", keys: spread(Spread::Uniform) },
            Work { name: "zipf, 1 M keys", keys: spread(Spread::Zipf) },
            Work { name: "one hot key, allowed", keys: Rc::new(hot()) },
            Work { name: "one hot key, refused", keys: Rc::new(hot()) },
        ];
        // For a profile: some of them alone.
        let chosen: Vec<&&str> =
            words.iter().filter(|word| ["uniform", "zipf", "hot"].contains(word)).collect();
        let word = |work: &&Work| {
            chosen.is_empty() || chosen.iter().any(|word| work.name.contains(**word))
        };
        for work in all.iter().filter(word) {
            measure(server, work).await;
        }
        over_admission(server).await;
        offered(server).await;
    });
}

async fn measure(server: &Server, work: &Work) {
    server.forget_all();
    let limit = || match work.name {
        "one hot key, refused" => Limit::per_hour(1).burst(1),
        "one hot key, allowed" => Limit::per_second(100 * BURST).burst(BURST),
        _ => Limit::per_minute(1).burst(BURST),
    };
    let alone = (0..ALONE).map(|_| rule(server, limit(), Consistency::Exact)).collect();
    let contenders = [
        ("one EVALSHA each, 50 connections", CALLERS, Contender::Pooled(Pooled::new(server).await)),
        ("exact, 50 callers with a connection each", ALONE, Contender::Alone(alone)),
        ("exact", CALLERS, Contender::Any(rule(server, limit(), Consistency::Exact))),
        ("leased", CALLERS, Contender::Any(rule(server, limit(), Consistency::Leased))),
        ("auto", CALLERS, Contender::Any(rule(server, limit(), Consistency::Auto))),
    ];
    let contenders = contenders.map(|(name, callers, own)| (name, callers, Rc::new(own)));
    let mut rounds: [Vec<Round>; 5] = Default::default();
    for round in 0..=ROUNDS {
        let slice = if round == 0 { WARM_UP } else { SLICE };
        for ((_, callers, contender), rounds) in contenders.iter().zip(&mut rounds) {
            let got = spend(server, contender, &work.keys, *callers, slice).await;
            rounds.extend((round > 0).then_some(got));
        }
    }
    println!("\n### Redis: {}, {CALLERS} callers\n", work.name);
    println!(
        "| | decisions/s | spread | × one EVALSHA each | spread | p50 µs | p99 µs | Redis CPU µs \
         | own CPU µs | failed |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for ((name, ..), own) in contenders.iter().zip(&rounds) {
        let figure = |of: fn(&Round) -> f64| median(&own.iter().map(of).collect::<Vec<_>>());
        let ratios = own.iter().zip(&rounds[0]).map(|(own, first)| own.rate / first.rate);
        let (times, times_spread) = median(&ratios.collect::<Vec<_>>());
        let (rate, spread) = figure(|round| round.rate);
        println!(
            "| {name} | {rate:.0} | {spread:.0} % | {times:.1} | {times_spread:.0} % | {:.1} | {:.1} \
             | {:.2} | {:.2} | {} |",
            figure(|round| round.p50).0,
            figure(|round| round.p99).0,
            figure(|round| round.server).0,
            figure(|round| round.client).0,
            own.iter().map(|round| round.failed).sum::<usize>(),
        );
    }
}

fn limiter(server: &Server, nodes: u32, limit: LimitBuilder, consistency: Consistency) -> Limiter {
    let config = RedisConfig::new(&server.url(OURS)).expect("the URL is good").nodes(nodes);
    let built =
        Limiter::redis(config.deadline(DEADLINE)).rule("api", limit).expect("it makes sense");
    built.consistency("api", consistency).expect("the rule is there").build()
}

fn rule(server: &Server, limit: LimitBuilder, consistency: Consistency) -> Rule {
    limiter(server, 1, limit, consistency).rule("api").expect("the rule is there")
}

/// Four servers ask for one key as fast as they can, under a limit that they use up.
async fn over_admission(server: &Server) {
    const NODES: u32 = 4;
    let (rate, burst) = (100_000, 20_000);
    println!("\n### Redis: four servers, one key, {rate}/second burst {burst}, used up\n");
    println!(
        "| | admitted | burst + rate × time | beyond | stated bound |\n|---|---:|---:|---:|---:|"
    );
    for (name, consistency) in [("exact", Consistency::Exact), ("leased", Consistency::Leased)] {
        server.forget_all();
        let limit = || Limit::per_second(rate).burst(burst);
        let nodes: Vec<Limiter> =
            (0..NODES).map(|_| limiter(server, NODES, limit(), consistency)).collect();
        let bound = nodes[0].overshoot().first().map_or(0, |(_, units)| *units);
        let local = LocalSet::new();
        let start = Instant::now();
        let tasks: Vec<_> = (0..64)
            .map(|number| {
                let rule = nodes[number % nodes.len()].rule("api").expect("the rule is there");
                local.spawn_local(async move {
                    let mut admitted = 0_u64;
                    while start.elapsed() < SLICE {
                        admitted += u64::from(rule.check("hot").await.is_allowed());
                        tokio::task::yield_now().await;
                    }
                    admitted
                })
            })
            .collect();
        local.await;
        let most = burst + (rate as f64 * start.elapsed().as_secs_f64()) as u64;
        let mut admitted = 0;
        for task in tasks {
            admitted += task.await.expect("no panics");
        }
        println!("| {name} | {admitted} | {most} | {} | {bound} |", admitted.saturating_sub(most));
    }
}

/// Questions at a pace of their own, whether or not the former were answered.
async fn offered(server: &Server) {
    const EACH_TICK: usize = 20;
    server.forget_all();
    println!("\n### Redis: 20 000 requests/s offered, 1 M keys uniform\n");
    println!("| | p50 µs | p99 µs | p99.9 µs |\n|---|---:|---:|---:|");
    let peer = Rc::new(Contender::Pooled(Pooled::new(server).await));
    let own = Rc::new(Contender::Any(rule(server, super::token_bucket(), Consistency::Exact)));
    let asked = Rc::new(Questions::new(questions(Spread::Uniform, KEYS, KEYS, 13)));
    peer::load(server);
    for (name, contender) in [("one EVALSHA each, 50 connections", peer), ("exact", own)] {
        let (local, start) = (LocalSet::new(), Instant::now());
        let nanos = local
            .run_until(async {
                let mut ticks = interval(Duration::from_millis(1));
                ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
                let mut tasks = Vec::new();
                while start.elapsed() < 2 * SLICE {
                    ticks.tick().await;
                    let due = Instant::now();
                    for _ in 0..EACH_TICK {
                        let (contender, asked) = (Rc::clone(&contender), Rc::clone(&asked));
                        tasks.push(tokio::task::spawn_local(async move {
                            contender.decide(&asked).await;
                            due.elapsed().as_nanos() as u64
                        }));
                    }
                }
                let mut nanos = Vec::new();
                for task in tasks {
                    nanos.push(task.await.expect("no panics"));
                }
                nanos
            })
            .await;
        // The first have to connect.
        let mut nanos = nanos[nanos.len() / 10..].to_vec();
        nanos.sort_unstable();
        let at = |share: f64| nanos[((nanos.len() - 1) as f64 * share) as usize] as f64 / 1e3;
        println!("| {name} | {:.0} | {:.0} | {:.0} |", at(0.5), at(0.99), at(0.999));
    }
}
