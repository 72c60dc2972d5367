//! Replies as they are expected, place by place.
//!
//! Invariant: a figure that goes down with time is expected as `<=n`, and may then be a quarter of that and no less;
//! all else is compared as it is.

/// Compares what a client said, line by line.
pub(crate) fn same(said: &[&str], expected: &[&str]) {
    let same = said.len() == expected.len()
        && said.iter().zip(expected).all(|(said, like)| is(said, like));
    assert!(same, "{said:?} is not {expected:?}");
}

fn is(said: &str, like: &str) -> bool {
    match like.strip_prefix("<=") {
        Some(most) => is_at_most(said, most.parse().unwrap()),
        None => said == like,
    }
}

/// Whether a time is left of so much.
pub(crate) fn is_at_most(said: &str, most: i64) -> bool {
    said.parse().is_ok_and(|said: i64| (most / 4..=most).contains(&said))
}
