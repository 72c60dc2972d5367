//! What servers behind the limiter see of a path that was accepted.
//!
//! Invariant: each server here is a few lines of its own, and shares nothing with the code.

use super::{canonical, path};
use proptest::prelude::*;
use ratekeeper::rule::pattern::PathPattern;

fn decoded(text: &str) -> Vec<u8> {
    let (mut rest, mut bytes) = (text.as_bytes(), Vec::new());
    while let Some((first, tail)) = rest.split_first() {
        let digits = (*first == b'%').then(|| std::str::from_utf8(&tail[..2]).unwrap());
        bytes.push(digits.map_or(*first, |digits| u8::from_str_radix(digits, 16).unwrap()));
        rest = &tail[if digits.is_some() { 2 } else { 0 }..];
    }
    bytes
}

/// A stack of segments after every dot segment has been followed.
fn resolved(segments: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut stack: Vec<Vec<u8>> = Vec::new();
    for segment in segments {
        match &*segment {
            b"." => {}
            b".." => _ = stack.pop(),
            _ => stack.push(segment),
        }
    }
    stack.retain(|segment| !segment.is_empty());
    stack
}

fn raw(target: &str) -> impl Iterator<Item = &str> {
    target.split(['?', '#']).next().unwrap().split('/').skip(1)
}

/// Decodes, merges slashes, then follows dots.
fn merging(target: &str) -> Vec<Vec<u8>> {
    resolved(raw(target).map(decoded).filter(|segment| !segment.is_empty()))
}

/// Decodes and follows dots as browsers do, and merges slashes last.
fn browser(target: &str) -> Vec<Vec<u8>> {
    resolved(raw(target).map(decoded))
}

/// Cuts parameters off first, and ignores case.
fn servlets(target: &str) -> Vec<Vec<u8>> {
    let cut = |segment: &str| decoded(segment.split(';').next().unwrap()).to_ascii_lowercase();
    resolved(raw(target).map(cut).filter(|segment| !segment.is_empty()))
}

/// The same, but decodes before it cuts.
fn late_servlets(target: &str) -> Vec<Vec<u8>> {
    let cut = |segment: Vec<u8>| {
        let end = segment.iter().position(|byte| *byte == b';').unwrap_or(segment.len());
        segment[..end].to_ascii_lowercase()
    };
    resolved(raw(target).map(|segment| cut(decoded(segment))).filter(|segment| !segment.is_empty()))
}

proptest! {
    #![proptest_config(crate::laws::cases(6000))]

    /// Goal: whoever decodes and resolves what was sent comes to the path that rules looked at, in
    /// whichever order it merges slashes, follows dots and cuts parameters off.
    /// Method: four servers read what was sent, and the canonical path or its key.
    #[test]
    fn servers_see_what_rules_saw(target in r"/([ab./;A]|\.\.|//|/\.\./|%2[eE]|%3[bB]|é|%C3%A9|;){0,10}") {
        if canonical(&target).is_ok() {
            let form = path(&target);
            let key = PathPattern::folded(&form);
            prop_assert_eq!(merging(&target), merging(form.as_str()));
            prop_assert_eq!(browser(&target), merging(form.as_str()));
            prop_assert_eq!(servlets(&target), servlets(form.as_str()));
            prop_assert_eq!(late_servlets(&target), merging(&key));
        }
    }
}

/// Goal: the servers above do differ, so that their agreement says something.
/// Method: a target that each of two reads in its own way, and that is refused therefore.
#[test]
fn servers_differ_about_what_is_refused() {
    assert_ne!(merging("/a//../b"), browser("/a//../b"));
    assert_ne!(merging("/a/;x/../b"), servlets("/a/;x/../b"));
    assert_ne!(merging("/a/..;x/b"), servlets("/a/..;x/b"));
    for target in ["/a//../b", "/a/;x/../b", "/a/..;x/b"] {
        assert!(canonical(target).is_err(), "{target}");
    }
}
