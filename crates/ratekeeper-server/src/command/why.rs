//! `ratekeeper why`: why a running server refused somebody.
//!
//! Invariant: what is told is what was decided then.

use super::ask::Call;
use super::remote::{call, escaped, print, read};
use super::{Failure, plain};
use crate::args::Why;
use ratekeeper::decision::Wait;
use serde::Deserialize;
use std::process::ExitCode;
use std::time::Duration;

/// Where refusals are.
const PATH: &str = "/v1/decisions";

/// What of the server's answer is told.
#[derive(Deserialize)]
struct Told {
    door: String,
    asked: Asked,
    decision: Decision,
}

#[derive(Deserialize)]
struct Asked {
    key: Vec<String>,
    method: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize)]
struct Decision {
    version: u64,
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    rule: String,
    allowed: bool,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry_after: Option<f64>,
    never: bool,
    shadow: bool,
}

pub(super) fn run(args: &Why) -> Result<ExitCode, Failure> {
    let path = format!("{PATH}/{}", escaped(&args.id));
    let answer = call(&args.remote, Call { path, ..Call::default() })?;
    let told: Told = read(&args.remote, &answer)?;
    print(&args.remote, &answer, || told.lines().join("\n"));
    Ok(ExitCode::SUCCESS)
}

impl Told {
    fn lines(&self) -> Vec<String> {
        let Told { door, asked, decision } = self;
        let what = match (&asked.method, &asked.path) {
            (Some(method), Some(path)) => format!("{method} {path} of "),
            _ => String::new(),
        };
        let version = decision.version;
        let key = asked.key.join(", ");
        let head = format!("refused: {what}{key}, asked through {door}, by release {version}");
        let each = decision.results.iter().map(Outcome::line);
        [head].into_iter().chain(each).map(|line| plain(&line)).collect()
    }
}

impl Outcome {
    fn line(&self) -> String {
        let Outcome { rule, allowed, limit, remaining, retry_after, never, shadow } = self;
        let said = match (allowed, retry_after) {
            (true, _) => "would have let it pass".to_owned(),
            (false, _) if *never => "refuses what costs more than it ever has".into(),
            (false, Some(wait)) => {
                let wait = Duration::try_from_secs_f64(*wait).unwrap_or_default();
                format!("refused it for {}", Wait(wait))
            }
            (false, None) => "refused it".into(),
        };
        let left = match (remaining, limit) {
            (Some(remaining), Some(limit)) => format!(", {remaining} of {limit} left"),
            _ => String::new(),
        };
        let shadow = if *shadow { ", in shadow" } else { "" };
        format!("  {rule} {said}{left}{shadow}")
    }
}
