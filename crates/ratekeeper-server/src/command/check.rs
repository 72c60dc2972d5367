//! `ratekeeper check`: one decision of a running server, as a sentence or as JSON.
//!
//! Invariant: the exit code says what the sentence says. The server alone judges rule, key and cost.

use super::{Failure, ask, plain, runtime};
use crate::args::Check;
use ratekeeper::decision::Wait;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

pub(super) fn run(args: &Check) -> Result<ExitCode, Failure> {
    let cost = if args.peek { 0 } else { args.cost };
    // A single part goes as a string, so that a fault in it is told of `key` and not of `key[0]`.
    let key = match &args.key[..] {
        [only] => Key::One(only),
        parts => Key::Several(parts),
    };
    let question = Question { rule: &args.rule, key, cost, tier: args.tier.as_deref() };
    let question = serde_json::to_string(&question)
        .map_err(|error| Failure::new(format!("the question cannot be written: {error}")))?;
    let build = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = runtime(build)?.block_on(ask::ask(&args.server.url, question))?;
    let decision: Decision =
        serde_json::from_str(&answer).map_err(|_| ask::stranger(&args.server.url))?;
    let text = if args.server.json { answer } else { plain(&decision.sentence(&args.rule, cost)) };
    // Whoever closed stdout has the exit code.
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
    Ok(ExitCode::from(u8::from(!decision.allowed)))
}

#[derive(Serialize)]
struct Question<'a> {
    rule: &'a str,
    key: Key<'a>,
    cost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Key<'a> {
    One(&'a str),
    Several(&'a [String]),
}

/// What of the server's answer the sentence needs.
#[derive(Deserialize)]
struct Decision {
    allowed: bool,
    rule: Option<String>,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry_after: Option<f64>,
    delay: Option<f64>,
    permit: Option<String>,
    #[serde(default)]
    never: bool,
}

impl Decision {
    fn sentence(&self, asked: &str, cost: u64) -> String {
        let rule = self.rule.as_deref().unwrap_or(asked);
        if !self.allowed {
            return self.refusal(rule, cost);
        }
        let outcome = if cost == 0 { "peeked at" } else { "allowed by" };
        // What only looks has no turn to wait for.
        let delay = time(self.delay).filter(|delay| cost > 0 && !delay.is_zero());
        let delay = delay.map_or(String::new(), |delay| format!(" after {}", Wait(delay)));
        let left = match (self.remaining, self.limit) {
            (Some(remaining), Some(limit)) => format!("{remaining} of {limit} left"),
            _ => "unlimited".to_owned(),
        };
        let permit = self.permit.as_ref().map_or(String::new(), |id| format!(", permit {id}"));
        format!("{outcome} {rule}{delay}, {left}{permit}")
    }

    fn refusal(&self, rule: &str, cost: u64) -> String {
        match (time(self.retry_after), self.limit) {
            (_, Some(limit)) if self.never => format!(
                "refused by {rule}: a cost of {cost} is above its limit of {limit}, retrying is no use"
            ),
            (Some(wait), _) => format!("refused by {rule}, retry in {}", Wait(wait)),
            (None, Some(limit)) => format!("refused by {rule}, {}", self.taken(limit, cost)),
            (None, None) => format!("refused by {rule}"),
        }
    }

    /// Why no time can be told: permits are given back when their holders please.
    fn taken(&self, limit: u64, cost: u64) -> String {
        match self.remaining.unwrap_or(0) {
            0 => format!("all {limit} are taken"),
            left if left < cost => format!("only {left} of {limit} left"),
            _ => "the server cannot keep more permits".to_owned(),
        }
    }
}

fn time(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}
