//! What Envoy can ask: descriptors that are one decision, hits of every kind, limits of its own.

use super::{RULES, Stand, about, descriptor, user};
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use ratekeeper::limiter::Switch;
use ratekeeper::rule::Rollout;
use std::time::Duration;

const OK: i32 = 1;
const OVER_LIMIT: i32 = 2;

/// The same request with hits for its only descriptor.
fn hits(mut request: RateLimitRequest, units: u64, gives: bool) -> RateLimitRequest {
    request.descriptors[0].hits_addend = Some(UInt64Value { value: units });
    request.descriptors[0].is_negative_hits = gives;
    request
}

/// The code, and what each descriptor has left.
fn left(told: &RateLimitResponse) -> (i32, Vec<(i32, u32)>) {
    let each = told.statuses.iter().map(|own| (own.code, own.limit_remaining)).collect();
    (told.overall_code, each)
}

/// Goal: all descriptors are charged, or none is: a refusal by one leaves the others as they were.
/// Method: one that has one left beside one that has three; then both again.
#[tokio::test]
async fn descriptors_are_one_decision() {
    let stand = Stand::by(RULES).await;
    let both = about(
        "edge",
        vec![descriptor(&[("user", "a")]), descriptor(&[("scope", "strict"), ("ip", "1")])],
    );
    assert_eq!(left(&stand.ask(&both).await), (OK, vec![(OK, 2), (OK, 0)]));
    for _ in 0..5 {
        let refused = (OVER_LIMIT, vec![(OK, 2), (OVER_LIMIT, 0)]);
        assert_eq!(left(&stand.ask(&both).await), refused);
    }
    assert_eq!(left(&stand.ask(&user("a")).await), (OK, vec![(OK, 1)]), "the refusals were free");
    let twice = about("edge", vec![descriptor(&[("user", "b")]), descriptor(&[("user", "b")])]);
    assert_eq!(left(&stand.ask(&twice).await).0, OK);
    assert_eq!(left(&stand.ask(&twice).await).0, OVER_LIMIT, "each descriptor takes its own");
    assert_eq!(left(&stand.ask(&user("b")).await), (OK, vec![(OK, 0)]));
}

/// Goal: hits are those of the descriptor, else those of the request, else one; none asks whether there is one
/// left, and takes nothing; negative ones give back, at most what was used, and are always OK.
/// Method: a limit of three; each kind of hits in turn, with what is left after it.
#[tokio::test]
async fn hits_are_taken_asked_for_and_given_back() {
    let stand = Stand::by(RULES).await;
    let all = |units| RateLimitRequest { hits_addend: units, ..user("a") };
    assert_eq!(left(&stand.ask(&all(2)).await), (OK, vec![(OK, 1)]));
    assert_eq!(
        left(&stand.ask(&hits(all(9), 2, false)).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 1)])
    );
    assert_eq!(left(&stand.ask(&hits(user("a"), 0, false)).await), (OK, vec![(OK, 1)]));
    assert_eq!(left(&stand.ask(&all(0)).await), (OK, vec![(OK, 0)]), "nothing is one");
    let empty = stand.ask(&hits(user("a"), 0, false)).await;
    assert_eq!(left(&empty), (OVER_LIMIT, vec![(OVER_LIMIT, 0)]), "there is none left");
    assert!(
        empty
            .response_headers_to_add
            .iter()
            .any(|own| own.key == "retry-after" && own.value == "1200")
    );
    assert_eq!(left(&stand.ask(&hits(user("a"), 1, true)).await), (OK, vec![(OK, 1)]));
    assert_eq!(
        left(&stand.ask(&hits(user("a"), 99, true)).await),
        (OK, vec![(OK, 3)]),
        "no more than was used"
    );
    assert_eq!(left(&stand.ask(&hits(user("new"), 5, true)).await), (OK, vec![(OK, 3)]));
}

/// Goal: a descriptor that only asks, and finds nothing left, refuses before the others have taken anything.
/// Method: one that is spent, then one that is not, beside one that takes.
#[tokio::test]
async fn who_only_asks_refuses_for_all() {
    let stand = Stand::by(RULES).await;
    for _ in 0..3 {
        stand.ask(&user("spent")).await;
    }
    let mut both =
        about("edge", vec![descriptor(&[("user", "spent")]), descriptor(&[("user", "fresh")])]);
    both.descriptors[0].hits_addend = Some(UInt64Value { value: 0 });
    assert_eq!(left(&stand.ask(&both).await), (OVER_LIMIT, vec![(OVER_LIMIT, 0), (OK, 3)]));
    let metrics = stand.app.observe.metrics(&stand.app.limiter, 0).await.expect("metrics");
    let labels = r#"rule="users",outcome="refused",source="store",door="envoy""#;
    let counted = format!("ratekeeper_decisions_total{{{labels}}} 1");
    assert!(metrics.contains(&counted), "it is a refusal, and counted");
    both.descriptors[0].entries[0].value = "idle".into();
    assert_eq!(left(&stand.ask(&both).await), (OK, vec![(OK, 3), (OK, 2)]));
}

