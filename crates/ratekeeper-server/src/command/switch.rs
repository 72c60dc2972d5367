//! `ratekeeper switch`: what is turned on a running server, whatever its release says.
//!
//! Invariant: what is said to be turned is in effect.

use super::ask::Call;
use super::remote::{call, escaped, print, read};
use super::{Failure, plain};
use crate::args::{Remote, Switch};
use crate::door::SWITCHES_PATH;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::process::ExitCode;

pub(super) fn run(args: &Switch) -> Result<ExitCode, Failure> {
    match args {
        Switch::Set { rule, rollout, length, until, reason, remote } => {
            let said = [
                ("rollout", Some(rollout)),
                ("for", length.as_ref()),
                ("until", until.as_ref()),
                ("reason", reason.as_ref()),
            ];
            let fields = said
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_owned(), Value::String(text?.clone()))));
            turn(remote, rule, &Value::Object(Map::from_iter(fields)))
        }
        Switch::Clear { rule, remote } => turn(remote, rule, &Value::Null),
        Switch::List { remote } => list(remote),
    }
}

#[derive(Deserialize)]
struct Turned {
    rule: String,
    rollout: Option<String>,
    until: Option<String>,
}

fn turn(remote: &Remote, rule: &str, said: &Value) -> Result<ExitCode, Failure> {
    let (method, path) = (Method::PUT, format!("{SWITCHES_PATH}/{}", escaped(rule)));
    let body = Some(("application/json", said.to_string()));
    let answer = call(remote, Call { method, path, body, ..Call::default() })?;
    let Turned { rule, rollout, until } = read(remote, &answer)?;
    print(remote, &answer, || {
        let until = until.map_or_else(String::new, |until| format!(" until {until}"));
        let rollout = rollout.unwrap_or_else(|| "turned back".into());
        plain(&format!("{rule}: {rollout}{until}"))
    });
    Ok(ExitCode::SUCCESS)
}

#[derive(Deserialize)]
struct List {
    switches: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    rule: String,
    rollout: String,
    until: Option<String>,
    reason: Option<String>,
    from: String,
}

fn list(remote: &Remote) -> Result<ExitCode, Failure> {
    let answer = call(remote, Call { path: SWITCHES_PATH.into(), ..Call::default() })?;
    let List { switches } = read(remote, &answer)?;
    print(remote, &answer, || {
        if switches.is_empty() {
            return "nothing is turned".into();
        }
        let lines = switches.iter().map(|Listed { rule, rollout, until, reason, from }| {
            let until = until.as_deref().unwrap_or("for good");
            let reason = reason.as_deref().map_or_else(String::new, |why| format!(", {why}"));
            plain(&format!("{rule:<24}{rollout:<8} {until}, by {from}{reason}"))
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(ExitCode::SUCCESS)
}
