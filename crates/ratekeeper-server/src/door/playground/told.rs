//! What the playground answers: the decision, the header fields that a caller would get, and what the bucket holds.
//!
//! Invariant: all of it is the server's; whoever draws it needs no arithmetic of its own but the passing of time.

use crate::door::answer::Outcome;
use ratekeeper::fields::{self, Field};
use ratekeeper::limiter::State;
use ratekeeper::rule::FieldForms;
use ratekeeper::{Algorithm, Decision, Limit, Limiter, Rule};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Most entries of a log that are told: the newest.
const ENTRIES_MAX: usize = 1_000;

/// A second, in microseconds.
const SECOND: u64 = 1_000_000;

/// What is told of one card.
#[derive(Serialize)]
pub(super) struct Told {
    /// When it was decided, and when the bucket held this, by the clock of the store.
    at: f64,
    pub(super) now: f64,
    #[serde(flatten)]
    outcome: Map<String, Value>,
    source: &'static str,
    amount: u64,
    period: f64,
    burst: u64,
    /// The status that a caller behind a gateway would get.
    status: u16,
    /// Header fields, by name and value.
    fields: Vec<(&'static str, String)>,
    /// What the bucket holds; null while the store is away.
    state: Value,
}

impl Told {
    /// A look at what is held.
    pub(super) async fn look(limiter: &Limiter, rule: &Rule, visitor: &str) -> Told {
        let decision = rule.peek(visitor).await;
        Told::of(limiter, rule, visitor, &decision, false).await
    }

    /// A decision, whether it charged or only looked, and what is held after it.
    pub(super) async fn of(
        limiter: &Limiter,
        rule: &Rule,
        visitor: &str,
        decision: &Decision,
        charged: bool,
    ) -> Told {
        let held = rule.state(visitor, ENTRIES_MAX).await;
        let now = held.as_ref().map_or(limiter.now(), |held| micros(held.at));
        let rate = Rate::of(rule);
        let state = held.as_ref().and_then(|held| held.states.first());
        let decided = state.filter(|_| charged);
        let decided = decided.and_then(|state| decided_at(state, rate.period, decision));
        // Somebody else may have charged the bucket meanwhile.
        let at = decided.filter(|at| (now.saturating_sub(SECOND)..=now).contains(at));
        Told {
            at: seconds(at.unwrap_or(now)),
            now: seconds(now),
            outcome: Outcome::new(rate.algorithm, decision, false).members(),
            source: decision.source().name(),
            amount: rate.amount,
            period: rate.period.as_secs_f64(),
            burst: rate.burst,
            status: if decision.is_allowed() { 200 } else { 429 },
            fields: fields_of(rule, decision, limiter.now()),
            state: state.map_or(Value::Null, |state| shown(state, &rate, now)),
        }
    }
}

/// The rate of a card.
struct Rate {
    algorithm: &'static str,
    amount: u64,
    period: Duration,
    burst: u64,
    shapes: bool,
}

impl Rate {
    fn of(rule: &Rule) -> Rate {
        let limit = rule.limits().first().copied().unwrap_or_else(Limit::unlimited);
        let amount = limit.amount().unwrap_or_default();
        Rate {
            algorithm: limit.algorithm().map_or("", Algorithm::name),
            amount,
            period: limit.period().unwrap_or_default(),
            burst: limit.burst().unwrap_or(amount),
            shapes: limit.is_shaping(),
        }
    }
}

/// When a decision was made, in microseconds: as much before the bucket is whole as the decision says. (It tells no
/// time of its own, and a look comes a little later: too late for who counts how many passed in ten seconds.)
fn decided_at(state: &State, period: Duration, decision: &Decision) -> Option<u64> {
    let whole = match state {
        State::Window { start, .. } => *start + period,
        State::Windows { start, current: 0, .. } => *start + period,
        State::Windows { start, .. } => *start + 2 * period,
        State::Log(entries) => {
            let newest = entries.last().filter(|_| decision.is_allowed())?;
            return Some(micros(newest.at));
        }
        State::Bucket { whole_at } => *whole_at,
        _ => return None,
    };
    whole.checked_sub(decision.reset_after()?).map(micros)
}

fn fields_of(rule: &Rule, decision: &Decision, now: u64) -> Vec<(&'static str, String)> {
    let mut written = Vec::new();
    let mut put = |field: Field, text: &str| written.push((field.name(), text.to_owned()));
    fields::write(&rule.answer(decision), FieldForms::default(), now, &mut put);
    written
}

/// What a bucket of this rate holds, for who draws it.
fn shown(state: &State, rate: &Rate, now: u64) -> Value {
    let window = |start: Duration| (start.as_secs_f64(), (start + rate.period).as_secs_f64());
    match state {
        State::Window { start, count } => {
            let (start, end) = window(*start);
            json!({ "kind": "window", "start": start, "end": end, "count": count })
        }
        State::Windows { start, current, previous } => {
            let ((start, end), kind) = (window(*start), "windows");
            json!({ "kind": kind, "start": start, "end": end, "current": current, "previous": previous })
        }
        State::Log(entries) => {
            let each = entries.iter();
            let each = each.map(|own| json!({ "at": own.at.as_secs_f64(), "cost": own.cost }));
            json!({ "kind": "log", "entries": each.collect::<Vec<_>>() })
        }
        State::Bucket { whole_at } => {
            let ahead = micros(*whole_at).saturating_sub(now) as f64;
            let level = ahead * rate.amount as f64 / rate.period.as_micros().max(1) as f64;
            let kind = if rate.shapes { "queue" } else { "bucket" };
            json!({ "kind": kind, "level": level, "whole_at": whole_at.as_secs_f64() })
        }
        _ => Value::Null,
    }
}

/// What became of what was used, in words.
pub(super) fn carried(keeps: bool, before: &Decision, after: &Decision) -> String {
    if before.is_without_figures() || after.is_without_figures() {
        return "The store is away, so nothing is known of what was used.".into();
    }
    // What is left is told, and not what was used: there may be more of that than a smaller limit can say.
    let left = format!(
        "{} of {} left before, {} of {} now.",
        before.remaining(),
        before.limit(),
        after.remaining(),
        after.limit()
    );
    match keeps {
        false => format!("Begun afresh: another algorithm, mode or period counts anew. {left}"),
        true if after.remaining() == 0 => {
            format!("What was used is kept. {left} Nothing passes until enough of it is over.")
        }
        true => format!("What was used is kept. {left}"),
    }
}

/// Microseconds as seconds.
pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
