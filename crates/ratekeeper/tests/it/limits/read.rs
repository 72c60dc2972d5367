//! Limits as text.
//!
//! Invariant: what a limit displays reads back as the same limit, and what is refused is quoted,
//! explained and put right.

use crate::laws::cases;
use proptest::prelude::*;
use ratekeeper::algorithm::PERIOD_MAX;
use ratekeeper::limit::{AMOUNT_MAX, PERIOD_MIN};
use ratekeeper::{Algorithm, Limit};
use std::time::Duration;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 24 * 3600 * SECOND;

/// Goal: the forms of the documentation mean what they say.
/// Method: a table of texts with amount, period in ticks and burst.
#[test]
fn good_texts_are_read() {
    let table = [
        ("100/minute", 100, 60 * SECOND, 100),
        ("100/minute burst 20", 100, 60 * SECOND, 20),
        ("  3/second   burst\t9 ", 3, SECOND, 9),
        ("1/hour", 1, 3600 * SECOND, 1),
        ("5000/day", 5_000, DAY, 5_000),
        ("7/week", 7, 7 * DAY, 7),
        ("30/month", 30, 30 * DAY, 30),
        ("1/year", 1, 365 * DAY, 1),
        ("1/2s", 1, 2 * SECOND, 1),
        ("10/1h30m", 10, 5400 * SECOND, 10),
        ("10/1w2d3h4m5s6ms7us", 10, 9 * DAY + 11_045 * SECOND + 6_007, 10),
        ("5/100ms", 5, 100_000, 5),
        ("5/1ms", 5, PERIOD_MIN, 5),
        ("5/1000us", 5, PERIOD_MIN, 5),
        ("5/90m", 5, 5400 * SECOND, 5),
        ("1/3650d", 1, PERIOD_MAX, 1),
        ("0012/second", 12, SECOND, 12),
        ("1099511627776/day", AMOUNT_MAX, DAY, AMOUNT_MAX),
        ("1/second burst 315360000", 1, SECOND, 315_360_000),
    ];
    for (text, amount, ticks, burst) in table {
        let limit: Limit = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(limit.amount(), Some(amount), "{text}");
        assert_eq!(limit.period(), Some(Duration::from_micros(ticks)), "{text}");
        assert_eq!(limit.burst(), Some(burst), "{text}");
        assert_eq!(limit.algorithm(), Some(Algorithm::TokenBucket), "{text}");
    }
}

/// Goal: no limit at all is a word, and has no figures.
/// Method: read it, and ask for each.
#[test]
fn unlimited_is_a_word() {
    let limit: Limit = " unlimited ".parse().unwrap();
    assert_eq!(limit, Limit::unlimited());
    assert_eq!((limit.amount(), limit.period(), limit.burst()), (None, None, None));
    assert_eq!(limit.algorithm(), None);
    assert_eq!(limit.to_string(), "unlimited");
}

/// Texts that are refused, with what the message says after the quoted text.
const BAD: &[(&str, &str)] = &[
    ("", "is empty; write one such as `100/minute`"),
    ("  ", "is empty; write one such as `100/minute`"),
    ("100", "has no period; write one such as `100/minute`"),
    (
        "100/",
        "`` is not a period; write second, minute, hour, day, week, month, year, or a \
         length such as `10s` or `1h30m`",
    ),
    ("/minute", "the amount `` is not a whole number; write a whole number such as `100`"),
    ("0/minute", "a limit of 0 admits nothing; write `deny: true` to close a route"),
    ("-1/minute", "the amount `-1` is not a whole number; write a number above 0"),
    ("+1/minute", "the amount `+1` is not a whole number; write a whole number such as `100`"),
    (
        "0.5/second",
        "the amount `0.5` is not a whole number; write whole numbers, such as `1/2s` for \
         one in two seconds",
    ),
    ("1,000/minute", "the amount `1,000` is not a whole number; write `1000`"),
    ("1_000/minute", "the amount `1_000` is not a whole number; write `1000`"),
    ("1'000/minute", "the amount `1'000` is not a whole number; write `1000`"),
    ("ten/minute", "the amount `ten` is not a whole number; write a whole number such as `100`"),
    (
        "99999999999999999999/minute",
        "the amount `99999999999999999999` is too large; write `unlimited` for no limit",
    ),
    (
        "1099511627777/minute",
        "an amount of 1099511627777 is above 1099511627776, the most that token_bucket \
         takes; write `unlimited` for no limit",
    ),
    ("100/min", "`min` is not a period; write `100/minute`"),
    ("100/minutes", "`minutes` is not a period; write `100/minute`"),
    ("100/Minute", "`Minute` is not a period; write `100/minute`"),
    ("100/sec", "`sec` is not a period; write `100/second`"),
    ("100/h", "`h` is not a period; write `100/hour`"),
    ("100/hrs", "`hrs` is not a period; write `100/hour`"),
    ("100/mo", "`mo` is not a period; write `100/month`"),
    ("100/yr", "`yr` is not a period; write `100/year`"),
    ("100/wk", "`wk` is not a period; write `100/week`"),
    ("100/d", "`d` is not a period; write `100/day`"),
    (
        "100/m",
        "`m` is not a period; write second, minute, hour, day, week, month, year, or a \
         length such as `10s` or `1h30m`",
    ),
    (
        "100/fortnight",
        "`fortnight` is not a period; write second, minute, hour, day, week, month, year, \
         or a length such as `10s` or `1h30m`",
    ),
    ("100/5", "`5` is not a period; its units are w, d, h, m, s, ms, as in `1h30m`"),
    ("100/1.5s", "`1.5s` is not a period; its units are w, d, h, m, s, ms, as in `1h30m`"),
    ("100/1minute", "`1minute` is not a period; its units are w, d, h, m, s, ms, as in `1h30m`"),
    (
        "100/30m1h",
        "`30m1h` is not a period; write each unit once, the longest first, as in `1h30m`",
    ),
    ("100/1h2h", "`1h2h` is not a period; write each unit once, the longest first, as in `1h30m`"),
    (
        "100/99999999999999999999s",
        "the period `99999999999999999999s` is longer than ten years; write a shorter one",
    ),
    (
        "100/18446744073709551615w",
        "the period `18446744073709551615w` is longer than ten years; write a shorter one",
    ),
    ("100/3651d", "the period is longer than ten years; write a shorter one with a smaller amount"),
    ("100/0s", "the period is shorter than a millisecond; write a longer one with a larger amount"),
    (
        "100/999us",
        "the period is shorter than a millisecond; write a longer one with a larger \
         amount",
    ),
    ("100/minute burst", "the burst has no number; write one such as `burst 20`"),
    ("100/minute burst 0", "a burst of 0 admits nothing; write at least `burst 1`"),
    (
        "100/minute burst x",
        "the burst `x` is not a whole number; write a whole number such as `100`",
    ),
    (
        "100/minute burst 1.5",
        "the burst `1.5` is not a whole number; write whole numbers, such as `1/2s` for \
         one in two seconds",
    ),
    ("100/minute burst 1099511627777", "a burst of 1099511627777 is above the most, 1099511627776"),
    (
        "1/day burst 3651",
        "a burst of 3651 would take more than ten years to fill at this rate; lower the \
         burst",
    ),
    (
        "100/minute 20",
        "is not a limit; write `AMOUNT/PERIOD`, `AMOUNT/PERIOD burst N` or `AMOUNT concurrent`",
    ),
    (
        "100/minute burst 20 please",
        "is not a limit; write `AMOUNT/PERIOD`, `AMOUNT/PERIOD burst N` or `AMOUNT concurrent`",
    ),
    ("100 per minute", "write `100/minute`"),
    (
        "100 / minute",
        "is not a limit; write `AMOUNT/PERIOD`, `AMOUNT/PERIOD burst N` or `AMOUNT concurrent`",
    ),
    ("0 concurrent", "a limit of 0 admits nothing; write `deny: true` to close a route"),
    ("-5 concurrent", "the amount `-5` is not a whole number; write a number above 0"),
    ("Unlimited", "has no period; write one such as `Unlimited/minute`"),
];

