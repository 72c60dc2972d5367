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

/// What a method is counted as: what is asked for by HEAD is asked for by GET, and what nobody has heard
/// of is all the same, since callers can invent as many as they like.
pub fn counted_method(method: &str) -> &'static str {
    const KNOWN: [&str; 8] =
        ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
    let method = canonical_method(method);
    match KNOWN.iter().find(|known| **known == method) {
        Some(known) => known,
        None if method == "HEAD" => "GET",
        None => "other",
    }
}
