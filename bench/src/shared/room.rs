//! Memory for each key, by what the server says that it has allocated.

use super::server::Server;
use super::{OURS, PEERS, fill, peer, rule, runtime, token_bucket};
use crate::keys::{Random, key};
use ratekeeper::{Algorithm, Limit, LimitBuilder};
use redis::Pipeline;
use std::time::Duration;

const KEYS: usize = 1_000_000;

/// Logs have a hundred entries, so fewer keys will do.
const LOG_KEYS: usize = 10_000;
const ENTRIES: usize = 100;

/// Nothing ends while it is measured.
const PERIOD: Duration = Duration::from_secs(30 * 86_400);
const SECONDS: u64 = 40 * 86_400;

/// A window of the peers, which is part of a counter's name.
const WINDOW: u64 = 29_824_000;

/// Time with all its digits, as the peers keep it.
const NOW: u64 = 1_789_430_400_123_456;

pub fn run(server: &Server) {
    println!("\n### Redis: memory for each key, 1 M keys (logs: 10 000)\n");
    println!("| | B a key | goal |\n|---|---:|---:|");
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let row = |name: &str, bytes: f64, goal: &str| println!("| {name} | {bytes:.1} | {goal} |");

    let hash = measure(server, &keys, PEERS, 1, || peer::fill_buckets(server, &keys));
    row("HASH of two fields, EXPIRE", hash, "–");
    let text = plain(server, &keys, 1, |pipeline, key| {
        pipeline.cmd("SET").arg(peer::name(key)).arg("9999:1789430400.123456");
        pipeline.arg("EX").arg(SECONDS).ignore();
    });
    row("string of tokens and time, EX", text, "–");
    row("ratekeeper, token bucket", own(server, &keys, 1, token_bucket()), "130");
    let parts = Limit::per_hour(7).burst(peer::CAPACITY);
    row("ratekeeper, token bucket, 7 an hour", own(server, &keys, 1, parts), "130");

    let counter = |pipeline: &mut Pipeline, key: &str, window: u64| {
        let name = format!("{}:{window}", peer::name(key));
        pipeline.cmd("INCR").arg(&name).ignore();
        pipeline.cmd("EXPIRE").arg(name).arg(SECONDS).ignore();
    };
    let one = plain(server, &keys, 1, |pipeline, key| counter(pipeline, key, WINDOW));
    row("one counter, EXPIRE", one, "–");
    let windows = |algorithm| Limit::per(1_000_000, PERIOD).algorithm(algorithm);
    let fixed = own(server, &keys, 1, windows(Algorithm::FixedWindow));
    row("ratekeeper, fixed window", fixed, "–");
    let two = plain(server, &keys, 2, |pipeline, key| {
        counter(pipeline, key, WINDOW);
        counter(pipeline, key, WINDOW + 1);
    });
    row("two counters, EXPIRE", two, "–");
    let sliding = own(server, &keys, 1, windows(Algorithm::SlidingWindowCounter));
    row("ratekeeper, sliding counter", sliding, "150");

    let logs = &keys[..LOG_KEYS];
    let sorted = plain(server, logs, 1, entries);
    row("sorted set of 100, EXPIRE", sorted, "–");
    let log = Limit::per(ENTRIES as u64, PERIOD).algorithm(Algorithm::SlidingWindowLog);
    row("ratekeeper, sliding log of 100", own(server, logs, ENTRIES, log), "1750");
}

/// What tutorials add for each request: a name that no other has, by its time.
fn entries(pipeline: &mut Pipeline, key: &str) {
    let mut random = Random::new(key.len() as u64);
    let name = peer::name(key);
    for number in 0..ENTRIES as u64 {
        let (high, low) = (random.next(), random.next());
        let member = format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        pipeline.cmd("ZADD").arg(&name).arg(NOW + 1_000 * number).arg(member).ignore();
    }
    pipeline.cmd("EXPIRE").arg(name).arg(SECONDS).ignore();
}

/// Of plain commands.
fn plain(server: &Server, keys: &[String], each: usize, add: impl Fn(&mut Pipeline, &str)) -> f64 {
    measure(server, keys, PEERS, each, || {
        peer::fill(&mut server.connection(PEERS), keys, &add);
    })
}

/// Of a limit of ratekeeper, with so many requests of each key.
fn own(server: &Server, keys: &[String], requests: usize, limit: LimitBuilder) -> f64 {
    measure(server, keys, OURS, 1, || {
        runtime().block_on(async {
            let rule = rule(server, limit);
            for _ in 0..requests {
                fill(&rule, keys).await;
            }
        });
    })
}

/// Bytes for each key; `each` names of the server are one key.
fn measure(
    server: &Server,
    keys: &[String],
    database: u8,
    each: usize,
    fill: impl FnOnce(),
) -> f64 {
    server.forget_all();
    let before = server.used_memory();
    fill();
    let used = server.used_memory() - before;
    assert_eq!(server.keys(database), each * keys.len(), "nothing has ended");
    server.forget_all();
    used as f64 / keys.len() as f64
}
