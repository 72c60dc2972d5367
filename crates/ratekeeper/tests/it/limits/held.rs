//! Limits that make a request wait or hold: how they are written, and what is refused.

use crate::one_key::{millis, one_key, secs};
use ratekeeper::limit::AMOUNT_MAX;
use ratekeeper::{Algorithm, Limit, LimitBuilder, PermitId};
use std::time::Duration;

/// Goal: what makes no sense together is refused, and the message says what to write.
/// Method: compare the message of each pair that does not go together, and of each bound.
#[test]
fn nonsense_about_turns_and_permits_is_refused() {
    let (four, ten) = (Limit::concurrent(4), Limit::per_second(10));
    let table: [(LimitBuilder, &str); 13] = [
        (Limit::concurrent(0), "a limit of 0 admits nothing; write `deny: true` to close a route"),
        (
            Limit::concurrent(AMOUNT_MAX + 1),
            "an amount of 1099511627777 is above 1099511627776, the most at a time; \
             write `unlimited` for no limit",
        ),
        (four.burst(2), "a concurrency limit has no burst; leave it out"),
        (
            four.algorithm(Algorithm::TokenBucket),
            "a concurrency limit has no algorithm; leave it out",
        ),
        (
            four.shaping(),
            "a concurrency limit cannot be shaping; write an amount per period for that",
        ),
        (
            four.max_wait(secs(1)),
            "a concurrency limit cannot be shaping; write an amount per period for that",
        ),
        (four.hold(Duration::ZERO), "the hold is shorter than a millisecond; write a longer one"),
        (four.hold(Duration::MAX), "the hold is longer than ten years; write a shorter one"),
        (
            ten.hold(secs(1)),
            "hold is for concurrency limits; leave it out, or write `4 concurrent`",
        ),
        (
            ten.shaping().algorithm(Algorithm::TokenBucket),
            "token_bucket cannot be shaping; use leaky_bucket",
        ),
        (
            ten.max_wait(secs(1)),
            "max_wait is for shaping limits; leave it out, or write `mode: shaping`",
        ),
        (
            ten.shaping().max_wait(Duration::from_nanos(1_500_100)),
            "the max_wait is not a whole number of microseconds; round it",
        ),
        (ten.shaping().burst(0), "a burst of 0 admits nothing; write at least `burst 1`"),
    ];
    for (builder, message) in table {
        assert_eq!(builder.build().unwrap_err().to_string(), message);
    }
}

/// Goal: a limit tells what it is, and reads back as it was written.
/// Method: look at a concurrency limit and a shaping one, by text and built.
#[test]
fn a_limit_tells_what_it_is() {
    let four: Limit = "4 concurrent".parse().unwrap();
    assert_eq!(four, Limit::concurrent(4).build().unwrap());
    assert_eq!((four.to_string().as_str(), four.amount()), ("4 concurrent", Some(4)));
    assert_eq!((four.period(), four.burst(), four.algorithm()), (None, None, None));
    assert_eq!((four.hold(), four.is_shaping()), (Some(secs(60)), false));
    assert!(four.with_algorithm(Algorithm::FixedWindow).is_err());

    let line = Limit::per_second(10).burst(20).shaping().max_wait(Duration::ZERO).build().unwrap();
    assert_eq!((line.to_string().as_str(), line.hold()), ("10/second burst 20", None));
    assert_eq!((line.is_shaping(), line.algorithm()), (true, Some(Algorithm::LeakyBucket)));
    assert_eq!(line.with_algorithm(Algorithm::LeakyBucket).unwrap(), line);
    assert!(!line.with_algorithm(Algorithm::TokenBucket).unwrap().is_shaping());
}

/// Goal: a decision reads as a sentence, with its delay, or with what is taken.
/// Method: compare the sentences of a line and of permits.
#[test]
fn decisions_read_as_sentences() {
    let line = one_key(Limit::per_second(10).burst(2).shaping());
    assert_eq!(line.ask(1).to_string(), "allowed, 1 of 2 left");
    assert_eq!(line.ask(1).to_string(), "allowed after 0.1 s, 0 of 2 left");
    assert_eq!(line.ask(1).to_string(), "refused, retry in 0.1 s");
    line.wait(millis(150));
    assert_eq!(line.ask(1).to_string(), "allowed after 50 ms, 0 of 2 left");
    let permits = one_key("2 concurrent");
    assert_eq!(permits.ask(1).to_string(), "allowed, 1 of 2 left");
    assert_eq!(permits.ask(2).to_string(), "refused, only 1 of 2 left");
    assert_eq!(permits.ask(1).to_string(), "allowed, 0 of 2 left");
    assert_eq!(permits.ask(1).to_string(), "refused, all 2 are taken");
}

/// Goal: the name of a permit reads back as itself and nothing else does; logs do not show it.
/// Method: write and read one; read texts that are nearly names.
#[test]
fn a_permit_has_a_name() {
    let id = one_key("2 concurrent").ask(1).permit().unwrap();
    let text = id.to_string();
    assert_eq!(text.parse::<PermitId>(), Ok(id));
    assert!(!format!("{id:?}").contains(&text));
    for other in ["", "0000000000000000", "0123456789ABCDEF", "123456789abcdef", "+123456789abcdef"]
    {
        let error = other.parse::<PermitId>().unwrap_err().to_string();
        assert_eq!(error, "is not a permit; send the one of the decision, 16 digits from 0 to f");
    }
}
