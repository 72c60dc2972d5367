//! Paths without what rules do not look at.
//!
//! Invariant: all spellings that a rule takes for one path have one folded form; folding changes
//! nothing that is folded.

use crate::request::path::{CanonicalPath, delimiter, name_of};
use std::borrow::Cow;

/// Stands for a segment of which only parameters were sent, as in `/a/;x/b`. Some servers take it
/// for a segment and some for none, and so does a rule: it may match `*`, or not be there.
pub(crate) const GHOST: &str = ";";

/// The folded path as rules match it, with ghosts.
pub(crate) fn to_match<'p>(path: &'p CanonicalPath<'_>) -> Cow<'p, str> {
    folded(path, GHOST)
}

/// The folded path as keys have it, without ghosts: there is no end to how many can be put in.
pub(super) fn to_count<'p>(path: &'p CanonicalPath<'_>) -> Cow<'p, str> {
    folded(path, "")
}

/// The segments of a folded path; none for `/`.
pub(crate) fn segments(folded: &str) -> impl Iterator<Item = &str> {
    folded.split('/').skip(1).filter(|segment| !segment.is_empty())
}

/// A segment of a pattern, folded; none if no name is left of it.
pub(super) fn segment(canonical: &str) -> Option<Cow<'_, str>> {
    if is_folded(canonical) {
        return Some(canonical).filter(|segment| !segment.is_empty()).map(Cow::Borrowed);
    }
    let mut name = String::new();
    push_name(canonical, &mut name);
    Some(name).filter(|name| !name.is_empty()).map(Cow::Owned)
}

fn folded<'p>(path: &'p CanonicalPath<'_>, ghost: &str) -> Cow<'p, str> {
    let text = path.as_str();
    if is_folded(text) {
        let short = text.strip_suffix('/').filter(|short| !short.is_empty());
        return Cow::Borrowed(short.unwrap_or(text));
    }
    let mut folded = String::with_capacity(text.len());
    for segment in path.segments().filter(|segment| !segment.is_empty()) {
        let start = folded.len();
        folded.push('/');
        push_name(segment, &mut folded);
        if folded.len() == start + 1 {
            folded.push_str(ghost);
        }
        if folded.len() == start + 1 {
            folded.truncate(start);
        }
    }
    if folded.is_empty() {
        folded.push('/');
    }
    Cow::Owned(folded)
}

/// Whether there is nothing to fold but a slash at the end.
fn is_folded(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'A'..=b'Z' | b'%' | b';'))
}

/// The name of a segment in lower case, with delimiters that are not escaped: most servers decode
/// them before they look for a route.
fn push_name(segment: &str, out: &mut String) {
    let mut rest = name_of(segment);
    while let Some(char) = rest.chars().next() {
        let plain = delimiter(rest.as_bytes());
        out.push(plain.unwrap_or(char.to_ascii_lowercase()));
        // An escape is three bytes; in canonical form, nothing here is beyond ASCII.
        rest = &rest[if plain.is_some() { 3 } else { char.len_utf8() }..];
    }
}
