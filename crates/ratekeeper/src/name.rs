//! Names by which callers outside of this process know what they hold.
//!
//! Invariant: a name cannot be guessed, and logs do not show it: who knows it can give back what it
//! stands for.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// Sixteen digits from 0 to f.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) NonZeroU64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }

        impl FromStr for $name {
            type Err = NotAName;

            fn from_str(text: &str) -> Result<$name, NotAName> {
                read(text).map($name).ok_or(NotAName($what))
            }
        }
    };
}

name!(
    /// What a permit is known by outside of this process.
    PermitId,
    "permit"
);
name!(
    /// What a reservation is known by outside of this process.
    HoldId,
    "hold"
);

fn read(text: &str) -> Option<NonZeroU64> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let number = (text.len() == 16 && text.bytes().all(digit)).then_some(text)?;
    NonZeroU64::new(u64::from_str_radix(number, 16).ok()?)
}

/// A text that is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAName(&'static str);

impl fmt::Display for NotAName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.0;
        write!(f, "is not a {what}; send the one of the decision, 16 digits from 0 to f")
    }
}

impl std::error::Error for NotAName {}
