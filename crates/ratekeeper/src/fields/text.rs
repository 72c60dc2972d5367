//! Numbers and names as texts.
//!
//! Invariant: what is written is a structured field's (RFC 9651): integers of at most 15 digits, strings
//! of printable ASCII.

/// Ticks of a second.
pub(super) const SECOND: u64 = 1_000_000;

/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// Pairs of digits of the largest integer.
const PAIRS_MAX: usize = 8;

/// All pairs of digits, one after the other: an answer has five numbers, and most of ten digits.
const PAIRS: &str = "00010203040506070809101112131415161718192021222324252627282930313233343536373839\
                     40414243444546474849505152535455565758596061626364656667686970717273747576777879\
                     8081828384858687888990919293949596979899";

/// Writes a number; one that is too large as the largest.
pub(super) fn number(text: &mut String, value: u64) {
    let mut rest = value.min(INTEGER_MAX);
    let (mut pairs, mut first) = ([0; PAIRS_MAX], PAIRS_MAX - 1);
    while rest >= 100 {
        pairs[first] = (rest % 100) as usize;
        rest /= 100;
        first -= 1;
    }
    // A zero in front is left out.
    let rest = rest as usize;
    text.push_str(&PAIRS[2 * rest + usize::from(rest < 10)..2 * rest + 2]);
    for pair in &pairs[first + 1..] {
        text.push_str(&PAIRS[2 * pair..2 * pair + 2]);
    }
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
