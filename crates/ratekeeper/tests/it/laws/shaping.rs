//! The pure queue, against the oracle: whoever asks is told their turn.
//!
//! Invariant: time goes forward, since turns that were told are kept by those who were told.

use super::account::{MINUTE, SECOND, verdict};
use super::cases;
use super::trace::share_of;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ratekeeper::algorithm::bucket::{Arrival, Bucket};
use ratekeeper::algorithm::shaping::Shaping;
use ratekeeper::algorithm::{Retry, Verdict};
use ratekeeper_testing::oracle::{self, Entry, Holding, Queue};
use std::num::NonZeroU64;

type Rate = (u64, u64, u64);

fn rates() -> impl Strategy<Value = Rate> {
    let real = [(3, SECOND), (7, MINUTE), (10_007, MINUTE), (1, SECOND), (4_097, SECOND)];
    let small = (1..=12_u64, 1..=40_u64);
    (prop_oneof![select(real.to_vec()), small], 1..=15_u64)
        .prop_map(|((amount, period), burst)| (amount, period, burst))
}

fn bucket((amount, period, burst): Rate) -> Bucket {
    let nonzero = |value| NonZeroU64::new(value).expect("no zeros here");
    Bucket::new(nonzero(amount), nonzero(period), nonzero(burst)).expect("within the bounds")
}

/// So many 65536th parts of the time that a full queue takes.
fn share((amount, period, burst): Rate, share: u16) -> u64 {
    share_of(burst * period / amount + 2, share)
}

fn expected(entry: Entry) -> Verdict {
    let told = verdict(entry.answer);
    let retry_after = if told.allowed() { Retry::delayed(entry.delay) } else { told.retry_after };
    Verdict { retry_after, ..told }
}

/// Whether a hold is settled as its bucket's, if it is the last turn; else only what was used beyond
/// counts.
fn settle(key: &mut oracle::Bucket, now: u64, hold: oracle::Hold, actual: u64) -> Verdict {
    let last = key.mark(now) == hold.mark || hold.cost == 0;
    let actual = if last { actual } else { actual.max(hold.cost) };
    verdict(oracle::settle(key, now, hold, actual))
}

proptest! {
    #![proptest_config(cases(8_000))]

    /// Goal: a queue admits, delays and refuses as specified, with its longest wait and the caller's.
    /// Method: random traces of told turns against the oracle's queue.
    #[test]
    fn a_queue_answers_as_specified(
        rate in rates(), longest in proptest::option::of(any::<u16>()),
        steps in vec((any::<u16>(), 0..3_u8, 0..5_u64, proptest::option::of(any::<u16>())), 1..40),
    ) {
        let longest = longest.map(|ticks| share(rate, ticks));
        let shaping = Shaping::new(bucket(rate), longest.unwrap_or(u64::MAX));
        let mut oracle = Queue::new(rate.0, rate.1, rate.2, longest);
        let (mut arrival, mut now, mut retry) = (Arrival::default(), 1_000 * SECOND, 0);
        for (time, how, cost, patience) in steps {
            now += match how {
                0 => 0,
                1 => retry,
                _ => share(rate, time) / 4,
            };
            let patience = patience.map(|ticks| share(rate, ticks));
            let before = arrival;
            let told;
            (told, arrival) = shaping.charge(arrival, now, cost, patience.unwrap_or(u64::MAX));
            prop_assert_eq!(told, expected(oracle.tell(now, cost, patience)), "{} at {}", cost, now);
            prop_assert!(told.allowed() && cost > 0 || arrival == before, "a refusal wrote");
            retry = told.retry_after.ticks().unwrap_or(0);
        }
    }

    /// Goal: turns are given back from the end alone: a hold in front of another is used, whatever it
    /// cost.
    /// Method: random traces of holds and refunds against the oracle's bucket, whose mark says who is
    /// the last.
    #[test]
    fn a_turn_is_given_back_only_from_the_end(
        rate in rates(), steps in vec((any::<u16>(), 0..6_u8, 0..5_u64, any::<u8>()), 1..40),
    ) {
        let shaping = Shaping::new(bucket(rate), u64::MAX);
        let mut oracle = oracle::Bucket::new(rate.0, rate.1, rate.2);
        let (mut arrival, mut now) = (Arrival::default(), 1_000 * SECOND);
        let mut holds: Vec<(Arrival, oracle::Hold)> = Vec::new();
        for (time, how, units, which) in steps {
            now += if which % 2 == 0 { 0 } else { share(rate, time) / 8 };
            let (told, expected) = match how {
                0 => {
                    let told;
                    (told, arrival) = shaping.refund(arrival, now, units);
                    (told, verdict(oracle::refund(&mut oracle, now, units)))
                }
                1 | 2 if !holds.is_empty() => {
                    let (until, hold) = holds.remove(usize::from(which) % holds.len());
                    let told;
                    (told, arrival) = shaping.settle(arrival, now, until, hold.cost, units);
                    (told, settle(&mut oracle, now, hold, units))
                }
                _ => {
                    let (told, next) = shaping.charge(arrival, now, units, u64::MAX);
                    let hold = oracle::reserve(&mut oracle, now, units);
                    prop_assert_eq!(told.allowed(), hold.is_some());
                    arrival = next;
                    holds.extend(hold.map(|hold| (arrival, hold)));
                    let told = shaping.charge(arrival, now, 0, u64::MAX).0;
                    let delay = told.reset_after;
                    prop_assert_eq!(told.retry_after, Retry::delayed(delay), "a look is told its turn");
                    let told = Verdict { retry_after: Retry::NOW, ..told };
                    (told, verdict(oracle::ask(&mut oracle, now, 0)))
                }
            };
            prop_assert_eq!(told, expected);
        }
    }
}