/// Goal: a refused text is quoted, the fault named and the repair proposed, in plain words.
/// Method: a table of slips, each with its message in full.
#[test]
fn bad_texts_are_refused_in_plain_words() {
    for (text, fault) in BAD {
        let error = text.parse::<Limit>().expect_err(text);
        assert_eq!(error.to_string(), format!("`{text}`: {fault}"));
    }
}

/// Goal: a text of any length is answered with a short message.
/// Method: a thousand digits.
#[test]
fn a_long_text_is_not_looked_at() {
    let error = "1".repeat(1_000).parse::<Limit>().expect_err("no limit is that long");
    let shown = "1".repeat(128);
    let message = format!("`{shown}…`: is longer than any limit; write one such as `100/minute`");
    assert_eq!(error.to_string(), message);
}

/// Goal: no message carries a control character of the text that it quotes into a log.
/// Method: a bell and an escape in each place of a text.
#[test]
fn no_message_carries_a_control_character() {
    for text in ["1/min\u{7}ute", "\u{1b}[2J/minute", "1/\u{7}", "1/minute burst \u{7}", "a\nb c d"]
    {
        let message = text.parse::<Limit>().expect_err(text).to_string();
        assert!(!message.contains(char::is_control), "{message:?}");
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: what a limit displays reads back as the same limit.
    /// Method: random limits within the bounds, from round periods to odd ones.
    #[test]
    fn what_a_limit_displays_reads_back(
        amount in prop_oneof![1..=1_000_u64, 1..=AMOUNT_MAX],
        period in prop_oneof![
            PERIOD_MIN..=PERIOD_MAX,
            (1..=3_650_u64).prop_map(|days| days * DAY),
            (1..=10_000_u64).prop_map(|seconds| seconds * SECOND),
        ],
        burst in proptest::option::of(prop_oneof![1..=1_000_u64, 1..=AMOUNT_MAX]),
    ) {
        let mut builder = Limit::per(amount, Duration::from_micros(period));
        if let Some(burst) = burst {
            builder = builder.burst(burst);
        }
        let Ok(limit) = builder.build() else { return Ok(()) };
        prop_assert_eq!(limit.to_string().parse::<Limit>(), Ok(limit));
    }

    /// Goal: a window's limit displays like a bucket's, and reads back but for its algorithm.
    /// Method: random windows, read back and given their algorithm again.
    #[test]
    fn a_window_displays_without_its_algorithm(
        amount in 1..=10_000_u64, period in PERIOD_MIN..=PERIOD_MAX, which in 0..3_usize,
    ) {
        let algorithm = Algorithm::ALL[which];
        let builder = Limit::per(amount, Duration::from_micros(period));
        let limit = builder.algorithm(algorithm).build().unwrap();
        let read = limit.to_string().parse::<Limit>().unwrap();
        prop_assert_eq!(read.algorithm(), Some(Algorithm::TokenBucket));
        prop_assert_eq!(read.with_algorithm(algorithm), Ok(limit));
    }

    /// Goal: no text makes the reader panic, and every refusal quotes what it refuses.
    /// Method: random words of the characters that limits are made of, and of others.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-z/ .,_'µ\u{7}-]{0,40}|\\PC{0,40}") {
        if let Err(error) = text.parse::<Limit>() {
            prop_assert!(error.to_string().starts_with('`'));
        }
    }
}
