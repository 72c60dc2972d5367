//! What HTTP callers are told: header fields, problem bodies, and the same for gRPC.
//!
//! Invariant: figures are rounded so that a caller who believes them is never refused for it: times up,
//! units down. Rules in shadow, and answers without figures, are not told of.
//!
//! ```
//! use ratekeeper::{Limiter, fields, rule::FieldForms};
//!
//! let limiter = Limiter::memory().rule("default", "100/minute")?.build();
//! let decisions = limiter.check_all([("default", "alice")])?.try_now()?;
//! let mut told = Vec::new();
//! fields::write(&decisions, FieldForms::default(), 0, &mut |field, value| {
//!     told.push(format!("{}: {value}", field.name()));
//! });
//! assert_eq!(told[0], r#"ratelimit-policy: "default";q=100;w=60"#);
//! assert_eq!(told[1], r#"ratelimit: "default";r=99;t=60"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accept;
mod grpc;
mod policy;
mod problem;
mod protobuf;
mod refill;
mod refusal;
#[cfg(test)]
mod refusal_tests;
mod text;
#[cfg(test)]
mod told_tests;

pub use accept::wants_text;
pub use grpc::grpc_rejected;
pub(crate) use policy::Policy;
pub use problem::rejected_problem;
pub use refusal::Refusal;

use crate::algorithm::UNKNOWN;
use crate::decision::{Decision, Decisions, RuleResult, UNLIMITED};
use crate::rule::FieldForms;
use text::{SECOND, number};

/// The media type of [`Refusal::problem`] and [`rejected_problem`].
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// The media type of [`Refusal::plain`].
pub const PLAIN_TYPE: &str = "text/plain; charset=utf-8";

/// Most policies that one answer lists. Whoever applies more to one request has the rest left out, as
/// the draft allows.
pub const POLICIES_MAX: usize = 64;

/// Bytes that hold the fields of one policy.
const TEXT_USUAL: usize = 128;

/// A header field that this crate writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// Seconds to wait, on refusals.
    RetryAfter,
    /// The limits that apply.
    RateLimitPolicy,
    /// What is left of each.
    RateLimit,
    /// Units of the decisive limit.
    XLimit,
    /// What is left of it.
    XRemaining,
    /// When all of it is there again, in seconds since the epoch.
    XReset,
    /// Units of the decisive limit, as draft 06 has it.
    Limit,
    /// What is left of it.
    Remaining,
    /// Seconds until there is more of it.
    Reset,
    /// The name of the decision, by which an operator can ask why.
    Decision,
    /// The status of a call of gRPC.
    GrpcStatus,
    /// What it means, in words.
    GrpcMessage,
    /// The same for programs.
    GrpcDetails,
}

impl Field {
    /// The name on the wire, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Field::RetryAfter => "retry-after",
            Field::RateLimitPolicy => "ratelimit-policy",
            Field::RateLimit => "ratelimit",
            Field::XLimit => "x-ratelimit-limit",
            Field::XRemaining => "x-ratelimit-remaining",
            Field::XReset => "x-ratelimit-reset",
            Field::Limit => "ratelimit-limit",
            Field::Remaining => "ratelimit-remaining",
            Field::Reset => "ratelimit-reset",
            Field::Decision => "x-ratekeeper-decision",
            Field::GrpcStatus => "grpc-status",
            Field::GrpcMessage => "grpc-message",
            Field::GrpcDetails => "grpc-status-details-bin",
        }
    }
}

/// Writes every field of an answer, admitted or refused, in the forms that are wanted. `Retry-After` is
/// there on a refusal in any case. `now` is the time of the wall, in microseconds since the epoch.
pub fn write(
    decisions: &Decisions,
    forms: FieldForms,
    now_epoch_micros: u64,
    put: &mut dyn FnMut(Field, &str),
) {
    let text = &mut String::with_capacity(TEXT_USUAL);
    if let Some(seconds) = Refusal::of(decisions).and_then(|refusal| refusal.retry_seconds()) {
        put(Field::RetryAfter, figure(text, seconds));
    }
    let mut told = told(decisions);
    let Some(first) = told.next() else { return };
    let is_one = told.next().is_none();
    lists(decisions, forms, is_one.then_some(first), text, put);
    if !(forms.x_ratelimit || forms.draft_07 || forms.draft_06) {
        return;
    }
    let (policy, decision) = if is_one { first } else { decisive(decisions).unwrap_or(first) };
    let reset = decision.verdict.reset_after;
    if forms.x_ratelimit {
        put(Field::XLimit, figure(text, decision.limit()));
        put(Field::XRemaining, figure(text, decision.remaining()));
        if reset != UNKNOWN {
            let at = now_epoch_micros.saturating_add(reset).div_ceil(SECOND);
            put(Field::XReset, figure(text, at));
        }
    }
    if forms.draft_07 && !forms.ietf {
        policy.write_draft_07(text, decision);
        put(Field::RateLimit, text);
    }
    if forms.draft_06 {
        put(Field::Limit, figure(text, decision.limit()));
        put(Field::Remaining, figure(text, decision.remaining()));
        if let Some(seconds) = policy.more_seconds(decision) {
            put(Field::Reset, figure(text, seconds));
        }
    }
}

/// The fields that list all policies; where drafts use the same name, the latest is written.
fn lists(
    decisions: &Decisions,
    forms: FieldForms,
    only: Option<(&Policy, &Decision)>,
    text: &mut String,
    put: &mut dyn FnMut(Field, &str),
) {
    let older = !forms.ietf && (forms.draft_07 || forms.draft_06);
    if let (Some((policy, decision)), true) = (only, forms.ietf) {
        // The usual case: the policy was written long ago.
        put(Field::RateLimitPolicy, policy.item());
        text.clear();
        policy.write_left(text, decision);
        put(Field::RateLimit, text);
    } else if forms.ietf {
        list(text, decisions, |text, (policy, _)| text.push_str(policy.item()));
        put(Field::RateLimitPolicy, text);
        list(text, decisions, |text, (policy, decision)| policy.write_left(text, decision));
        put(Field::RateLimit, text);
    } else if older {
        list(text, decisions, |text, (policy, _)| text.push_str(policy.older_item()));
        put(Field::RateLimitPolicy, text);
    }
}

fn list(
    text: &mut String,
    decisions: &Decisions,
    write: impl Fn(&mut String, (&Policy, &Decision)),
) {
    text.clear();
    for each in told(decisions).take(POLICIES_MAX) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        write(text, each);
    }
}

/// The text of one number.
fn figure(text: &mut String, value: u64) -> &str {
    text.clear();
    number(text, value);
    text
}

/// The rules that are enforced.
fn enforced(decisions: &Decisions) -> impl Iterator<Item = &RuleResult> {
    decisions.rules().iter().filter(|rule| !rule.is_shadow())
}

/// Every limit that callers are told of, in the order of the rules.
fn told(decisions: &Decisions) -> impl Iterator<Item = (&Policy, &Decision)> {
    let has_figures = |decision: &Decision| {
        !decision.is_without_figures() && decision.limit() != 0 && decision.limit() != UNLIMITED
    };
    enforced(decisions).flat_map(RuleResult::limits).filter(move |(_, own)| has_figures(own))
}

/// The limit that speaks for all: see [`Decision::decisive`].
fn decisive(decisions: &Decisions) -> Option<(&Policy, &Decision)> {
    let (nth, _) = Decision::decisive(told(decisions).map(|(_, decision)| decision))?;
    told(decisions).nth(nth)
}
