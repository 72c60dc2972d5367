//! Tasks that wait for their turn, over and over: how many pass in a second, how late, and what it
//! costs.

use crate::patient::{Governor, LeakyBucket, Pace, Ratekeeper};
use crate::stand::{Round, Scene, runtime, spend};
use crate::{Plan, median};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Releases per second, over all keys.
const RATE: u32 = 10_000;

/// A slice is so many times as long as one of decisions.
const LONGER: u32 = 10;

/// Most rounds: one takes ten seconds for each scene.
const ROUNDS_MAX: usize = 5;

/// Share of the rate that has to be reached to keep the pace.
const ENOUGH: f64 = 0.95;

/// Who waits, with how large a grain, and how it spends a slice.
type Row = (String, u32, fn(&Scene, Pace, Runtime, Duration) -> Round);

pub fn run(plan: Plan, words: &[&str]) {
    let scenes = [
        Scene { word: "hot", name: "one key at 10 000 a second, 64 tasks", keys: 1, tasks: 64 },
        Scene { word: "keys", name: "100 keys at 100 a second, 4 tasks each", keys: 100, tasks: 4 },
    ];
    let named = |scene: &Scene| words.contains(&scene.word);
    let any = scenes.iter().any(named);
    for scene in scenes.into_iter().filter(|scene| !any || named(scene)) {
        for workers in [0, 2] {
            let flavor = if workers == 0 { "current_thread" } else { "multi_thread, 2 workers" };
            println!("\n### Waiting: {}, {flavor}\n", scene.name);
            compare(plan, &scene, workers, &picked(rows(&scene), words));
        }
    }
}

fn rows(scene: &Scene) -> Vec<Row> {
    let finest = if scene.keys == 1 { 10 } else { 1 };
    let mut rows: Vec<Row> = vec![("ratekeeper".into(), 1, spend::<Ratekeeper>)];
    for grain in [finest, 10 * finest] {
        let milliseconds = 1_000 * grain * scene.keys as u32 / RATE;
        let name = format!("leaky-bucket, {grain} in {milliseconds} ms");
        rows.push((name, grain, spend::<LeakyBucket>));
    }
    for burst in [1, 10 * finest] {
        rows.push((format!("governor, burst {burst}"), burst, spend::<Governor>));
    }
    rows
}

/// Those whose names begin with one of the words; all, if none does.
fn picked(mut rows: Vec<Row>, words: &[&str]) -> Vec<Row> {
    let named = |row: &Row| words.iter().any(|word| row.0.starts_with(word));
    if rows.iter().any(named) {
        rows.retain(named);
    }
    rows
}

fn compare(plan: Plan, scene: &Scene, workers: usize, rows: &[Row]) {
    let mut rounds: Vec<Vec<Round>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.rounds.min(ROUNDS_MAX) {
        for ((_, grain, spend), rounds) in rows.iter().zip(&mut rounds) {
            let amount = RATE / scene.keys as u32;
            let period = Duration::from_secs(1);
            let pace = Pace { keys: scene.keys, amount, period, grain: *grain };
            rounds.push(spend(scene, pace, runtime(workers), plan.slice * LONGER));
        }
    }
    show(rows, &rounds);
    let rate = |row: &usize| median(&figures(&rounds[*row], |round| round.rate)).0;
    let peers: Vec<usize> = (1..rows.len()).collect();
    let able = peers.iter().copied().filter(|row| rate(row) > f64::from(RATE) * ENOUGH);
    println!();
    say_ratio("CPU", rows, &rounds, &peers, |round| round.cost);
    let able: Vec<usize> = able.collect();
    say_ratio("CPU, of those that keep the pace", rows, &rounds, &able, |round| round.cost);
    say_ratio("p99 off the schedule", rows, &rounds, &peers, |round| round.off);
}

fn show(rows: &[Row], rounds: &[Vec<Round>]) {
    let first = &rows[0].0;
    println!(
        "| | releases/s | late p50 µs | p99 µs | most µs | early | CPU µs each | spread | CPU × {first} |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for ((name, ..), own) in rows.iter().zip(rounds) {
        let middle = |figure: fn(&Round) -> f64| median(&figures(own, figure));
        let (p50, p99) = (middle(|round| round.late[0]).0, middle(|round| round.late[1]).0);
        let most = own.iter().map(|round| round.late[2]).fold(f64::MIN, f64::max);
        let early: usize = own.iter().map(|round| round.early).sum();
        let (rate, (cost, spread)) = (middle(|round| round.rate).0, middle(|round| round.cost));
        let ratio = ratio(own, &rounds[0], |round| round.cost).0;
        println!(
            "| {name} | {rate:.0} | {p50:.0} | {p99:.0} | {most:.0} | {early} \
             | {cost:.2} | {spread:.0} % | {ratio:.2} |"
        );
    }
}

fn figures(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> Vec<f64> {
    rounds.iter().map(figure).collect()
}

/// The middle of the ratios within each round, and their spread.
fn ratio(own: &[Round], other: &[Round], figure: impl Fn(&Round) -> f64) -> (f64, f64) {
    let pairs = own.iter().zip(other);
    median(&pairs.map(|(own, other)| figure(own) / figure(other)).collect::<Vec<f64>>())
}

/// The first row beside the one of its peers that is best in this.
fn say_ratio(
    what: &str,
    rows: &[Row],
    rounds: &[Vec<Round>],
    peers: &[usize],
    figure: impl Fn(&Round) -> f64,
) {
    let middle = |row: &&usize| median(&figures(&rounds[**row], &figure)).0;
    let Some(&best) = peers.iter().min_by(|a, b| middle(a).total_cmp(&middle(b))) else { return };
    let (ratio, spread) = ratio(&rounds[0], &rounds[best], figure);
    println!("- {what}: {ratio:.2} × {} (spread {spread:.0} %)", rows[best].0);
}
