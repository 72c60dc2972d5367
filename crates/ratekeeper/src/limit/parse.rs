//! Limits as text: `AMOUNT/PERIOD [burst N]`, `AMOUNT concurrent` or `unlimited`.
//!
//! Invariant: what [`Limit`]'s `Display` writes reads back as the same limit, but for how it counts,
//! waits and holds; and every refusal quotes the text, names the fault and proposes what to write.

use super::{Limit, LimitBuilder, LimitError};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Longest text that is looked at; a limit is a few words.
const TEXT_MAX: usize = 128;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 24 * 3600 * SECOND;

/// Periods that have a word, longest first.
const WORDS: [(&str, u64); 7] = [
    ("year", 365 * DAY),
    ("month", 30 * DAY),
    ("week", 7 * DAY),
    ("day", DAY),
    ("hour", 3600 * SECOND),
    ("minute", 60 * SECOND),
    ("second", SECOND),
];

/// Units of a period written in digits, longest first: `1h30m`.
const UNITS: [(&str, u64); 7] = [
    ("w", 7 * DAY),
    ("d", DAY),
    ("h", 3600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000),
    ("us", 1),
];

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Limit, LimitError> {
        let parsed = if text.len() > TEXT_MAX {
            Err("is longer than any limit; write one such as `100/minute`".to_owned())
        } else {
            parse(text)
        };
        // What is quoted of the text must not steer a terminal or break a line of a log.
        let plain = |c: char| if c.is_control() { '?' } else { c };
        parsed.map_err(|fault| LimitError {
            fault: format!("`{}`: {fault}", shown(text)).chars().map(plain).collect(),
        })
    }
}

impl TryFrom<&str> for Limit {
    type Error = LimitError;

    fn try_from(text: &str) -> Result<Limit, LimitError> {
        text.parse()
    }
}

fn parse(text: &str) -> Result<Limit, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (rate, burst) = match words[..] {
        [] => return Err("is empty; write one such as `100/minute`".into()),
        ["unlimited"] => return Ok(Limit::unlimited()),
        [amount, "concurrent"] => {
            let amount = whole(amount, "the amount")?;
            return Limit::concurrent(amount).build().map_err(|error| error.to_string());
        }
        [rate] => (rate, None),
        [rate, "burst", burst] => (rate, Some(burst)),
        [_, "burst"] => return Err("the burst has no number; write one such as `burst 20`".into()),
        [amount, "per", period] => {
            return Err(format!("write `{amount}/{period}`"));
        }
        _ => return Err(
            "is not a limit; write `AMOUNT/PERIOD`, `AMOUNT/PERIOD burst N` or `AMOUNT concurrent`"
                .into(),
        ),
    };
    let Some((amount, period)) = rate.split_once('/') else {
        return Err(format!("has no period; write one such as `{rate}/minute`"));
    };
    let mut builder: LimitBuilder =
        Limit::per(whole(amount, "the amount")?, read_period(period, amount)?);
    if let Some(burst) = burst {
        builder = builder.burst(whole(burst, "the burst")?);
    }
    builder.build().map_err(|error| error.to_string())
}

fn whole(text: &str, what: &str) -> Result<u64, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse()
            .map_err(|_| format!("{what} `{text}` is too large; write `unlimited` for no limit"));
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let repair = match text {
        "" => "write a whole number such as `100`".to_owned(),
        _ if text.starts_with('-') => "write a number above 0".to_owned(),
        _ if text.contains('.') => {
            "write whole numbers, such as `1/2s` for one in two seconds".to_owned()
        }
        _ if text.contains([',', '_', '\'']) && !digits.is_empty() => format!("write `{digits}`"),
        _ => "write a whole number such as `100`".to_owned(),
    };
    Err(format!("{what} `{text}` is not a whole number; {repair}"))
}

fn read_period(text: &str, amount: &str) -> Result<Duration, String> {
    if let Some((_, ticks)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(Duration::from_micros(*ticks));
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return read_units(text).map(Duration::from_micros);
    }
    let fault = format!("`{text}` is not a period");
    match WORDS.iter().rev().find(|(word, _)| looks_like(text, word)) {
        Some((word, _)) => Err(format!("{fault}; write `{amount}/{word}`")),
        None => Err(format!(
            "{fault}; write second, minute, hour, day, week, month, year, or a length such as `10s` or `1h30m`"
        )),
    }
}

/// A length of time such as `1h30m`.
#[cfg(feature = "yaml")]
pub(crate) fn read_length(text: &str) -> Result<Duration, String> {
    read_units(text).map(Duration::from_micros)
}

/// `1h30m` in ticks: numbers with units, from long to short.
fn read_units(text: &str) -> Result<u64, String> {
    let (mut rest, mut ticks, mut shortest) = (text, 0_u64, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, tail) = tail.split_at(letters);
        let Some((_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!(
                "`{text}` is not a period; its units are w, d, h, m, s, ms, as in `1h30m`"
            ));
        };
        if *size >= shortest || number.is_empty() {
            return Err(format!(
                "`{text}` is not a period; write each unit once, the longest first, as in `1h30m`"
            ));
        }
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*size));
        ticks = part.and_then(|part| ticks.checked_add(part)).ok_or_else(|| {
            format!("the period `{text}` is longer than ten years; write a shorter one")
        })?;
        (rest, shortest) = (tail, *size);
    }
    Ok(ticks)
}

/// Slips such as `min`, `minutes`, `Minute`, `hr`.
fn looks_like(text: &str, word: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let stem = text.strip_suffix('s').unwrap_or(&text);
    match stem {
        "" | "m" => false,
        "hr" => word == "hour",
        "yr" => word == "year",
        "wk" => word == "week",
        _ => word.starts_with(stem),
    }
}

/// Writes a period as it is read: a word, or numbers with units.
pub(super) fn write_period(f: &mut fmt::Formatter<'_>, period: u64) -> fmt::Result {
    if let Some((word, _)) = WORDS.iter().find(|(_, ticks)| *ticks == period) {
        return f.write_str(word);
    }
    let mut rest = period;
    for (unit, size) in UNITS {
        if rest >= size {
            write!(f, "{}{unit}", rest / size)?;
            rest %= size;
        }
    }
    Ok(())
}

/// The text as an error quotes it: not too long.
fn shown(text: &str) -> String {
    let mut quoted: String = text.chars().take(TEXT_MAX).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    quoted
}
