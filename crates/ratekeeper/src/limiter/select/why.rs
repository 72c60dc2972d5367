//! Why a rule does not apply to a request.
//!
//! Invariant: whoever reads it need not know the code.

use crate::request::Rejected;
use std::fmt;
use std::sync::Arc;

/// Why a rule does not apply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::limiter) enum Why {
    Domain,
    Method,
    Host,
    Path,
    Except(usize),
    Header(Arc<str>),
    Tier,
    Descriptor(Arc<str>),
    When,
    Off,
    Missing,
    /// The request cannot be asked about.
    Rejected(Rejected),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Domain => f.write_str("it is for descriptors of a domain, or of another one"),
            Why::Method => f.write_str("the method is another"),
            Why::Host => f.write_str("the host is another"),
            Why::Path => f.write_str("the path is another"),
            Why::Except(number) => write!(f, "the path is in `except`, as entry {}", number + 1),
            Why::Header(name) => write!(f, "the header field `{name}` is not there, or another"),
            Why::Tier => f.write_str("the tier is another"),
            Why::Descriptor(name) => write!(f, "the descriptor `{name}` is not there, or another"),
            Why::When => f.write_str("`when` does not hold"),
            Why::Off => f.write_str("it is off"),
            Why::Missing => f.write_str("a part of its key is missing, and `on_missing` is `skip`"),
            Why::Rejected(rejected) => write!(f, "{rejected}"),
        }
    }
}

impl From<Rejected> for Why {
    fn from(rejected: Rejected) -> Why {
        Why::Rejected(rejected)
    }
}
