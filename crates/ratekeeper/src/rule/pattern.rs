//! Patterns of paths and hosts.
//!
//! Invariant: a pattern is in canonical form, like what it is compared with.

/// A pattern of paths: `*` is one segment, `**` any number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
}

/// A pattern of hosts: a name, or `*.` and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
}
