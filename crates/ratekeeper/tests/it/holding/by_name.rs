//! Reservations by name: found once, for their time, and no more of them than there may be.
//!
//! Invariant: whoever asks with a name that is used, unknown or over is told so, and changes nothing.

use crate::one_key::{OneKey, TICK, one_key, secs};
use ratekeeper::limiter::{HOLD_TIME, HoldsFull};
use ratekeeper::{HoldId, Limit, Limiter, ManualClock};
use std::time::Duration;

fn reserve(key: &OneKey, units: u64) -> Result<Option<HoldId>, HoldsFull> {
    let reserved = key.rule.reserve("alice", units).by_name().try_now().unwrap()?;
    assert_eq!(reserved.is_allowed(), reserved.hold().is_some());
    Ok(reserved.hold())
}

fn settle(key: &OneKey, hold: HoldId, actual: u64) -> bool {
    key.limiter.settle(hold, actual).try_now().unwrap()
}

/// A key of a limiter with its own bounds for reservations.
fn bounded(limit: &str, most: usize, time: Duration) -> OneKey {
    let clock = ManualClock::new();
    let builder = Limiter::memory().clock(&clock).holds(most, time);
    let limiter = builder.rule("rule", limit).unwrap().build();
    let rule = limiter.rule("rule").unwrap();
    OneKey { limiter, rule, clock }
}

/// Goal: a reservation is settled once, at less, at more or at nothing, by its own name.
/// Method: three of one key; settle each in another way, then all of them again.
#[test]
fn a_reservation_is_settled_once() {
    let key = one_key("100/day");
    let names = [10, 20, 30].map(|units| reserve(&key, units).unwrap().unwrap());
    assert_eq!(key.peek().remaining(), 40);
    assert!(settle(&key, names[0], 4));
    assert_eq!(key.peek().remaining(), 46);
    assert!(settle(&key, names[1], 25));
    assert_eq!(key.peek().remaining(), 41);
    assert!(key.limiter.cancel(names[2]).try_now().unwrap());
    assert_eq!(key.peek().remaining(), 71);
    assert!(names.into_iter().all(|name| !settle(&key, name, 0)), "each is used");
    assert_eq!(key.peek().remaining(), 71);
    let refused = reserve(&key, 72).unwrap();
    assert_eq!((refused, key.peek().remaining()), (None, 71));
}

/// Goal: a name is 16 digits, reads back as itself and nothing else does, and logs do not show it.
/// Method: one that was given, and texts that differ from a name in one way each.
#[test]
fn a_name_survives_the_way_through_a_text() {
    let key = one_key("100/day");
    let name = reserve(&key, 1).unwrap().unwrap();
    assert_eq!((name.to_string().len(), format!("{name:?}")), (16, "HoldId(…)".to_owned()));
    assert!(settle(&key, name.to_string().parse().unwrap(), 0));
    for text in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "+123456789abcdef"]
    {
        let fault = text.parse::<HoldId>().unwrap_err().to_string();
        let told = "is not a hold; send the one of the decision, 16 digits from 0 to f";
        assert_eq!(fault, told, "{text}");
    }
}

/// Goal: a reservation is kept for ten minutes and then stays charged; where it holds permits, for as
/// long as those, which are free then.
/// Method: move the clock to either side of the end.
#[test]
fn a_reservation_ends_with_its_time() {
    assert_eq!(HOLD_TIME, secs(600));
    let key = one_key("100/day");
    let (first, second) =
        (reserve(&key, 10).unwrap().unwrap(), reserve(&key, 10).unwrap().unwrap());
    key.wait(HOLD_TIME - TICK);
    assert!(settle(&key, first, 10));
    key.wait(TICK);
    assert!(!settle(&key, second, 0));
    assert_eq!(key.peek().remaining(), 80);

    let key = one_key(Limit::concurrent(3).hold(secs(30)));
    let (first, second) = (reserve(&key, 2).unwrap().unwrap(), reserve(&key, 1).unwrap().unwrap());
    assert!(settle(&key, first, 2));
    assert_eq!(key.peek().remaining(), 2, "settled, it holds no permit");
    key.wait(secs(30) - TICK);
    assert!(key.ask(3).is_refused());
    key.wait(TICK);
    assert!(key.ask(3).is_allowed(), "its time is over");
    assert!(!settle(&key, second, 0));
}

/// Goal: there are never more than the most; beyond it nothing is charged, and room that comes free is
/// used again.
/// Method: a limiter with room for 65 536, as it comes, and one for two, whose time is short.
#[test]
fn there_is_room_for_so_many() {
    let key = one_key("1000000/day");
    assert!((0..65_536).all(|_| reserve(&key, 1).is_ok()));
    assert!(reserve(&key, 1).is_err());
    assert_eq!(key.peek().remaining(), 1_000_000 - 65_536);

    let key = bounded("100/day", 2, secs(10));
    let first = reserve(&key, 1).unwrap().unwrap();
    reserve(&key, 1).unwrap().unwrap();
    let full = reserve(&key, 1).unwrap_err().to_string();
    assert_eq!(full, "there are 2 holds, which is the most; settle or cancel some first");
    assert_eq!(key.peek().remaining(), 98);
    assert!(settle(&key, first, 1));
    assert!((0..5).all(|_| reserve(&key, 101) == Ok(None)), "a refusal takes no room");
    reserve(&key, 1).unwrap().unwrap();
    assert!(reserve(&key, 1).is_err());
    key.wait(secs(10));
    assert!(reserve(&key, 1).is_ok() && reserve(&key, 1).is_ok() && reserve(&key, 1).is_err());
}
