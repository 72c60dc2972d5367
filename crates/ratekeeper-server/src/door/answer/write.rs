//! Values as JSON, written straight into the answer.
//!
//! A decision is answered far more often than anything else, and always in the same few members; finding out
//! anew what they are took longer than deciding. Invariant: what is written is JSON, and a time is the decimal
//! itself, to the microsecond.

use std::time::Duration;

/// A value that can be written.
pub(crate) trait Json: Sized {
    fn write(self, out: &mut Vec<u8>);
}

/// Writes what stands before a value, and the value.
pub(crate) fn put(out: &mut Vec<u8>, before: &'static str, value: impl Json) {
    out.extend_from_slice(before.as_bytes());
    value.write(out);
}

impl Json for bool {
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self { b"true" } else { b"false" });
    }
}

impl Json for u64 {
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(self).as_bytes());
    }
}

impl Json for &str {
    fn write(self, out: &mut Vec<u8>) {
        let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if self.as_bytes().iter().all(plain) {
            out.push(b'"');
            out.extend_from_slice(self.as_bytes());
            out.push(b'"');
        } else {
            // Nothing can fail: there is room for whatever is written.
            let _ = serde_json::to_writer(out, self);
        }
    }
}

/// In seconds.
impl Json for Duration {
    fn write(self, out: &mut Vec<u8>) {
        self.as_secs().write(out);
        // A seventh digit keeps the zeros in front of the others.
        let digits = 1_000_000 + u64::from(self.subsec_micros());
        let start = out.len();
        digits.write(out);
        out[start] = b'.';
        while out.ends_with(b"0") && !out.ends_with(b".0") {
            out.pop();
        }
    }
}

impl<T: Json> Json for Option<T> {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: impl Json) -> String {
        let mut out = Vec::new();
        value.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Goal: a time in JSON is the decimal itself, with no digit of a double behind it.
    /// Method: digits set by hand, at ends and at awkward values.
    #[test]
    fn times_are_written_to_the_microsecond() {
        for (micros, digits) in [
            (0, "0.0"),
            (1, "0.000001"),
            (10, "0.00001"),
            (999_999, "0.999999"),
            (1_000_000, "1.0"),
            (1_000_001, "1.000001"),
            (12_400_000, "12.4"),
            (630_720_000_000_000, "630720000.0"),
            (630_720_000_100_000, "630720000.1"),
        ] {
            assert_eq!(written(Duration::from_micros(micros)), digits);
        }
    }

    proptest! {
        /// Goal: whatever is written is JSON, and reads as what it was.
        /// Method: any text, any number, any time; read by another parser.
        #[test]
        fn what_is_written_reads_as_what_it_was(text: String, number: u64, micros in 0..1_u64 << 50) {
            prop_assert_eq!(serde_json::from_str::<String>(&written(&*text)).unwrap(), text);
            prop_assert_eq!(serde_json::from_str::<u64>(&written(number)).unwrap(), number);
            let time = serde_json::from_str::<f64>(&written(Duration::from_micros(micros))).unwrap();
            prop_assert_eq!((time * 1e6).round() as u64, micros);
        }
    }
}
