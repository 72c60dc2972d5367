//! One process of a race: many limiters, each with a connection of its own, that ask for the same key.
//!
//! `rk-worker url race connections` connects, says `ready`, waits for a line, asks until every limiter
//! was refused often enough, says how many were admitted, and stays until its input ends, so that what
//! it holds is held. Invariant: only what the store itself decided counts.
#![forbid(unsafe_code)]

use ratekeeper::limiter::Builder;
use ratekeeper::{Algorithm, Limit, Limiter, OnStoreFailure, RedisConfig, Source};
use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Duration;
use tokio::task::JoinSet;

/// Refusals in a row after which a limiter gives up.
const ENOUGH: u32 = 50;

/// Ten years: there is no edge of a window nearby.
const LONG: Duration = Duration::from_secs(10 * 365 * 86_400);

const DEADLINE: Duration = Duration::from_secs(20);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, race, connections] = &arguments[..] else {
        return Err("usage: rk-worker url race connections".into());
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(url, race, connections.parse()?))
}

async fn run(url: &str, race: &str, connections: usize) -> Outcome<()> {
    let mut limiters = Vec::new();
    for _ in 0..connections {
        let limiter = limiter(url, race)?;
        limiter.verify().await?;
        limiters.push(limiter);
    }
    say("ready")?;
    heard()?;
    let mut tasks = JoinSet::new();
    for limiter in &limiters {
        tasks.spawn(ask(limiter.clone(), race.to_owned()));
    }
    let mut admitted = 0;
    while let Some(count) = tasks.join_next().await {
        admitted += count??;
    }
    say(&admitted.to_string())?;
    heard()
}

/// The rules of a race, all under its name.
fn limiter(url: &str, race: &str) -> Outcome<Limiter> {
    let config = RedisConfig::new(url)?.prefix(race)?.deadline(DEADLINE);
    let builder = rules(Limiter::redis(config), race)?;
    let names = if race == "rules" { vec!["one", "other", "slots"] } else { vec!["rule"] };
    let deny = |builder: Builder, name: &&str| builder.on_store_failure(name, OnStoreFailure::Deny);
    Ok(names.iter().try_fold(builder, deny)?.build())
}

fn rules(builder: Builder, race: &str) -> Outcome<Builder> {
    Ok(match race {
        "slots" => builder.rule("rule", "700 concurrent")?,
        "line" => builder.rule("rule", Limit::per(1_000, LONG).shaping())?,
        "limits" => builder.rule("rule", [Limit::per_day(900), Limit::concurrent(600)])?,
        "rules" => {
            let log = Limit::per(800, LONG).algorithm(Algorithm::SlidingWindowLog);
            builder.rule("one", "500/day")?.rule("other", log)?.rule("slots", "900 concurrent")?
        }
        name => {
            let algorithm: Algorithm = name.parse()?;
            let period = if algorithm.is_bucket() { Duration::from_secs(86_400) } else { LONG };
            builder.rule("rule", Limit::per(1_000, period).algorithm(algorithm))?
        }
    })
}

/// Asks until it was refused often enough: how many were admitted.
async fn ask(limiter: Limiter, race: String) -> Outcome<u64> {
    let (mut admitted, mut refused) = (0, 0);
    while refused < ENOUGH {
        let told = match race.as_str() {
            "rules" => {
                *limiter
                    .check_all([("one", "key"), ("other", "key"), ("slots", "yet another")])?
                    .await
            }
            _ => limiter.rule("rule")?.check("key").await,
        };
        if !matches!(told.source(), Source::Store | Source::DeniedCache) {
            return Err(format!("the store did not decide: {told:?}").into());
        }
        match told.is_allowed() {
            true => (admitted, refused) = (admitted + 1, 0),
            false => refused += 1,
        }
    }
    Ok(admitted)
}

fn say(word: &str) -> Outcome<()> {
    writeln!(stdout(), "{word}")?;
    Ok(stdout().flush()?)
}

/// Waits for a line, or for the end of the input.
fn heard() -> Outcome<()> {
    stdin().lock().read_line(&mut String::new())?;
    Ok(())
}
