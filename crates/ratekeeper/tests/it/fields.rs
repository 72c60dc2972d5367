//! What callers are told over HTTP and gRPC.
//!
//! Invariant: every answer comes from a limiter, as a door would have it, and is read by a parser that
//! shares nothing with the writer.

mod bodies;
mod examples;
pub(crate) mod grpc;
mod lists;
mod promises;
mod structured;

use crate::one_key::OneKey;
use ratekeeper::fields::{Field, write};
use ratekeeper::rule::FieldForms;
use ratekeeper::{Decisions, Limiter, ManualClock};

/// The first second of 2026, where clocks moved by hand start.
const START: u64 = 1_767_225_600_000_000;

const NONE: FieldForms =
    FieldForms { ietf: false, x_ratelimit: false, draft_07: false, draft_06: false };
const IETF: FieldForms = FieldForms { ietf: true, ..NONE };
const X: FieldForms = FieldForms { x_ratelimit: true, ..NONE };
const DRAFT_07: FieldForms = FieldForms { draft_07: true, ..NONE };
const DRAFT_06: FieldForms = FieldForms { draft_06: true, ..NONE };

/// The fields of an answer that was made at a time.
fn fields(decisions: &Decisions, forms: FieldForms, now: u64) -> Vec<(Field, String)> {
    let mut told = Vec::new();
    write(decisions, forms, now, &mut |field, value| told.push((field, value.to_owned())));
    told
}

/// The fields as lines, in their order.
fn lines(decisions: &Decisions, forms: FieldForms) -> Vec<String> {
    let told = fields(decisions, forms, START);
    told.into_iter().map(|(field, value)| format!("{}: {value}", field.name())).collect()
}

/// One request of so many units of one key under all of these rules.
fn ask(limiter: &Limiter, rules: &[&str], cost: u64) -> Decisions {
    let rules: Vec<(&str, &str)> = rules.iter().map(|rule| (*rule, "alice")).collect();
    limiter.check_all(rules).expect("the rules are there").cost(cost).try_now().expect("memory")
}

/// The same of the one rule of a key.
fn ask_one(on: &OneKey, cost: u64) -> Decisions {
    ask(&on.limiter, &["rule"], cost)
}

fn start() -> (ManualClock, ratekeeper::limiter::Builder) {
    let clock = ManualClock::new();
    let builder = Limiter::memory().keys(1_024).clock(&clock);
    (clock, builder)
}
