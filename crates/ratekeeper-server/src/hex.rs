//! Bytes as text.
//!
//! Invariant: two digits for each byte, in lower case.

use std::fmt::Write;

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Text in memory takes whatever is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
