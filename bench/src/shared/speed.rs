//! Decisions in a second, how long each takes, and what it costs the server, with a million keys.

use super::caller::{Contender, Questions, Round, spend};
use super::peer::{self, Pipelined, Pooled};
use super::server::Server;
use super::{fill, rule, runtime, token_bucket};
use crate::keys::{Spread, key, questions};
use crate::median;
use std::rc::Rc;
use std::time::Duration;

const KEYS: usize = 1_000_000;

/// Callers that ask at the same time.
const CALLERS: [usize; 3] = [1, 50, 256];

const ROUNDS: usize = 7;
const SLICE: Duration = Duration::from_millis(2_000);
const WARM_UP: Duration = Duration::from_millis(500);

/// The one that others are compared with.
const YARDSTICK: usize = 1;

pub fn run(server: &Server, words: &[&str]) {
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    peer::fill_buckets(server, &keys);
    runtime().block_on(async {
        fill(&rule(server, token_bucket()), &keys).await;
        drop(keys);
        let asked = Rc::new(Questions::new(questions(Spread::Uniform, KEYS, KEYS, 7)));
        let contenders = [
            ("one EVALSHA each, 50 connections", Contender::Pooled(Pooled::new(server).await)),
            ("EVALSHA, pipelined", Contender::Pipelined(Pipelined::new(server).await)),
            ("ratekeeper", Contender::Ratekeeper(rule(server, token_bucket()))),
        ]
        .map(|(name, contender)| (name, Rc::new(contender)));
        // For a profile: one contender alone, for as long.
        let alone = |name: &str| !words.contains(&"ratekeeper") || name == "ratekeeper";
        for callers in CALLERS.into_iter().filter(|callers| chosen(words, *callers)) {
            let mut rounds: [Vec<Round>; 3] = Default::default();
            for round in 0..=ROUNDS {
                let slice = if round == 0 { WARM_UP } else { SLICE };
                for ((name, contender), rounds) in contenders.iter().zip(&mut rounds) {
                    if alone(name) {
                        let got = spend(server, contender, &asked, callers, slice).await;
                        rounds.extend((round > 0).then_some(got));
                    }
                }
            }
            print(callers, &contenders.each_ref().map(|(name, _)| *name), &rounds);
        }
    });
}

/// A number of callers on the command line leaves out the others.
fn chosen(words: &[&str], callers: usize) -> bool {
    let named: Vec<usize> = words.iter().skip(2).filter_map(|word| word.parse().ok()).collect();
    named.is_empty() || named.contains(&callers)
}

fn print(callers: usize, names: &[&str], rounds: &[Vec<Round>]) {
    let plural = if callers == 1 { "" } else { "s" };
    println!("\n### Redis: token bucket, 1 M keys uniform, {callers} caller{plural}\n");
    println!(
        "| | decisions/s | spread | p50 µs | p99 µs | × pipelined | spread | p50 × | Redis CPU µs | \
         own CPU µs | failed |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, own) in names.iter().zip(rounds).filter(|(_, own)| !own.is_empty()) {
        let figure = |of: fn(&Round) -> f64| median(&own.iter().map(of).collect::<Vec<_>>());
        let ratio = |of: fn(&Round) -> f64| {
            let yardstick = rounds[YARDSTICK].iter().map(of).chain(std::iter::repeat(f64::NAN));
            let ratios = own.iter().map(of).zip(yardstick).map(|(own, other)| own / other);
            median(&ratios.collect::<Vec<_>>())
        };
        let ((rate, spread), (times, times_spread)) =
            (figure(|round| round.rate), ratio(|round| round.rate));
        let failed: usize = own.iter().map(|round| round.failed).sum();
        println!(
            "| {name} | {rate:.0} | {spread:.0} % | {:.0} | {:.0} | {times:.2} | {times_spread:.0} % \
             | {:.2} | {:.2} | {:.2} | {failed} |",
            figure(|round| round.p50).0,
            figure(|round| round.p99).0,
            ratio(|round| round.p50).0,
            figure(|round| round.server).0,
            figure(|round| round.client).0,
        );
    }
}