/// Goal: a limit that comes with a descriptor takes the place of rules, for all entries together, in a domain
/// that there is; none at all closes.
/// Method: the same entries with a limit of two, other entries, none at all, and a domain that nobody knows.
#[tokio::test]
async fn limits_may_come_with_descriptors() {
    let stand = Stand::by(RULES).await;
    let own = |requests_per_unit, unit, name: &str, domain: &str| {
        let mut request = about(domain, vec![descriptor(&[("user", name), ("plan", "x")])]);
        request.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit, unit });
        request
    };
    assert_eq!(left(&stand.ask(&own(2, 2, "a", "edge")).await), (OK, vec![(OK, 1)]));
    assert_eq!(left(&stand.ask(&own(2, 2, "a", "edge")).await), (OK, vec![(OK, 0)]));
    assert_eq!(
        left(&stand.ask(&own(2, 2, "a", "edge")).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 0)])
    );
    assert_eq!(left(&stand.ask(&own(2, 2, "b", "edge")).await), (OK, vec![(OK, 1)]));
    assert_eq!(left(&stand.ask(&user("a")).await), (OK, vec![(OK, 2)]), "the rule was not asked");
    assert_eq!(
        left(&stand.ask(&own(0, 2, "a", "edge")).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 0)])
    );
    assert_eq!(
        left(&stand.ask(&own(0, 2, "a", "none")).await),
        (OK, vec![(OK, 0)]),
        "nobody knows this domain"
    );
}

/// Goal: nobody waits: of a rule that shapes, only what has its turn now passes, and takes its place.
/// Method: a queue at one a second, asked on both sides of the next turn.
#[tokio::test]
async fn only_what_has_its_turn_passes() {
    let stand = Stand::by(RULES).await;
    let ask = async || {
        let request = about("edge", vec![descriptor(&[("queue", "x")])]);
        stand.ask(&request).await.overall_code
    };
    assert_eq!((ask().await, ask().await), (OK, OVER_LIMIT));
    let looks = hits(about("edge", vec![descriptor(&[("queue", "x")])]), 0, false);
    assert_eq!(stand.ask(&looks).await.overall_code, OVER_LIMIT, "its turn is not now");
    stand.clock.advance(Duration::from_micros(999_999));
    assert_eq!(ask().await, OVER_LIMIT);
    stand.clock.advance(Duration::from_micros(1));
    assert_eq!((ask().await, ask().await), (OK, OVER_LIMIT));
}

/// Goal: many at once are exact: of 500 calls at the same moment as many pass as may.
/// Method: ten connections, fifty streams on each, let go together.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn races_are_exact() {
    let stand = Stand::by("rules: [{id: a, domain: edge, limit: 100/hour}]").await;
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(500));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let client = stand.client().await;
        for _ in 0..50 {
            let (mut client, barrier) = (client.clone(), barrier.clone());
            calls.spawn(async move {
                barrier.wait().await;
                client.ask(&user("x")).await.expect("an answer").overall_code
            });
        }
    }
    let codes = calls.join_all().await;
    assert_eq!(codes.iter().filter(|code| **code == OK).count(), 100);
    assert_eq!(codes.iter().filter(|code| **code == OVER_LIMIT).count(), 400);
}

/// Goal: what is asked of several rules for one descriptor is judged for each, whatever stands before them; a
/// look needs what one hit costs.
/// Method: looks at a key that is spent, with a rule in shadow, one on trial and a closed one in shadow before it.
#[tokio::test]
async fn looks_are_judged_behind_shadows() {
    let rules = "rules:
  - {id: dark, domain: edge, key: 'descriptor:user', limit: 9/hour, rollout: shadow}
  - {id: shut, domain: edge, match: {descriptors: {user: spent}}, deny: true, rollout: shadow}
  - {id: tried, domain: edge, key: 'descriptor:plan', limit: 9/hour, trial: 1/hour}
  - {id: users, domain: edge, key: 'descriptor:user', limit: 10/hour, cost: 4}
";
    let stand = Stand::by(rules).await;
    for code in [OK, OK, OVER_LIMIT] {
        assert_eq!(stand.ask(&user("spent")).await.overall_code, code);
    }
    assert_eq!(
        stand.ask(&hits(user("spent"), 0, false)).await.overall_code,
        OVER_LIMIT,
        "2 are not 4"
    );
    let mut both =
        about("edge", vec![descriptor(&[("plan", "x")]), descriptor(&[("user", "spent")])]);
    both.descriptors.iter_mut().for_each(|own| own.hits_addend = Some(UInt64Value { value: 0 }));
    assert_eq!(left(&stand.ask(&both).await).0, OVER_LIMIT);
    assert_eq!(stand.ask(&hits(user("fresh"), 0, false)).await.overall_code, OK);
}

/// Goal: what a refused request would give back stays; exceptions for requests say nothing of descriptors; a
/// switch for all reaches limits that come with descriptors.
/// Method: one request that takes and gives back; a file with exceptions; a switch.
#[tokio::test]
async fn a_refused_request_changes_nothing() {
    let stand = Stand::by(
        "tiers: [free]\nexempt: [{except: ['/api/**']}, {tier: free}]\n\
         rules: [{id: users, domain: edge, key: 'descriptor:user', limit: 3/hour}]",
    )
    .await;
    for _ in 0..3 {
        stand.ask(&user("a")).await;
    }
    let mut both = about("edge", vec![descriptor(&[("user", "a")]), descriptor(&[("user", "a")])]);
    both.descriptors[1].is_negative_hits = true;
    assert_eq!(stand.ask(&both).await.overall_code, OVER_LIMIT);
    assert_eq!(
        left(&stand.ask(&hits(user("a"), 0, false)).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 0)])
    );
    let mut own = user("b");
    own.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit: 0, unit: 2 });
    assert_eq!(stand.ask(&own).await.overall_code, OVER_LIMIT);
    let switch = Switch { rollout: Rollout::Off, until: None, reason: None };
    stand.app.limiter.switch("*", Some(switch));
    assert_eq!(stand.ask(&own).await.overall_code, OK);
    assert_eq!(stand.ask(&user("a")).await.overall_code, OK);
}
