//! What Envoy is told: codes, limits, times, header fields, bodies and metadata.

use super::{RULES, Stand, about, descriptor, user};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::DescriptorStatus;
use envoy_types::pb::google::protobuf::value::Kind;
use std::time::Duration;

const OK: i32 = 1;
const OVER_LIMIT: i32 = 2;

/// Units of Envoy.
const SECOND: i32 = 1;
const MINUTE: i32 = 2;
const HOUR: i32 = 3;

fn field<'a>(response: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let mut fields = response.response_headers_to_add.iter();
    fields.find(|field| field.key == name).map(|field| &*field.value)
}

fn metadata(response: &RateLimitResponse, name: &str) -> Option<Kind> {
    response.dynamic_metadata.as_ref()?.fields.get(name)?.kind.clone()
}

/// Code, limit, unit, what is left, and seconds until all is there again.
fn figures(status: &DescriptorStatus) -> (i32, u32, i32, u32, i64) {
    let limit = status.current_limit.clone().unwrap_or_default();
    let reset = status.duration_until_reset.unwrap_or_default();
    assert_eq!(reset.nanos, 0, "Envoy drops what is less than a second");
    (status.code, limit.requests_per_unit, limit.unit, status.limit_remaining, reset.seconds)
}

/// Goal: an admitted request and a refused one are told whole: statuses, fields, body, metadata.
/// Method: a limit of three an hour, asked four times.
#[tokio::test]
async fn an_answer_is_whole() {
    let stand = Stand::by(RULES).await;
    for (left, reset) in [(2, 1_200), (1, 2_400), (0, 3_600)] {
        let told = stand.ask(&user("alice")).await;
        assert_eq!(told.overall_code, OK);
        assert_eq!(figures(&told.statuses[0]), (OK, 3, HOUR, left, reset));
        assert_eq!(field(&told, "ratelimit-policy"), Some(r#""users";q=3;w=3600"#));
        assert_eq!(field(&told, "x-ratelimit-remaining"), Some(&*left.to_string()));
        assert_eq!((field(&told, "retry-after"), told.raw_body.len()), (None, 0));
        assert_eq!(metadata(&told, "rule"), Some(Kind::StringValue("users".into())));
        assert_eq!(metadata(&told, "version"), Some(Kind::NumberValue(1.0)));
        assert_eq!(metadata(&told, "source"), Some(Kind::StringValue("store".into())));
        assert_eq!(metadata(&told, "decision"), None);
    }
    stand.clock.advance(Duration::from_millis(500));
    let told = stand.ask(&user("alice")).await;
    assert_eq!(told.overall_code, OVER_LIMIT);
    assert_eq!(figures(&told.statuses[0]), (OVER_LIMIT, 3, HOUR, 0, 3_600));
    assert_eq!(told.statuses[0].current_limit.as_ref().map(|own| &*own.name), Some("users"));
    assert_eq!(field(&told, "retry-after"), Some("1200"));
    assert_eq!(field(&told, "content-type"), Some("application/problem+json"));
    let id = field(&told, "x-ratekeeper-decision").expect("a refusal has a name").to_owned();
    assert_eq!(metadata(&told, "decision"), Some(Kind::StringValue(id.clone())));
    let body: serde_json::Value = serde_json::from_slice(&told.raw_body).expect("a problem");
    assert_eq!((&body["status"], &body["instance"]), (&429.into(), &id.clone().into()));
    assert_eq!(body["violated-policies"], serde_json::json!(["users"]));
    let kept = stand.app.refusals.find(&id).expect("it is kept for who asks why");
    assert_eq!((kept.door, &kept.asked.key[..]), ("envoy", &["alice".to_owned()][..]));
}

/// Goal: a descriptor's status is that of its tightest limit, and statuses are in the order of descriptors,
/// also of those that no rule is for.
/// Method: four descriptors, of which one meets nothing, one two rules, and one a rule that limits nothing.
#[tokio::test]
async fn statuses_are_complete_and_in_order() {
    let stand = Stand::by(RULES).await;
    let request = about(
        "edge",
        vec![
            descriptor(&[("nobody", "x")]),
            descriptor(&[("path", "/a"), ("user", "bob")]),
            descriptor(&[("free", "y")]),
            descriptor(&[("user", "eve")]),
        ],
    );
    let told = stand.ask(&request).await;
    let all: Vec<_> = told.statuses.iter().map(figures).collect();
    let none = (OK, 0, 0, 0, 0);
    assert_eq!(
        all,
        [none, (OK, 2, MINUTE, 1, 30), (OK, 0, 0, u32::MAX, 0), (OK, 3, HOUR, 2, 1_200)]
    );
    let other = stand.ask(&about("elsewhere", vec![descriptor(&[("user", "bob")])])).await;
    assert_eq!((other.overall_code, figures(&other.statuses[0])), (OK, none));
    assert_eq!(metadata(&other, "rule"), Some(Kind::NullValue(0)));
}

/// Goal: a period that no unit is has the nearest, by how many times it is that, with its own amount.
/// Method: periods between two units, and every unit itself.
#[tokio::test]
async fn odd_periods_have_the_nearest_unit() {
    let rules = [("10s", MINUTE), ("5s", SECOND), ("30s", MINUTE), ("90m", HOUR), ("90s", MINUTE)];
    let rule = |(period, _): &(&str, i32)| {
        format!("{{id: r{period}, domain: edge, key: 'descriptor:{period}', limit: 7/{period}}}")
    };
    let text = format!("rules: [{}]", rules.iter().map(rule).collect::<Vec<_>>().join(", "));
    let stand = Stand::by(&text).await;
    for (period, unit) in rules {
        let told = stand.ask(&about("edge", vec![descriptor(&[(period, "x")])])).await;
        let (_, amount, own, ..) = figures(&told.statuses[0]);
        assert_eq!((amount, own), (7, unit), "{period}");
    }
    for (word, unit) in [("day", 4), ("month", 5), ("year", 6), ("week", 7)] {
        let text = format!("rules: [{{id: a, domain: edge, limit: 7/{word}}}]");
        let told = Stand::by(&text).await.ask(&user("x")).await;
        assert_eq!(figures(&told.statuses[0]).2, unit, "{word}");
    }
}

/// Goal: `headers: none` leaves all fields out but those of a refusal.
/// Method: one that passes and one that is refused; the names of all fields.
#[tokio::test]
async fn fields_can_be_left_out() {
    let stand = Stand::by("headers: none\nrules: [{id: a, domain: edge, limit: 1/hour}]").await;
    assert!(stand.ask(&user("x")).await.response_headers_to_add.is_empty());
    let told = stand.ask(&user("x")).await;
    let names: Vec<&str> = told.response_headers_to_add.iter().map(|own| &*own.key).collect();
    assert_eq!(names, ["retry-after", "content-type", "cache-control", "x-ratekeeper-decision"]);
}

/// Goal: closed rules refuse without a wait; rules in shadow refuse nothing, and are told of nowhere.
/// Method: a closed path, and a rule in shadow beyond its limit.
#[tokio::test]
async fn closed_and_shadow_rules_are_told() {
    let stand = Stand::by(RULES).await;
    let told = stand.ask(&about("edge", vec![descriptor(&[("path", "/internal")])])).await;
    assert_eq!((told.overall_code, told.statuses[0].code), (OVER_LIMIT, OVER_LIMIT));
    assert_eq!(field(&told, "retry-after"), None);
    let body: serde_json::Value = serde_json::from_slice(&told.raw_body).expect("a problem");
    assert_eq!((&body["status"], &body["title"]), (&429.into(), &"Too Many Requests".into()));
    for _ in 0..3 {
        let told = stand.ask(&about("edge", vec![descriptor(&[("shadow", "x")])])).await;
        assert_eq!((told.overall_code, figures(&told.statuses[0])), (OK, (OK, 0, 0, 0, 0)));
        assert!(told.response_headers_to_add.is_empty());
    }
}

/// Goal: a rule that several descriptors meet is told of once in header fields, by its tightest answer.
/// Method: two users under one rule, one of whom has less left; then one that is refused.
#[tokio::test]
async fn a_rule_is_named_once() {
    let stand = Stand::by(RULES).await;
    stand.ask(&user("b")).await;
    let both = about("edge", vec![descriptor(&[("user", "a")]), descriptor(&[("user", "b")])]);
    let told = stand.ask(&both).await;
    assert_eq!(field(&told, "ratelimit-policy"), Some(r#""users";q=3;w=3600"#));
    assert_eq!(field(&told, "x-ratelimit-remaining"), Some("1"));
    stand.ask(&both).await;
    let told = stand.ask(&both).await;
    let left: Vec<(i32, u32)> =
        told.statuses.iter().map(|own| (own.code, own.limit_remaining)).collect();
    assert_eq!((told.overall_code, left), (OVER_LIMIT, vec![(OK, 1), (OVER_LIMIT, 0)]));
    let body: serde_json::Value = serde_json::from_slice(&told.raw_body).expect("a problem");
    assert_eq!(body["violated-policies"], serde_json::json!(["users"]));
}
