//! What was measured, as the tables of BENCHMARKS.md have it.
//!
//! Invariant: a ratio to one that is not there is a dash.

use super::upstream::BIG;
use super::{FEW, MANY, Row, Who};

/// A median and its spread, or a dash.
fn told(figure: Option<(f64, f64)>) -> String {
    figure.map_or("–".into(), |(middle, _)| format!("{middle:.2} ×"))
}

fn find(rows: &[Row], who: Who) -> Option<&Row> {
    rows.iter().find(|row| row.who == who)
}

/// How full the core of the server was, in percent.
fn busy(row: &Row) -> f64 {
    row.figure(|done| done.busy).0 * 100.0
}

/// How full the core of load and upstream was.
fn load(row: &Row) -> f64 {
    row.figure(|done| done.load).0 * 100.0
}

pub fn small(rows: &[Row]) {
    println!("#### Small answers, {MANY} connections\n");
    println!(
        "| | requests/s | spread | of limit_req | of Envoy | p50 | p99 | CPU a request | spread | core | load's |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for row in rows {
        let (rate, spread) = row.figure(|done| done.rate);
        let of = |who| told(find(rows, who).map(|base| row.ratio(base, |done| done.rate)));
        let (limit, envoy) = (of(Who::LimitReq), of(Who::Envoy));
        let (p50, p99) = (row.figure(|done| done.p50).0, row.figure(|done| done.p99).0);
        let (cost, costs) = row.figure(|done| done.cost);
        let (busy, load, name) = (busy(row), load(row), row.who.name());
        println!(
            "| {name} | {rate:.0} | {spread:.0} % | {limit} | {envoy} | {p50:.0} µs | {p99:.0} µs \
             | {cost:.1} µs | {costs:.0} % | {busy:.0} % | {load:.0} % |"
        );
    }
    if let (Some(bare), Some(rule)) = (find(rows, Who::Bare), find(rows, Who::Rule)) {
        let (times, spread) = rule.ratio(bare, |done| done.cost);
        println!(
            "\nCPU a request with the rule: {times:.2} × that without rules (spread {spread:.0} %)."
        );
    }
}

pub fn half(rows: &[Row], offered: f64) {
    println!(
        "\n#### Half of what nginx with limit_req can take: {offered:.0} requests/s offered\n"
    );
    println!("| | requests/s | p50 | p99 | spread | p99 of limit_req | CPU a request |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for row in rows {
        let (rate, p50) = (row.figure(|done| done.rate).0, row.figure(|done| done.p50).0);
        let (p99, spread) = row.figure(|done| done.p99);
        let of = find(rows, Who::LimitReq).map(|base| row.ratio(base, |done| done.p99));
        let (of, cost) = (told(of), row.figure(|done| done.cost).0);
        let name = row.who.name();
        println!(
            "| {name} | {rate:.0} | {p50:.0} µs | {p99:.0} µs | {spread:.0} % | {of} | {cost:.1} µs |"
        );
    }
}

pub fn big(rows: &[Row]) {
    println!("\n#### Answers of 1 MB, {FEW} connections\n");
    println!("| | MB/s | spread | of nginx | p50 | p99 | CPU a MB | core | load's |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let size = BIG as f64 / 1e6;
    for row in rows {
        let (rate, spread) = row.figure(|done| done.rate * size);
        let of = told(find(rows, Who::Nginx).map(|base| row.ratio(base, |done| done.rate)));
        let (p50, p99) = (row.figure(|done| done.p50).0, row.figure(|done| done.p99).0);
        let (cost, name) = (row.figure(|done| done.cost / size).0, row.who.name());
        let (busy, load) = (busy(row), load(row));
        println!(
            "| {name} | {rate:.0} | {spread:.0} % | {of} | {p50:.0} µs | {p99:.0} µs \
             | {cost:.0} µs | {busy:.0} % | {load:.0} % |"
        );
    }
}
