//! What a hold is known by to its caller.
//!
//! Invariant: written out, it is 16 digits from 0 to f, and nothing else reads as one. Who knows it
//! can settle the hold, so logs do not show it.

use std::fmt;
use std::str::FromStr;

/// The name of a hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::door) struct HoldId(u64);

impl HoldId {
    /// Whoever makes one sees to it that the number cannot be guessed.
    pub(super) fn of(number: u64) -> HoldId {
        HoldId(number)
    }
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HoldId(…)")
    }
}

/// A text that is no hold's.
#[derive(Debug)]
pub(in crate::door) struct NotAHold;

impl fmt::Display for NotAHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a hold; send the one of the decision, 16 digits from 0 to f")
    }
}

impl FromStr for HoldId {
    type Err = NotAHold;

    fn from_str(text: &str) -> Result<HoldId, NotAHold> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(digit) {
            return Err(NotAHold);
        }
        u64::from_str_radix(text, 16).map(HoldId).map_err(|_| NotAHold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a name is 16 digits from 0 to f, reads back as itself, and does not show in logs.
    /// Method: the ends of the range, and texts that differ from a name in one way each.
    #[test]
    fn a_name_is_16_digits() {
        for (number, text) in [(0, "0".repeat(16)), (u64::MAX, "f".repeat(16))] {
            assert_eq!(HoldId(number).to_string(), text);
            assert!(text.parse::<HoldId>().is_ok_and(|id| id == HoldId(number)));
            assert!(!format!("{:?}", HoldId(number)).contains(&text));
        }
        for text in
            ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "+123456789abcdef"]
        {
            assert!(text.parse::<HoldId>().is_err(), "{text}");
        }
    }
}
