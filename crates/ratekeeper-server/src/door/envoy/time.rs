//! How long a caller waits: `grpc-timeout`.
//!
//! Invariant: an answer is on its way before the caller gives up, as far as it says when that is.

use axum::http::HeaderMap;
use std::time::Duration;

/// Time that an answer takes on its way back.
const WAY_BACK: Duration = Duration::from_millis(2);

/// Digits of a time, at most (gRPC over HTTP/2).
const DIGITS_MAX: usize = 8;

/// How long a decision may take where the caller does not say: a little more than a store has for its answer, so that
/// its silence is noticed first, and less than Envoy waits.
const BUDGET: Duration = Duration::from_millis(17);

/// How long a decision may take.
pub(super) fn left(fields: &HeaderMap) -> Duration {
    let text = fields.get("grpc-timeout").and_then(|value| value.to_str().ok());
    let time = text.and_then(read);
    time.map_or(BUDGET, |time| time.saturating_sub(WAY_BACK).max(time / 2))
}

fn read(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let plain = (1..=DIGITS_MAX).contains(&digits.len());
    let plain = plain && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value: u64 = digits.parse().ok().filter(|_| plain)?;
    Some(match unit {
        "H" => Duration::from_secs(value * 3_600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: every unit is read, and what is no time is left out.
    /// Method: each unit, the most digits and one more, and what is near to a time.
    #[test]
    fn times_are_read() {
        let nanos = |text: &str| read(text).map(|time| time.as_nanos());
        let second = 1_000_000_000;
        for (text, expected) in [
            ("2H", 7_200 * second),
            ("2M", 120 * second),
            ("2S", 2 * second),
            ("20m", second / 50),
            ("2u", 2_000),
            ("2n", 2),
            ("99999999S", 99_999_999 * second),
        ] {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
        for text in ["", "m", "1", "999999999m", "-1m", "+1m", "1x", "1 m", "1µ", "0x1m"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    /// Goal: there is time for the way back, and never none for the decision.
    #[test]
    fn the_way_back_is_left() {
        let of = |text: &str| {
            let mut fields = HeaderMap::new();
            fields.insert("grpc-timeout", text.parse().unwrap());
            left(&fields)
        };
        assert_eq!(of("20m"), Duration::from_millis(18));
        assert_eq!(of("2m"), Duration::from_millis(1));
        assert_eq!(left(&HeaderMap::new()), BUDGET);
    }
}
