//! Limits built in code.
//!
//! Invariant: the builder checks the same bounds as the reader, with the same words.

use ratekeeper::algorithm::{PERIOD_MAX, UnknownAlgorithm};
use ratekeeper::limit::{AMOUNT_MAX, COUNTER_MAX, LOG_MAX};
use ratekeeper::{Algorithm, Limit, LimitBuilder};
use std::time::Duration;

fn refused(builder: LimitBuilder) -> String {
    builder.build().expect_err("the limit makes no sense").to_string()
}

/// Goal: the constructors mean their period.
/// Method: each beside the text of the same limit.
#[test]
fn the_constructors_are_the_words_of_the_texts() {
    let table = [
        (Limit::per_second(5), "5/second"),
        (Limit::per_minute(5), "5/minute"),
        (Limit::per_hour(5), "5/hour"),
        (Limit::per_day(5), "5/day"),
        (Limit::per(5, Duration::from_millis(1_500)), "5/1s500ms"),
        (Limit::per_minute(100).burst(20), "100/minute burst 20"),
        (Limit::per_minute(100).burst(100), "100/minute"),
    ];
    for (builder, text) in table {
        let limit = builder.build().unwrap();
        assert_eq!(limit, text.parse().unwrap(), "{text}");
        assert_eq!(limit.to_string(), text);
        assert_eq!(Limit::try_from(builder), Ok(limit), "{text}");
    }
}

/// Goal: nonsense is refused in code as it is in text.
/// Method: each kind of nonsense, with the message in full.
#[test]
fn nonsense_is_refused() {
    let micro = Duration::from_micros(1);
    let table = [
        (Limit::per_second(0), "a limit of 0 admits nothing; write `deny: true` to close a route"),
        (Limit::per_second(10).burst(0), "a burst of 0 admits nothing; write at least `burst 1`"),
        (
            Limit::per(10, Duration::ZERO),
            "the period is shorter than a millisecond; write a longer one with a larger amount",
        ),
        (
            Limit::per(10, Duration::from_micros(PERIOD_MAX) + micro),
            "the period is longer than ten years; write a shorter one with a smaller amount",
        ),
        (
            Limit::per(10, Duration::MAX),
            "the period is longer than ten years; write a shorter one with a smaller amount",
        ),
        (
            Limit::per(10, Duration::from_nanos(1_000_001)),
            "the period is not a whole number of microseconds; round it",
        ),
        (
            Limit::per_second(AMOUNT_MAX + 1),
            "an amount of 1099511627777 is above 1099511627776, the most that token_bucket takes; \
             write `unlimited` for no limit",
        ),
        (
            Limit::per_second(10).burst(AMOUNT_MAX + 1),
            "a burst of 1099511627777 is above the most, 1099511627776",
        ),
        (
            Limit::per_day(1).burst(3_651),
            "a burst of 3651 would take more than ten years to fill at this rate; lower the burst",
        ),
        (
            Limit::per_second(LOG_MAX + 1).algorithm(Algorithm::SlidingWindowLog),
            "an amount of 10001 is above 10000, the most that sliding_window_log takes; \
             a log remembers each request, so take another algorithm",
        ),
        (
            Limit::per_second(COUNTER_MAX + 1).algorithm(Algorithm::SlidingWindowCounter),
            "an amount of 137438953472 is above 137438953471, the most that sliding_window_counter takes",
        ),
        (
            Limit::per_second(10).burst(5).algorithm(Algorithm::FixedWindow),
            "fixed_window has no burst; leave it out, or use token_bucket",
        ),
    ];
    for (builder, message) in table {
        assert_eq!(refused(builder), message);
    }
}

/// Goal: each algorithm takes its largest amount.
/// Method: build the largest of each, over the shortest and the longest period.
#[test]
fn the_largest_limits_are_taken() {
    for algorithm in Algorithm::ALL {
        let most = match algorithm {
            Algorithm::SlidingWindowLog => LOG_MAX,
            Algorithm::SlidingWindowCounter => COUNTER_MAX,
            _ => AMOUNT_MAX,
        };
        for period in [Duration::from_millis(1), Duration::from_micros(PERIOD_MAX)] {
            let limit = Limit::per(most, period).algorithm(algorithm).build().unwrap();
            assert_eq!((limit.amount(), limit.burst()), (Some(most), Some(most)), "{algorithm}");
        }
    }
}

/// Goal: a limit can be counted in another way, if that way can count it.
/// Method: from a bucket to each algorithm and back; with a burst, a window refuses; a large amount
/// is too much for a log; unlimited stays unlimited.
#[test]
fn a_limit_is_counted_in_another_way() {
    let limit = Limit::per_minute(100).build().unwrap();
    for algorithm in Algorithm::ALL {
        let other = limit.with_algorithm(algorithm).unwrap();
        assert_eq!(other.algorithm(), Some(algorithm));
        assert_eq!((other.amount(), other.period()), (limit.amount(), limit.period()));
        assert_eq!(other.with_algorithm(Algorithm::TokenBucket), Ok(limit));
        assert_eq!(Limit::unlimited().with_algorithm(algorithm), Ok(Limit::unlimited()));
    }

    let burst = Limit::per_minute(100).burst(20).build().unwrap();
    let leaky = burst.with_algorithm(Algorithm::LeakyBucket).unwrap();
    assert_eq!(leaky.burst(), Some(20));
    let error = burst.with_algorithm(Algorithm::SlidingWindowLog).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sliding_window_log has no burst; leave it out, or use token_bucket"
    );

    let large = Limit::per_minute(LOG_MAX + 1).build().unwrap();
    assert!(large.with_algorithm(Algorithm::SlidingWindowLog).is_err());
    assert!(large.with_algorithm(Algorithm::SlidingWindowCounter).is_ok());
}

/// Goal: algorithms are named as in rule files, and a wrong name is answered with the right ones.
/// Method: every name and back, and a name that is none.
#[test]
fn algorithms_are_read_by_their_names() {
    let names = Algorithm::ALL.map(|algorithm| algorithm.to_string());
    assert_eq!(
        names,
        [
            "fixed_window",
            "sliding_window_log",
            "sliding_window_counter",
            "token_bucket",
            "leaky_bucket"
        ]
    );
    for (algorithm, name) in Algorithm::ALL.into_iter().zip(names) {
        assert_eq!(name.parse(), Ok(algorithm));
    }
    let error: UnknownAlgorithm = "gcra".parse::<Algorithm>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`gcra` is not an algorithm; write one of fixed_window, sliding_window_log, \
         sliding_window_counter, token_bucket, leaky_bucket"
    );
    assert_eq!(Algorithm::default(), Algorithm::TokenBucket);
}
