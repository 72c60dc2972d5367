//! What buckets hold, as people who look on are told it; and rules that come with the question.
//!
//! Invariant: what is expected is counted by hand, from what was charged and when.

use super::stand::Stand;
use ratekeeper::limiter::State;
use ratekeeper::{Algorithm, Limit, LimitBuilder, Rule};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn seconds(amount: u64, algorithm: Algorithm) -> LimitBuilder {
    Limit::per(amount, Duration::from_secs(10)).algorithm(algorithm)
}

/// The one state of alice, and the time by the store.
async fn state(rule: &Rule) -> (Duration, State) {
    let held = rule.state("alice", 100).await.expect("the store is there");
    let [state] = &held.states[..] else { panic!("one limit has one bucket: {held:?}") };
    (held.at, state.clone())
}

/// Windows are told with their edges, and are empty once they are over; a log with its entries.
pub(super) async fn windows(stand: Stand) {
    // The clock starts at an edge of every window of ten seconds.
    let start = stand.clock.now();
    let (_, rule) = stand.one(seconds(10, Algorithm::FixedWindow));
    assert_eq!(state(&rule).await, (start, State::Window { start, count: 0 }));
    stand.clock.advance(9 * SECOND);
    assert!(rule.check("alice").cost(3).await.is_allowed());
    assert_eq!(state(&rule).await, (start + 9 * SECOND, State::Window { start, count: 3 }));
    stand.clock.advance(SECOND);
    let next = start + 10 * SECOND;
    assert_eq!(state(&rule).await.1, State::Window { start: next, count: 0 });

    let (_, rule) = stand.one(seconds(10, Algorithm::SlidingWindowCounter));
    assert!(rule.check("alice").cost(4).await.is_allowed());
    assert_eq!(state(&rule).await.1, State::Windows { start: next, current: 4, previous: 0 });
    stand.clock.advance(15 * SECOND);
    assert!(rule.check("alice").await.is_allowed());
    let later = next + 10 * SECOND;
    assert_eq!(state(&rule).await.1, State::Windows { start: later, current: 1, previous: 4 });
    stand.clock.advance(20 * SECOND);
    let last = later + 20 * SECOND;
    assert_eq!(state(&rule).await.1, State::Windows { start: last, current: 0, previous: 0 });

    let (_, rule) = stand.one(seconds(10, Algorithm::SlidingWindowLog));
    let at = stand.clock.now();
    assert!(rule.check("alice").cost(2).await.is_allowed());
    stand.clock.advance(9 * SECOND);
    assert!(rule.check("alice").await.is_allowed());
    let entries = |state| match state {
        State::Log(entries) => entries.iter().map(|own| (own.at - at, own.cost)).collect(),
        other => panic!("a log has entries: {other:?}"),
    };
    let told: Vec<_> = entries(state(&rule).await.1);
    assert_eq!(told, [(Duration::ZERO, 2), (9 * SECOND, 1)]);
    stand.clock.advance(SECOND);
    let told: Vec<_> = entries(state(&rule).await.1);
    assert_eq!(told, [(9 * SECOND, 1)]);
    let newest = rule.state("alice", 0).await.expect("the store is there");
    assert_eq!(newest.states, [State::Log(Vec::new())]);
}

/// Buckets and queues are told by the time at which they are whole; permits by how many are held.
pub(super) async fn buckets(stand: Stand) {
    let policing = Limit::per_second(1).burst(10).algorithm(Algorithm::LeakyBucket);
    for limit in [Limit::per_second(1).burst(10), policing, policing.shaping()] {
        let (_, rule) = stand.one(limit);
        let now = stand.clock.now();
        let State::Bucket { whole_at } = state(&rule).await.1 else { panic!("it is a bucket") };
        assert!(whole_at <= now, "nobody has used it");
        for _ in 0..3 {
            assert!(rule.check("alice").await.is_allowed());
        }
        let whole = State::Bucket { whole_at: now + 3 * SECOND };
        assert_eq!(state(&rule).await, (now, whole.clone()));
        stand.clock.advance(SECOND);
        assert_eq!(state(&rule).await, (now + SECOND, whole));
    }
    // A rate of which a tick drains so many parts takes two words.
    let (_, rule) = stand.one(Limit::per(4099, Duration::from_secs(60)));
    let now = stand.clock.now();
    assert!(rule.check("alice").cost(4099).await.is_allowed());
    assert_eq!(state(&rule).await.1, State::Bucket { whole_at: now + 60 * SECOND });
    let (_, rule) = stand.one(Limit::concurrent(4));
    assert!(rule.check("alice").cost(3).await.is_allowed());
    assert_eq!(state(&rule).await.1, State::Permits(3));
}

/// A rule that comes with the question has buckets of its own, finds them again, and keeps what was used as a
/// release does.
pub(super) async fn given(stand: Stand) {
    for algorithm in Algorithm::ALL {
        let (limiter, rule) = stand.one(seconds(10, algorithm));
        let given = |amount| limiter.given("rule", seconds(amount, algorithm)).expect("it is one");
        assert!(given(10).check("alice").cost(10).await.is_allowed(), "{algorithm}");
        assert!(given(10).check("alice").await.is_refused(), "{algorithm}: it is the same bucket");
        assert_eq!(
            rule.peek("alice").await.remaining(),
            10,
            "{algorithm}: the release has its own"
        );
        let more = given(50).after(&given(10));
        assert_eq!(more.peek("alice").await.remaining(), 40, "{algorithm}: 10 used of 50");
        let _ = more.reset("alice").await;
        assert_eq!(more.peek("alice").await.remaining(), 50, "{algorithm}");
    }
}
