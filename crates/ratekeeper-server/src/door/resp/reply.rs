//! Replies as bytes, in either version of the protocol.
//!
//! Invariant: a reply is one reply, whatever texts it holds: a text that is not ours goes with its length before it, or
//! without what could end a line.

use std::fmt::{self, Write};

/// Longest text of an error.
const ERROR_MAX: usize = 512;

/// Where replies are written.
pub(super) struct Replies<'o> {
    pub(super) out: &'o mut Vec<u8>,
    /// Whether the peer has asked for the third version.
    pub(super) three: bool,
}

impl Replies<'_> {
    pub(super) fn integer(&mut self, value: i64) {
        self.counted(b':', value);
    }

    /// What so many replies follow.
    pub(super) fn array(&mut self, count: usize) {
        self.counted(b'*', count as i64);
    }

    /// What so many pairs of replies follow.
    pub(super) fn map(&mut self, count: usize) {
        match self.three {
            true => self.counted(b'%', count as i64),
            false => self.array(2 * count),
        }
    }

    pub(super) fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.counted(b'$', bytes.len() as i64);
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    pub(super) fn null(&mut self) {
        self.out.extend_from_slice(if self.three { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// A text of ours.
    pub(super) fn simple(&mut self, text: &'static str) {
        self.out.push(b'+');
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    pub(super) fn ok(&mut self) {
        self.simple("OK");
    }

    /// An error: a word for programs, and why.
    pub(super) fn error(&mut self, code: &str, why: impl fmt::Display) {
        let mut text = String::new();
        // Text in memory takes whatever is written.
        let _ = write!(text, "{code} {why}");
        if let Some((end, _)) = text.char_indices().nth(ERROR_MAX) {
            text.truncate(end);
        }
        self.out.push(b'-');
        let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.out.extend_from_slice(plain.collect::<String>().as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    fn counted(&mut self, kind: u8, value: i64) {
        let mut digits = itoa::Buffer::new();
        self.out.push(kind);
        self.out.extend_from_slice(digits.format(value).as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }
}
