//! What an answer changes about what its request was charged.
//!
//! Invariant: without an answer, and without what it should say, a request stays charged as it was.

use super::Admission;
use crate::limiter::Asked;
use crate::limiter::compile::After;
use crate::limiter::hold::Hold;
use std::str;

impl Admission {
    /// Tells it the answer that the request got: rules that count failures give back what was none, and
    /// rules that settle take what the answer says was used. `field` finds a header field of the answer.
    pub fn answered<'h>(&mut self, status: u16, field: impl Fn(&str) -> Option<&'h [u8]>) {
        for hold in &self.holds {
            hold.settle_each(|asked| used(asked, status, &field));
        }
        self.holds.retain(Hold::has_permits);
    }
}

/// What a request has really used; `None` if that is what it was charged.
fn used<'h>(
    Asked { rule, cost, .. }: &Asked,
    status: u16,
    field: &impl Fn(&str) -> Option<&'h [u8]>,
) -> Option<u64> {
    let After { settle, failures } = &rule.manner.after;
    if *failures && !matches!(status, 401 | 403) {
        return Some(0);
    }
    let text = field(settle.as_deref()?)?.trim_ascii();
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    // What is too long for a number is above every bound, and not free.
    let used = str::from_utf8(text).ok().filter(|_| digits)?.parse().unwrap_or(u64::MAX);
    (used != *cost).then_some(used)
}
