//! A report, for people and for programs.
//!
//! Invariant: both say the same; nothing of the history can steer a terminal.

use super::super::plain;
use crate::audit::{Check, Finding, Outcome, OverAdmission, Report, Rulebook, Source};
use serde::Serialize;
use serde_json::{Map, Value};

/// For people: what there is, what was judged, and what is wrong.
pub(super) fn human(report: &Report, book: &Rulebook, path: &str) -> String {
    let [keys, rules, nodes] = report.names;
    let length = report.time.map_or(0, |(first, last)| last.saturating_sub(first));
    let mut lines = vec![
        format!(
            "{path}: {}, {}, {}, {} in {} ms",
            many(report.operations as u64, "operation"),
            many(keys as u64, "key"),
            many(rules as u64, "rule"),
            many(nodes as u64, "node"),
            millis(length)
        ),
        row("outcomes", &outcomes(report)),
        row("sources", &sources(report)),
    ];
    for check in Check::ALL {
        let count = report.count(check);
        let said = match (count.judged, count.broken) {
            (0, 0) => continue,
            (judged, 0) => format!("kept, {}", many(judged, unit(check))),
            (judged, broken) => format!("{broken} of {} broken", many(judged, unit(check))),
        };
        lines.push(row(word(check), &said));
    }
    for over in &report.over_admission {
        let OverAdmission { rule, limit, measured, bound } = over;
        let nodes = many(book.nodes().into(), "node");
        let said = format!("{measured} beyond {limit}; the bound is {bound}, of {nodes}");
        lines.push(row("leases", &format!("{}: {said}", plain(rule))));
    }
    lines.extend(report.notes.iter().map(|note| row("note", &plain(note))));
    for finding in &report.findings {
        lines.push(format!("\n{}", sentence(finding, report)));
    }
    if report.more > 0 {
        lines.push(format!("\nand {} more", report.more));
    }
    let verdict =
        if report.is_kept() { "every bound was kept" } else { "not every bound was kept" };
    lines.push(format!("\n{verdict}"));
    lines.join("\n")
}

fn row(name: &str, text: &str) -> String {
    format!("{name:<13}{text}")
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What is counted by a check.
fn unit(check: Check) -> &'static str {
    match check {
        Check::Envelope | Check::Isolation => "key",
        Check::Refusals => "refusal",
        Check::RetryAfter => "wait",
        Check::Remaining => "figure",
        _ => "operation",
    }
}

fn word(check: Check) -> &'static str {
    match check {
        Check::Envelope => "envelope",
        Check::Lost => "nothing lost",
        Check::Versions => "versions",
        Check::Isolation => "isolation",
        Check::Refusals => "refusals",
        Check::RetryAfter => "retry after",
        Check::Remaining => "remaining",
        Check::Sources => "outcomes fit",
        Check::Times => "times",
    }
}

fn outcomes(report: &Report) -> String {
    let [allow, deny, error] =
        [Outcome::Allow, Outcome::Deny, Outcome::Error].map(|outcome| report.ended(outcome, None));
    format!("{allow} admitted, {deny} refused, {}", many(error, "error"))
}

/// How many each source decided; what is not judged is said.
fn sources(report: &Report) -> String {
    let mut each = Vec::new();
    for source in Source::ALL {
        let count: u64 =
            Outcome::ALL.iter().map(|outcome| report.ended(*outcome, Some(*source))).sum();
        let apart = match source {
            Source::FailedOpen | Source::Overflow => " (counted apart)",
            _ => "",
        };
        if count > 0 {
            each.push(format!("{} {count}{apart}", source.name()));
        }
    }
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

/// Nanoseconds as milliseconds, to the microsecond.
fn millis(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000_000, nanos / 1_000 % 1_000)
}

fn since_start(report: &Report, instant: u64) -> u64 {
    report.time.map_or(0, |(first, _)| instant.saturating_sub(first))
}

fn sentence(finding: &Finding, report: &Report) -> String {
    let mut head = word(finding.check).to_owned();
    if !finding.rule.is_empty() {
        head += &format!(": rule {}, key {}", plain(&finding.rule), plain(&finding.key));
    }
    let mut parts = vec![head];
    parts.extend(finding.limit.as_ref().map(|limit| format!("limit {limit}")));
    parts.extend(finding.note.as_ref().map(|note| plain(note)));
    parts.extend(finding.interval.map(|(from, to)| {
        let [from, to] = [from, to].map(|instant| millis(since_start(report, instant)));
        format!("from {from} to {to} ms")
    }));
    parts.extend(finding.units.map(|(is, may)| match finding.check {
        Check::Envelope => {
            format!("{is} units admitted, {may} allowed, {} too many", finding.excess)
        }
        Check::Refusals => {
            format!("{} needless, the first with at most {is} of {may} used", finding.excess)
        }
        _ => format!("{is} told, {may} possible"),
    }));
    parts.extend(match (finding.first, finding.last) {
        (Some(first), Some(last)) if first != last => Some(format!("operations {first} to {last}")),
        (Some(one), _) | (_, Some(one)) => Some(format!("operation {one}")),
        _ => None,
    });
    parts.join("\n  ")
}

#[derive(Serialize)]
struct Told<'a> {
    check: Check,
    rule: &'a str,
    key: &'a str,
    limit: Option<&'a str>,
    from_ms: Option<f64>,
    to_ms: Option<f64>,
    admitted: Option<u64>,
    allowed: Option<u64>,
    excess: u64,
    first: Option<u64>,
    last: Option<u64>,
    note: Option<&'a str>,
}

/// JSON has numbers of 64 bits; sums beyond them are as good as these.
fn fit(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// For programs: all of it, as one object.
pub(super) fn json(report: &Report, book: &Rulebook) -> serde_json::Result<String> {
    let millis = |instant: u64| since_start(report, instant) as f64 / 1e6;
    let told = |finding: &Finding| {
        serde_json::to_value(Told {
            check: finding.check,
            rule: &finding.rule,
            key: &finding.key,
            limit: finding.limit.as_deref(),
            from_ms: finding.interval.map(|(from, _)| millis(from)),
            to_ms: finding.interval.map(|(_, to)| millis(to)),
            admitted: finding.units.map(|(is, _)| fit(is)),
            allowed: finding.units.map(|(_, may)| fit(may)),
            excess: fit(finding.excess),
            first: finding.first,
            last: finding.last,
            note: finding.note.as_deref(),
        })
    };
    let findings = report.findings.iter().map(told).collect::<serde_json::Result<Vec<_>>>()?;
    let checks: Vec<Value> = Check::ALL
        .into_iter()
        .map(|check| {
            let count = report.count(check);
            serde_json::json!({"check": check, "judged": count.judged, "broken": count.broken})
        })
        .collect();
    let [keys, rules, nodes] = report.names;
    let ended = |outcome| report.ended(outcome, None);
    let mut sources = Map::new();
    for source in Source::ALL {
        let all = Outcome::ALL.iter().map(|outcome| report.ended(*outcome, Some(*source)));
        sources.insert(source.name().into(), all.sum::<u64>().into());
    }
    let figures = serde_json::json!({
        "kept": report.is_kept(),
        "operations": report.operations,
        "keys": keys,
        "rules": rules,
        "nodes": nodes,
        "nodes_allowed_for": book.nodes(),
        "admitted": ended(Outcome::Allow),
        "refused": ended(Outcome::Deny),
        "errors": ended(Outcome::Error),
        "sources": sources,
        "checks": checks,
        "over_admission": report.over_admission,
        "notes": report.notes,
        "findings": findings,
        "more": report.more,
    });
    serde_json::to_string(&figures)
}
