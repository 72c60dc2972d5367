//! Methods of requests, and which of them a rule is for.
//!
//! Invariant: no spelling of a method, and no method that does the same work, passes a rule by.

use std::borrow::Cow;
use std::sync::Arc;

/// A method in upper case, as it counts.
pub fn canonical_method(method: &str) -> Cow<'_, str> {
    match method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Owned(method.to_ascii_uppercase()),
        false => Cow::Borrowed(method),
    }
}

/// Whether a rule for these methods, or for any if there are none, is for this one. `HEAD` makes a
/// server do what `GET` does, so rules for `GET` are for both.
pub fn method_matches(rule_methods: &[Arc<str>], method: &str) -> bool {
    let is = |own: &str| {
        own.eq_ignore_ascii_case(method)
            || own.eq_ignore_ascii_case("GET") && method.eq_ignore_ascii_case("HEAD")
    };
    rule_methods.is_empty() || rule_methods.iter().any(|own| is(own))
}
