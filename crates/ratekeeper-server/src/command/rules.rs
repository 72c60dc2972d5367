//! `ratekeeper rules`: the rules of a running server, shown, compared, changed and brought back.
//!
//! Invariant: the server alone judges rules; here nothing is read into them.

use super::ask::Call;
use super::remote::{call, print, read};
use super::{Failure, plain};
use crate::args::{Remote, Rules};
use crate::config::{Config, shown};
use crate::door::{RELEASES_PATH, RULES_MAX, RULES_PATH};
use crate::reload::{BODY, tree, yaml};
use hyper::Method;
use ratekeeper::rule::file::Source;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(args: &Rules) -> Result<ExitCode, Failure> {
    match args {
        Rules::Show { remote } => show(remote),
        Rules::Apply { path: file, if_version, remote } => {
            let (text, name) = text(file)?;
            let body = Some(("application/yaml", text));
            let (method, path, seen) = (Method::PUT, RULES_PATH.into(), *if_version);
            let asked = Call { method, path, body, seen, ..Call::default() };
            changed(remote, asked).map_err(|failure| failure.of_file(&name))
        }
        Rules::Rollback { number, if_version, remote } => {
            let path = format!("{RELEASES_PATH}/{number}/restore");
            changed(
                remote,
                Call { method: Method::POST, path, seen: *if_version, ..Call::default() },
            )
        }
        Rules::Diff { path, remote } => diff(remote, path),
        Rules::History { remote } => history(remote),
    }
}

/// A file as it is, and a folder as one file; and what faults of it are of.
fn text(path: &Path) -> Result<(String, String), Failure> {
    let (mut sources, _) = Config::sources(path)?;
    match sources.len() {
        1 => {
            let Source { name, text } = sources.swap_remove(0);
            Ok((text, name))
        }
        _ => Ok((yaml(&tree(&sources)?), format!("{} as one file", shown(path)))),
    }
}

impl Failure {
    /// The same, where the server found faults in what it was sent, which is this file.
    fn of_file(self, name: &str) -> Failure {
        let Failure::Files(lines) = self else { return self };
        let own = |line: String| match line.strip_prefix(BODY) {
            Some(place) if place.starts_with(':') => format!("{name}{place}"),
            _ => line,
        };
        Failure::Files(lines.into_iter().map(own).collect())
    }
}

fn show(remote: &Remote) -> Result<ExitCode, Failure> {
    let accept = Some(if remote.server.json { "application/json" } else { "application/yaml" });
    let path = RULES_PATH.to_owned();
    let answer = call(remote, Call { path, accept, more: 4 * RULES_MAX, ..Call::default() })?;
    print(remote, &answer, || answer.lines().map(plain).collect::<Vec<_>>().join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// What became of a change.
#[derive(Deserialize)]
struct Done {
    version: u64,
    rules: usize,
    restart: Vec<String>,
    left_out: Vec<String>,
}

fn changed(remote: &Remote, asked: Call) -> Result<ExitCode, Failure> {
    let answer = call(remote, asked)?;
    let Done { version, rules, restart, left_out } = read(remote, &answer)?;
    print(remote, &answer, || {
        let mut text = format!("release {version} decides, with {rules} rule{}", s(rules));
        if !restart.is_empty() {
            text += &format!("\nrestart the server for what has changed of {}", restart.join(", "));
        }
        for rule in &left_out {
            text += &format!("\nan override of {} no longer fits, and is gone", plain(rule));
        }
        text
    });
    Ok(ExitCode::SUCCESS)
}

fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[derive(Deserialize)]
struct Diff {
    version: u64,
    difference: Difference,
}

#[derive(Deserialize)]
struct Difference {
    added: Vec<Value>,
    removed: Vec<Value>,
    changed: Vec<Changed>,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Changed {
    rule: String,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    field: String,
    from: Value,
    to: Value,
}

fn diff(remote: &Remote, path: &Path) -> Result<ExitCode, Failure> {
    let (text, name) = text(path)?;
    let body = Some(("application/yaml", text));
    let (method, path) = (Method::POST, format!("{RULES_PATH}/diff"));
    let asked = Call { method, path, body, more: 4 * RULES_MAX, ..Call::default() };
    let answer = call(remote, asked).map_err(|failure| failure.of_file(&name))?;
    let Diff { version, difference } = read(remote, &answer)?;
    let lines = lines(&difference);
    let same = lines.is_empty();
    print(remote, &answer, || match same {
        true => format!("the same rules as release {version}"),
        false => lines.iter().map(|line| plain(line)).collect::<Vec<_>>().join("\n"),
    });
    Ok(ExitCode::from(u8::from(!same)))
}

/// One line for each difference.
fn lines(found: &Difference) -> Vec<String> {
    let id = |rule: &Value| rule.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let whole = |sign: char, rule: &Value| {
        let fields: Map<String, Value> = rule
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, _)| name != "id")
            .collect();
        format!("{sign} {}  {}", id(rule), Value::Object(fields))
    };
    let field = |Field { field, from, to }: &Field| format!("{field}  {from} -> {to}");
    let mut lines: Vec<String> = found.added.iter().map(|rule| whole('+', rule)).collect();
    lines.extend(found.removed.iter().map(|rule| whole('-', rule)));
    for Changed { rule, fields } in &found.changed {
        lines.extend(fields.iter().map(|own| format!("~ {rule}.{}", field(own))));
    }
    lines.extend(found.fields.iter().map(|own| format!("~ {}", field(own))));
    lines
}

#[derive(Deserialize)]
struct History {
    version: u64,
    releases: Vec<Release>,
}

#[derive(Deserialize)]
struct Release {
    version: u64,
    source: String,
    at: String,
    by: Option<String>,
    change: String,
    rules: usize,
}

fn history(remote: &Remote) -> Result<ExitCode, Failure> {
    let answer = call(remote, Call { path: RELEASES_PATH.into(), ..Call::default() })?;
    let History { version, releases } = read(remote, &answer)?;
    print(remote, &answer, || {
        let lines = releases.iter().map(|release| {
            let Release { version: number, source, at, by, change, rules } = release;
            let mark = if *number == version { '*' } else { ' ' };
            let by = by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            plain(&format!(
                "{mark} {number:<5} {at}  {source:<8} {rules} rule{}, {change}{by}",
                s(*rules)
            ))
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(ExitCode::SUCCESS)
}
