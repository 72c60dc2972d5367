//! Conditions where CEL is left out: none can be read.
//!
//! Invariant: there is no condition, so none is ever asked.

use super::Facts;

/// A condition that nobody can make.
#[derive(Debug)]
pub(crate) enum Condition {}

impl Condition {
    pub(crate) fn read(_text: &str) -> Result<Condition, String> {
        Err("needs CEL, which this program was built without; add the feature `cel`".into())
    }

    pub(crate) fn holds(&self, _facts: &Facts<'_>) -> bool {
        match *self {}
    }
}
