//! Replies to `RK.CHECK` and its kin.
//!
//! Invariant: a reply has the same places whatever was decided: -1 where there is no such figure, so that clients can
//! read numbers as numbers.

use super::reply::Replies;
use super::throttle::whole;
use ratekeeper::decision::UNLIMITED;
use ratekeeper::{Decision, HoldId};
use std::time::Duration;

/// Where there is no such figure.
const NONE: i64 = -1;

/// Where no wait would help.
const NEVER: i64 = -2;

/// How long to wait, where nobody knows because the store is away.
const AWAY: i64 = 1_000;

/// Replies with a decision; of a reservation with its name, too.
pub(super) fn reply(replies: &mut Replies<'_>, decision: &Decision, hold: Option<Option<HoldId>>) {
    replies.array(if hold.is_some() { 9 } else { 8 });
    replies.integer(i64::from(decision.is_allowed()));
    let limited = decision.limit() != UNLIMITED && !decision.is_without_figures();
    let figure = |value: u64| if limited { whole(value) } else { NONE };
    replies.integer(figure(decision.limit()));
    replies.integer(figure(decision.remaining()));
    replies.integer(match decision.retry_after() {
        Some(wait) => millis(wait),
        None if decision.is_never() => NEVER,
        None if decision.is_refused() && decision.is_without_figures() => AWAY,
        None => NONE,
    });
    replies.integer(decision.reset_after().map_or(NONE, millis));
    replies.integer(decision.delay().map_or(NONE, millis));
    replies.bulk(decision.source().name());
    match decision.permit() {
        Some(permit) => replies.bulk(permit.to_string()),
        None => replies.null(),
    }
    match hold {
        Some(Some(hold)) => replies.bulk(hold.to_string()),
        Some(None) => replies.null(),
        None => {}
    }
}

/// Whole milliseconds, rounded up.
fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(i64::MAX)
}
