//! Why a target is refused.
//!
//! Invariant: what is quoted of a target is short, cannot steer a terminal, and has no query.

use super::{PATH_MAX, SEGMENTS_MAX};
use std::fmt;

/// Most characters that are quoted of what somebody sent.
pub(crate) const QUOTE_MAX: usize = 64;

/// What is wrong with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathFault {
    /// It does not begin with `/`.
    NotOriginForm,
    /// Longer than [`PATH_MAX`](super::PATH_MAX).
    TooLong,
    /// More than [`SEGMENTS_MAX`](super::SEGMENTS_MAX).
    TooManySegments,
    /// A control character, as it is or escaped.
    Control,
    /// A space as it is.
    Space,
    /// A backslash, as it is or escaped.
    Backslash,
    /// An escaped slash.
    EncodedSlash,
    /// `%` without two digits.
    BadEscape,
    /// An escape of what becomes another escape once it is decoded.
    DoubleEncoding,
    /// Escaped bytes that are not UTF-8.
    NotUtf8,
    /// `..` leads out of the root.
    AboveRoot,
    /// `..` after an empty segment, which not every server counts as one.
    AmbiguousParent,
    /// A dot segment with parameters.
    DotParameters,
    /// A segment that ends in `..`.
    TrailingDots,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathFault::TooLong => {
                return write!(f, "is longer than {PATH_MAX} bytes; send a shorter one");
            }
            PathFault::TooManySegments => {
                return write!(f, "has more than {SEGMENTS_MAX} segments; send fewer");
            }
            PathFault::NotOriginForm => "does not begin with `/`; send the path alone, as in `/a`",
            PathFault::Control => "has a control character; leave it out",
            PathFault::Space => "has a space; write it as `%20`",
            PathFault::Backslash => "has a backslash; write `/` between segments",
            PathFault::EncodedSlash => "has an escaped slash; write `/`, or leave it out",
            PathFault::BadEscape => "has a `%` without two digits; write `%25` for the sign itself",
            PathFault::DoubleEncoding => "is escaped twice; escape it once",
            PathFault::NotUtf8 => "has escaped bytes that are not UTF-8; escape text as UTF-8",
            PathFault::AboveRoot => "leads above `/`; take a `..` out",
            PathFault::AmbiguousParent => "has `..` after an empty segment; write one `/`",
            PathFault::DotParameters => {
                "has a dot segment with parameters; write the path that it leads to"
            }
            PathFault::TrailingDots => "has a segment that ends in `..`; name it otherwise",
        })
    }
}

/// A fault and the byte where it is.
pub(super) struct At(pub(super) PathFault, pub(super) usize);

/// A target that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    fault: PathFault,
    at: usize,
    quoted: String,
}

impl PathError {
    pub(super) fn new(fault: PathFault, at: usize, path: &str) -> PathError {
        PathError { fault, at, quoted: quoted(path) }
    }

    /// What is wrong.
    pub fn fault(&self) -> PathFault {
        self.fault
    }

    /// The byte of the target where it is, or where its segment begins.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path `{}`, byte {}: {}", self.quoted, self.at, self.fault)
    }
}

impl std::error::Error for PathError {}

/// The beginning of a text, escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    let mut left = QUOTE_MAX;
    for char in text.chars() {
        let escaped = char.escape_debug();
        let Some(less) = left.checked_sub(escaped.len()) else {
            quoted.push('…');
            break;
        };
        left = less;
        quoted.extend(escaped);
    }
    quoted
}
