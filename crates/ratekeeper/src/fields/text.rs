//! Numbers and names as texts.
//!
//! Invariant: what is written is a structured field's (RFC 9651): integers of at most 15 digits, strings
//! of printable ASCII.

/// Ticks of a second.
pub(super) const SECOND: u64 = 1_000_000;

/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// Digits of the largest integer.
const DIGITS_MAX: usize = 15;

/// Writes a number; one that is too large as the largest.
#[inline]
pub(super) fn number(text: &mut String, value: u64) {
    let mut rest = value.min(INTEGER_MAX);
    let mut digits = [b'0'; DIGITS_MAX];
    let mut first = DIGITS_MAX;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    // Digits are always text.
    text.push_str(std::str::from_utf8(&digits[first..]).unwrap_or("0"));
}

/// Writes a name as a string in quotes. What a string cannot hold becomes a question mark.
pub(super) fn quoted(text: &mut String, name: &str) {
    text.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            ' '..='~' => text.push(c),
            _ => text.push('?'),
        }
    }
    text.push('"');
}

/// Writes ticks as a decimal number of some unit of so many: no more digits than it needs.
pub(super) fn decimal(text: &mut String, ticks: u64, unit: u64) {
    number(text, ticks / unit);
    let (mut rest, mut unit) = (ticks % unit, unit);
    if rest > 0 {
        text.push('.');
    }
    while rest > 0 && unit > 1 {
        unit /= 10;
        number(text, rest / unit);
        rest %= unit;
    }
}
