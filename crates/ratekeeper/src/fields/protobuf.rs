//! As much of the wire format of protobuf as an error needs.
//!
//! Invariant: a field that has its default is left out, as in every other writer.

/// A message in the making.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A field that is a number, not below zero.
    pub(super) fn number(&mut self, field: u8, value: u64) {
        if value > 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    pub(super) fn text(&mut self, field: u8, text: &str) {
        if !text.is_empty() {
            self.delimited(field, text.as_bytes());
        }
    }

    /// A message inside, which is there even if it is empty.
    pub(super) fn message(&mut self, field: u8, message: &Message) {
        self.delimited(field, &message.0);
    }

    fn delimited(&mut self, field: u8, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Seven bits at a time, the lowest first.
    fn varint(&mut self, value: u64) {
        let mut rest = value;
        while rest > 127 {
            self.0.push(rest as u8 & 127 | 128);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }
}
