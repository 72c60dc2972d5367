//! Patterns of paths and hosts.
//!
//! Invariant: a pattern is in canonical form, like what it is compared with. Rules match generously
//! and exceptions strictly, so that another spelling of a path never escapes a rule.

mod fold;
mod host;
mod steps;
mod table;

pub(crate) use fold::{GHOST, segments, to_match};
pub use host::{HostPattern, canonical_host};
pub(crate) use steps::Step;
pub use table::PathTable;
#[cfg(feature = "yaml")]
pub(crate) use table::Shadows;

use crate::request::path::{CanonicalPath, quoted};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Longest pattern, in bytes.
pub const PATTERN_MAX: usize = 1024;

/// Most segments of a pattern.
pub const SEGMENTS_MAX: usize = 64;

/// Most `**` in a pattern.
pub const ANY_MAX: usize = 4;

/// A pattern of paths: `*` is one segment, `**` any number.
///
/// ```
/// use ratekeeper::request::path::CanonicalPath;
/// use ratekeeper::rule::pattern::PathPattern;
///
/// let api = PathPattern::parse("/api/**")?;
/// assert!(api.matches(&CanonicalPath::new("/API;v=2/users/")?));
/// assert!(!api.matches_strictly(&CanonicalPath::new("/API/users")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPattern {
    text: Arc<str>,
    /// In canonical form; a slash at the end is one more step, with an empty name.
    strict: Box<[Step]>,
    /// Folded, as what it is compared with; a slash at the end is not there.
    generous: Box<[Step]>,
}

impl PathPattern {
    /// Reads a pattern such as `/api/**`.
    pub fn parse(text: &str) -> Result<PathPattern, PatternError> {
        read(text).map_err(|fault| PatternError::new("path pattern", text, fault))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a rule for this pattern is for that path: case in ASCII, escapes of delimiters,
    /// `;parameters` and a slash at the end make no difference.
    pub fn matches(&self, path: &CanonicalPath<'_>) -> bool {
        match path.is_asterisk() {
            true => *self.generous == [Step::Any],
            false => steps::generously(&self.generous, segments(&to_match(path))),
        }
    }

    /// Whether this path is an exception, if the pattern names exceptions: segment by segment, as
    /// it is. A slash at the end is a further segment, which only `**` or such a slash matches.
    pub fn matches_strictly(&self, path: &CanonicalPath<'_>) -> bool {
        match path.is_asterisk() {
            true => *self.strict == [Step::Any],
            false => steps::strictly(&self.strict, path.segments()),
        }
    }

    /// Whether every path that a rule for `other` is for is an exception by this pattern. It may say
    /// no where the answer is yes.
    ///
    /// A name is never enough: rules ignore case and parameters, exceptions do not.
    pub fn covers(&self, other: &PathPattern) -> bool {
        let count = |steps: &[Step], step: &Step| steps.iter().filter(|own| *own == step).count();
        let ones = count(&self.strict, &Step::One);
        let named = self.strict.len() != ones + count(&self.strict, &Step::Any);
        // Each step of the other but `**` takes a segment that is not empty. All else, such as a
        // slash at the end, the last step here has to take.
        let least = other.generous.len() - count(&other.generous, &Step::Any);
        !named && self.strict.last() == Some(&Step::Any) && ones <= least
    }

    /// Whether every path that `other` matches strictly is matched strictly by this pattern. It may
    /// say no where the answer is yes. Where it says yes of an exception, a rule is left with odd
    /// spellings alone.
    pub fn covers_as_written(&self, other: &PathPattern) -> bool {
        steps::include(&self.strict, &other.strict)
    }

    /// Whether every path that a rule for `other` is for is one that a rule for this pattern is for. It
    /// may say no where the answer is yes.
    pub fn covers_generously(&self, other: &PathPattern) -> bool {
        steps::include(&self.generous, &other.generous)
    }

    /// A path as a key: in lower case, without parameters and slash at the end, so that spellings
    /// that a rule takes for one are counted as one.
    pub fn folded<'p>(path: &'p CanonicalPath<'_>) -> Cow<'p, str> {
        fold::to_count(path)
    }

    /// The steps that a path takes through this pattern, folded.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.generous
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read(text: &str) -> Result<PathPattern, String> {
    if text.len() > PATTERN_MAX {
        return Err(format!("is longer than {PATTERN_MAX} bytes; write a shorter one"));
    }
    if !text.starts_with('/') {
        return Err("does not begin with `/`; write one such as `/api/**`, or `/**` for all".into());
    }
    if text.contains(['?', '#']) {
        return Err("has a query; leave out the `?` or `#` and what follows".into());
    }
    text.split('/').try_for_each(check_segment)?;
    let path = CanonicalPath::new(text).map_err(|error| error.fault().to_string())?;
    let kept = path.segments().filter(|segment| !segment.is_empty()).count();
    if text.split('/').filter(|segment| !segment.is_empty()).count() != kept {
        return Err("has a `.` or `..`; write the path that it leads to".into());
    }
    if kept > SEGMENTS_MAX {
        return Err(format!("has more than {SEGMENTS_MAX} segments; end it sooner, with `**`"));
    }
    if path.segments().filter(|segment| *segment == "**").count() > ANY_MAX {
        return Err(format!("has more than {ANY_MAX} `**`; write `*` for single segments"));
    }
    let strict = steps::read(path.segments().map(Cow::Borrowed));
    let generous = path.segments().filter_map(fold::segment);
    Ok(PathPattern { text: text.into(), strict, generous: steps::read(generous) })
}

/// Looks for the signs of other systems' patterns: taken as they are, they would match nothing.
fn check_segment(written: &str) -> Result<(), String> {
    let repair = match written {
        "*" | "**" => return Ok(()),
        _ if written.contains('*') => "a `*` inside a segment; write `%2A` for the sign itself",
        _ if written.contains(['{', '}']) => "a brace; write `%7B` and `%7D` for the signs",
        _ if written.starts_with(':') => "a `:` before a name; write `%3A` for the sign itself",
        _ => return Ok(()),
    };
    Err(format!("has {repair}, or `*` for a whole segment"))
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    fault: String,
}

impl PatternError {
    fn new(what: &str, text: &str, fault: impl fmt::Display) -> PatternError {
        PatternError { fault: format!("{what} `{}`: {fault}", quoted(text)) }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault)
    }
}

impl std::error::Error for PatternError {}
