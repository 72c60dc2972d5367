//! A refusal as gRPC has it: a status, in three header fields of an answer with status 200.
//!
//! Invariant: fields are printable ASCII, and what they say is what HTTP callers are told.

use super::protobuf::Message;
use super::refusal::{Refusal, Why};
use super::text::SECOND;
use super::{Field, figure, told};
use crate::request::{Rejected, Rejection};

const INVALID_ARGUMENT: u64 = 3;
const PERMISSION_DENIED: u64 = 7;
const RESOURCE_EXHAUSTED: u64 = 8;
const INTERNAL: u64 = 13;
const UNAVAILABLE: u64 = 14;

/// What the names of the types of details begin with.
const TYPES: &str = "type.googleapis.com/google.rpc.";

/// Most quotas in one answer: clients take a few kilobytes of fields.
const VIOLATIONS_MAX: usize = 16;

/// Nanoseconds of a tick.
const NANOS: u64 = 1_000;

impl Refusal<'_> {
    /// The code of an answer over gRPC: `RESOURCE_EXHAUSTED`; `INVALID_ARGUMENT` for a cost that is never
    /// admitted, `PERMISSION_DENIED` where a rule is closed, `UNAVAILABLE` without a store.
    pub fn grpc_status(&self) -> u64 {
        match self.why {
            Why::Quota => RESOURCE_EXHAUSTED,
            Why::Never => INVALID_ARGUMENT,
            Why::Outage => UNAVAILABLE,
            Why::Closed => PERMISSION_DENIED,
        }
    }

    /// Writes the fields of an answer over gRPC.
    pub fn grpc(&self, put: &mut dyn FnMut(Field, &str)) {
        let detail = self.detail();
        let text = &mut String::new();
        put(Field::GrpcStatus, figure(text, self.grpc_status()));
        put(Field::GrpcMessage, &percent(&detail));
        put(Field::GrpcDetails, &base64(self.status_message(&detail).bytes()));
    }

    /// `google.rpc.Status`, with when to retry and which quotas are used up.
    fn status_message(&self, detail: &str) -> Message {
        let mut status = Message::default();
        status.number(1, self.grpc_status());
        status.text(2, detail);
        if let Some(ticks) = self.retry_ticks() {
            let (mut delay, mut info) = (Message::default(), Message::default());
            delay.number(1, ticks / SECOND);
            delay.number(2, ticks % SECOND * NANOS);
            info.message(1, &delay);
            status.message(3, &any("RetryInfo", &info));
        }
        if matches!(self.why, Why::Quota | Why::Never) {
            let mut failure = Message::default();
            let refused = told(self.decisions).filter(|(_, own)| own.is_refused());
            for (policy, own) in refused.take(VIOLATIONS_MAX) {
                let mut violation = Message::default();
                violation.text(1, policy.name());
                violation.text(2, &own.to_string());
                failure.message(1, &violation);
            }
            status.message(3, &any("QuotaFailure", &failure));
        }
        status
    }
}

/// Writes the fields of an answer over gRPC to a call that no rule can be asked about.
pub fn grpc_rejected(rejected: &Rejected, put: &mut dyn FnMut(Field, &str)) {
    let status = match rejected.kind() {
        Rejection::Malformed => INVALID_ARGUMENT,
        Rejection::Unknown => INTERNAL,
    };
    put(Field::GrpcStatus, figure(&mut String::new(), status));
    put(Field::GrpcMessage, &percent(&rejected.to_string()));
}

fn any(kind: &str, message: &Message) -> Message {
    let mut any = Message::default();
    any.text(1, &format!("{TYPES}{kind}"));
    any.message(2, message);
    any
}

/// A message of gRPC: what is not printable ASCII, and `%`, is percent-encoded.
fn percent(message: &str) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let mut text = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => text.push(char::from(byte)),
            _ => text.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
        }
    }
    text
}

/// Base64 without padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |nth: usize| u32::from(three.get(nth).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for nth in 0..=three.len() {
            let letter = bits >> (18 - 6 * nth) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}
