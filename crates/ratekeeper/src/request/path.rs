//! The one form of a path, for matching and for forwarding.
//!
//! Invariant: a [`CanonicalPath`] is its own canonical form, and servers that decode, merge slashes
//! or cut parameters off in another order still see the same path; a target on which they would not
//! agree is refused.

mod error;
mod escape;
mod output;

pub(crate) use error::quoted;
pub use error::{PathError, PathFault};
pub(crate) use escape::{delimiter, name_of};

use error::At;
use output::Output;
use std::borrow::Cow;
use std::fmt;

/// Longest path, in bytes, as it was sent and in its canonical form; a query does not count.
pub const PATH_MAX: usize = 8192;

/// Most segments of a canonical path.
pub const SEGMENTS_MAX: usize = 256;

/// The target of `OPTIONS *`, which is about the server and no path of it.
const ASTERISK: &str = "*";

/// A path in the form that all its spellings have in common.
///
/// Slashes are merged, dot segments are gone, what need not be escaped is not, and other escapes are
/// in upper case. A slash at the end, `;parameters` and case are kept, because servers may care.
///
/// ```
/// use ratekeeper::request::path::CanonicalPath;
///
/// let path = CanonicalPath::new("//a/./b/../%63%c3%a9/?q=1")?;
/// assert_eq!(path.as_str(), "/a/c%C3%A9/");
/// assert!(CanonicalPath::new("/a%2Fb").is_err());
/// # Ok::<(), ratekeeper::request::path::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalPath<'a> {
    text: Cow<'a, str>,
}

impl<'a> CanonicalPath<'a> {
    /// Reads a target in origin form, or `*`. What follows a `?` or `#` is not looked at.
    ///
    /// Nothing is copied where the path is canonical already.
    pub fn new(target: &'a str) -> Result<CanonicalPath<'a>, PathError> {
        if target == ASTERISK {
            return Ok(CanonicalPath { text: Cow::Borrowed(target) });
        }
        let end = target.bytes().take(PATH_MAX + 1).position(|byte| matches!(byte, b'?' | b'#'));
        let path = end.map_or(target, |end| &target[..end]);
        let text = canonical(path).map_err(|At(fault, at)| PathError::new(fault, at, path))?;
        Ok(CanonicalPath { text })
    }

    /// The path as text: it begins with `/`, or is `*`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What is between the slashes. A slash at the end is followed by an empty segment, so `/` has
    /// one; `*` has none.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').skip(1)
    }

    /// Whether this is the target of `OPTIONS *`.
    pub fn is_asterisk(&self) -> bool {
        self.text == ASTERISK
    }

    /// The same path, free of what it was read from.
    pub fn into_owned(self) -> CanonicalPath<'static> {
        CanonicalPath { text: Cow::Owned(self.text.into_owned()) }
    }
}

impl fmt::Display for CanonicalPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn canonical(path: &str) -> Result<Cow<'_, str>, At> {
    if path.len() > PATH_MAX {
        return Err(At(PathFault::TooLong, PATH_MAX));
    }
    if escape::is_plain(path) {
        return within_segments(path).map(|()| Cow::Borrowed(path));
    }
    let Some(rest) = path.strip_prefix('/') else { return Err(At(PathFault::NotOriginForm, 0)) };
    let mut walk =
        Walk { out: Output::new(path), slash: true, after_empty: false, empties: vec![] };
    let mut at = 1;
    for raw in rest.split('/') {
        walk.segment(raw, at)?;
        at += raw.len() + 1;
    }
    walk.finish()
}

/// Counts segments by their slashes; one at the end is none.
fn within_segments(canonical: &str) -> Result<(), At> {
    let begun = canonical.strip_suffix('/').unwrap_or(canonical);
    match begun.bytes().filter(|byte| *byte == b'/').count() <= SEGMENTS_MAX {
        true => Ok(()),
        false => Err(At(PathFault::TooManySegments, 0)),
    }
}

/// A path on its way into canonical form.
struct Walk<'a> {
    out: Output<'a>,
    /// Whether the path ends in a slash, if this was all.
    slash: bool,
    /// Whether the segment before was empty.
    after_empty: bool,
    /// Where empty segments were left out, as lengths of `out`. It stays empty in paths without.
    empties: Vec<usize>,
}

impl<'a> Walk<'a> {
    /// Takes one more segment, which begins at byte `at`.
    fn segment(&mut self, raw: &str, at: usize) -> Result<(), At> {
        let start = self.out.len();
        if self.after_empty && self.empties.last() != Some(&start) {
            self.empties.push(start);
        }
        self.after_empty = raw.is_empty();
        self.slash = true;
        if raw.is_empty() {
            return Ok(());
        }
        self.out.push("/");
        escape::write(raw, at, &mut self.out)?;
        let written = &self.out.as_str()[start + 1..];
        match written {
            "." => self.out.truncate(start),
            ".." => {
                self.out.truncate(start);
                self.up(at)?;
            }
            _ => {
                escape::check(written).map_err(|fault| At(fault, at))?;
                self.slash = false;
            }
        }
        Ok(())
    }

    /// Takes the last segment away again. An empty one, or one of parameters alone, is there for
    /// some servers and not for others, so that they would take away different ones.
    fn up(&mut self, at: usize) -> Result<(), At> {
        if self.empties.last() == Some(&self.out.len()) {
            return Err(At(PathFault::AmbiguousParent, at));
        }
        let Some(start) = self.out.as_str().rfind('/') else {
            return Err(At(PathFault::AboveRoot, at));
        };
        if name_of(&self.out.as_str()[start + 1..]).is_empty() {
            return Err(At(PathFault::AmbiguousParent, at));
        }
        self.out.truncate(start);
        Ok(())
    }

    fn finish(mut self) -> Result<Cow<'a, str>, At> {
        within_segments(self.out.as_str())?;
        if self.slash {
            self.out.push("/");
        }
        if self.out.len() > PATH_MAX {
            return Err(At(PathFault::TooLong, PATH_MAX));
        }
        Ok(self.out.into_text())
    }
}
