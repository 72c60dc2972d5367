//! `ratekeeper key`: what somebody has left on a running server.
//!
//! Invariant: what is said is what the server answered.

use super::ask::Call;
use super::remote::{call, escaped, print, read};
use super::{Failure, plain};
use crate::args::{Key, Remote, Which};
use crate::door::OVERRIDES_PATH;
use hyper::Method;
use ratekeeper::decision::Wait;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Where keys are.
const PATH: &str = "/v1/keys";

pub(super) fn run(args: &Key) -> Result<ExitCode, Failure> {
    match args {
        Key::Peek { which, entries, remote } => {
            let entries = if *entries { "&entries=true" } else { "" };
            tell(remote, which, Method::GET, entries, "")
        }
        Key::Reset { which, remote } => tell(remote, which, Method::DELETE, "", "reset: "),
        Key::Override { rule, key, limit, until, reason, clear, remote } => {
            let limit = if *clear { json!(null) } else { json!(limit) };
            let mut said = json!({"rule": rule, "key": key, "limit": limit});
            for (name, text) in [("until", until), ("reason", reason)] {
                if let Some(text) = text {
                    said[name] = text.as_str().into();
                }
            }
            let body = Some(("application/json", said.to_string()));
            let (method, path) = (Method::PUT, OVERRIDES_PATH.to_owned());
            let answer = call(remote, Call { method, path, body, ..Call::default() })?;
            print(remote, &answer, || {
                let done = if *clear {
                    "has the limits of the rule again"
                } else {
                    "has limits of its own"
                };
                plain(&format!("{rule}: {} {done}", key.join(", ")))
            });
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What of the server's answer is told.
#[derive(Deserialize)]
struct Left {
    limit: Option<u64>,
    remaining: Option<u64>,
    reset_after: Option<f64>,
    limits: Vec<String>,
    entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    at: f64,
    cost: u64,
}

fn tell(
    remote: &Remote,
    which: &Which,
    method: Method,
    more: &str,
    done: &str,
) -> Result<ExitCode, Failure> {
    let mut path = format!("{PATH}?rule={}", escaped(&which.rule));
    for part in &which.key {
        let _ = write!(path, "&key={}", escaped(part));
    }
    if let Some(tier) = &which.tier {
        let _ = write!(path, "&tier={}", escaped(tier));
    }
    path.push_str(more);
    let answer = call(remote, Call { method, path, ..Call::default() })?;
    let left: Left = read(remote, &answer)?;
    print(remote, &answer, || plain_lines(&format!("{done}{}", left.sentence())));
    Ok(ExitCode::SUCCESS)
}

impl Left {
    fn sentence(&self) -> String {
        let left = match (self.remaining, self.limit) {
            (Some(remaining), Some(limit)) => format!("{remaining} of {limit} left"),
            _ => "unlimited".into(),
        };
        let reset = self.reset_after.and_then(|time| Duration::try_from_secs_f64(time).ok());
        let reset = reset.filter(|_| self.remaining < self.limit);
        let reset = reset.map_or_else(String::new, |time| format!(", whole in {}", Wait(time)));
        let mut text = format!("{left}{reset} ({})", self.limits.join(", "));
        for Entry { at, cost } in self.entries.iter().flatten() {
            let _ = write!(text, "\n{at:.6} {cost}");
        }
        text
    }
}

/// Each line without what could steer a terminal.
fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}
