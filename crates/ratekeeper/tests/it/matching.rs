//! Paths, hosts and methods: their one form, and the patterns that rules have of them.
//!
//! Invariant: a spelling is refused, or meets the same rules as the path that it is a spelling of.

mod aliases;
mod bounds;
mod canonical;
mod hosts;
mod patterns;
mod refused;
mod servers;
mod spellings;
mod tables;

use ratekeeper::request::path::{CanonicalPath, PathFault};
use ratekeeper::rule::pattern::PathPattern;

/// The canonical form, or what is wrong.
fn canonical(target: &str) -> Result<String, PathFault> {
    let path = CanonicalPath::new(target).map_err(|error| error.fault())?;
    Ok(path.as_str().to_owned())
}

fn path(target: &str) -> CanonicalPath<'_> {
    CanonicalPath::new(target).unwrap()
}

fn pattern(text: &str) -> PathPattern {
    PathPattern::parse(text).unwrap()
}
