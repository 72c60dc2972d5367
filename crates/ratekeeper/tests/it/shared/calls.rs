//! Every other call while the store is away: holds, permits, refunds, waits, many keys.
//!
//! Invariant: what a server admitted by itself is given back to its own share, and to nothing else.

use super::{limiter, local};
use crate::one_key::{micros, secs};
use ratekeeper::{Decision, Limit, ManualClock, Source};

/// Goal: a reservation is charged to the share, and settled or cancelled there.
/// Method: two servers, 10 a minute: reserve, settle below and above, cancel.
#[tokio::test]
async fn a_reservation_is_of_the_share() {
    let limiter = limiter(2, &ManualClock::new(), &"10/minute");
    let (rule, left) = (local(&limiter), async || local(&limiter).peek("alice").await.remaining());
    let hold = rule.reserve("alice", 4).await;
    assert!(hold.is_allowed() && hold.source() == Source::Local);
    assert_eq!(left().await, 1);
    hold.settle(1).await;
    assert_eq!(left().await, 4);
    rule.reserve("alice", 3).await.cancel().await;
    assert_eq!(left().await, 4);
    rule.reserve("alice", 1).await.settle(2).await;
    assert_eq!(left().await, 2);
    drop(rule.reserve("alice", 1).await);
    assert_eq!(left().await, 1);
    let refused = rule.reserve("alice", 2).await;
    assert!(refused.is_refused());
    refused.settle(1).await;
    assert_eq!(left().await, 1);
}

/// Goal: the same by name.
/// Method: reserve by name, settle it once, and once more.
#[tokio::test]
async fn a_reservation_by_name_is_of_the_share() {
    let limiter = limiter(2, &ManualClock::new(), &"10/minute");
    let rule = local(&limiter);
    let reserved = rule.reserve("alice", 4).by_name().await.unwrap();
    let hold = reserved.hold().expect("it was admitted");
    assert!(limiter.settle(hold, 1).await);
    assert!(!limiter.settle(hold, 1).await);
    assert_eq!(rule.peek("alice").await.remaining(), 4);
}

/// Goal: of rules that reserve together, one that refuses leaves nothing held, whatever is settled then;
/// one that admits for want of a store holds nothing.
/// Method: reserve under pairs of policies, settle, and look at the share.
#[tokio::test]
async fn reservations_under_several_policies() {
    let limiter = limiter(2, &ManualClock::new(), &"10/minute");
    let left = async || local(&limiter).peek("alice").await.remaining();
    let reserve = async |names: [&'static str; 2], units| {
        limiter.reserve_all(names.map(|name| (name, "alice")), units).unwrap().await
    };
    let hold = reserve(["deny", "local"], 3).await;
    assert!(hold.is_refused());
    hold.settle(3).await;
    assert_eq!(left().await, 5);
    let hold = reserve(["allow", "local"], 3).await;
    assert!(hold.is_allowed());
    assert_eq!(left().await, 2);
    hold.settle(1).await;
    assert_eq!(left().await, 4);
}

/// Goal: permits are of the share, by name and held here; where the rule admits without a store there are
/// none, and where it refuses, none is given.
/// Method: two servers, three at a time: two here.
#[tokio::test]
async fn permits_are_of_the_share() {
    let limiter = limiter(2, &ManualClock::new(), &"3 concurrent");
    let rule = local(&limiter);
    let first = rule.acquire("alice").await;
    assert!(first.is_allowed() && first.source() == Source::Local);
    let second = rule.check("alice").await.permit().expect("it was admitted");
    assert!(rule.acquire("alice").await.is_refused());
    drop(first);
    assert_eq!(rule.peek("alice").await.remaining(), 1);
    assert!(limiter.release(second).await);
    assert!(!limiter.release(second).await);
    assert_eq!(rule.peek("alice").await.remaining(), 2);
    let open = limiter.rule("allow").unwrap();
    assert!(open.acquire("alice").await.is_allowed());
    assert_eq!(open.check("alice").await.permit(), None);
    assert!(limiter.rule("deny").unwrap().acquire("alice").await.is_refused());
}

/// Goal: refunds and resets reach the share, and are answered under every policy.
/// Method: use the share up, give some back, then all.
#[tokio::test]
async fn refunds_and_resets_reach_the_share() {
    let limiter = limiter(2, &ManualClock::new(), &"10/minute");
    let rule = local(&limiter);
    assert!(rule.check("alice").cost(5).await.is_allowed());
    let refunded = rule.refund("alice", 2).await;
    assert_eq!((refunded.source(), refunded.remaining()), (Source::Local, 2));
    assert_eq!(rule.reset("alice").await.remaining(), 5);
    for name in ["allow", "deny"] {
        let rule = limiter.rule(name).unwrap();
        for answer in
            [rule.refund("alice", 1).await, rule.reset("alice").await, rule.peek("alice").await]
        {
            assert!(answer.is_allowed() && answer.is_without_figures(), "{name}: {answer:?}");
        }
    }
}

/// Goal: many keys are decided each by itself.
/// Method: three keys, one of them twice beyond its share of one.
#[tokio::test]
async fn many_keys_are_decided_each_by_itself() {
    let limiter = limiter(2, &ManualClock::new(), &"2/minute");
    let keys = ["alice", "bob", "alice", "carol", "alice"];
    let allowed = async |name| {
        let decisions = limiter.rule(name).unwrap().check_many(&keys).await;
        decisions.iter().map(Decision::is_allowed).collect::<Vec<_>>()
    };
    assert_eq!(allowed("local").await, [true, true, false, true, false]);
    assert_eq!(allowed("allow").await, [true; 5]);
    assert_eq!(allowed("deny").await, [false; 5]);
}

/// Goal: waiting passes at once or is refused at once where there is nobody to wait for, and takes a turn
/// of the share where there is one.
/// Method: under each policy; the share is a turn every two minutes, and the clock is moved to it.
#[tokio::test]
async fn waiting_is_for_a_turn_of_the_share() {
    let clock = ManualClock::new();
    let limiter = limiter(2, &clock, &Limit::per_minute(1).burst(4).shaping());
    assert_eq!(limiter.rule("allow").unwrap().wait("alice").await.source(), Source::FailedOpen);
    let denied = limiter.rule("deny").unwrap().wait("alice").await;
    assert!(denied.is_refused() && denied.source() == Source::FailedClosed);
    let rule = local(&limiter);
    assert!(rule.wait("alice").await.is_allowed());
    let waiting = tokio::spawn({
        let rule = rule.clone();
        async move { rule.wait("alice").await }
    });
    // It is in line as soon as the share has one unit less.
    while rule.peek("alice").await.remaining() > 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(secs(60) - micros(1));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    clock.advance(micros(1));
    let decision = waiting.await.unwrap();
    assert_eq!((decision.source(), decision.delay()), (Source::Local, Some(secs(60))));
}
