//! The sample file of the design, to the letter.
//!
//! Invariant: what each line of it means is written down here.
#![cfg(feature = "jwt")]

use super::{good, text};
use ratekeeper::rule::file::{Auth, RuleFile, Store};
use ratekeeper::rule::{
    CostSpec, Count, FieldForms, KeyKind, Limits, OnMissing, Rollout, RuleSpec, Scope,
};
use ratekeeper::{Algorithm, Limit, OnStoreFailure};
use std::time::Duration;

fn sample() -> RuleFile {
    good(&text("good/sample.yaml"))
}

fn rule<'f>(file: &'f RuleFile, id: &str) -> &'f RuleSpec {
    file.rules.rules.iter().find(|rule| &*rule.id == id).unwrap()
}

fn limit(text: &str) -> Limit {
    text.parse().unwrap()
}

fn shown<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// Goal: the head of the sample means what its comments say.
/// Method: look at each setting.
#[test]
fn the_head_of_the_sample_means_what_it_says() {
    let RuleFile { rules, settings, .. } = sample();
    assert_eq!(settings.store, Store::Memory);
    assert_eq!((settings.memory_keys, settings.nodes), (Some(1_000_000), Some(4)));
    let listen = &settings.listen;
    let listen = [&listen.api, &listen.admin, &listen.grpc, &listen.resp].map(Option::as_deref);
    let at = |port: &'static str| Some(port);
    let expected = ["127.0.0.1:8080", "127.0.0.1:8090", "127.0.0.1:8081", "127.0.0.1:6380"].map(at);
    assert_eq!(listen, expected);
    assert_eq!(settings.admin_token_file.as_deref(), Some("admin.token"));
    assert_eq!(settings.state_dir.as_deref(), Some("state"));
    assert_eq!(settings.region.as_deref(), Some("eu"));
    assert!(!settings.rules_from_redis && settings.switch_file.is_none());
    let gateway = settings.gateway.unwrap();
    assert_eq!(gateway.listen, "127.0.0.1:8000");
    assert_eq!(gateway.tls, Some(("cert.pem".into(), "key.pem".into())));
    let [route] = gateway.routes.as_slice() else { panic!("{:?}", gateway.routes) };
    assert_eq!(route.path.to_string(), "/api/**");
    assert_eq!(shown(&route.upstreams), ["http://127.0.0.1:9000"]);
    assert_eq!(route.auth, Auth::Required);
    assert_eq!(shown(&rules.tiers), ["free", "pro", "enterprise"]);
    assert_eq!(rules.fields, FieldForms::default());
    let [health, inside] = rules.exempt.as_slice() else { panic!("{:?}", rules.exempt) };
    assert_eq!(shown(&health.matches.paths), ["/healthz"]);
    assert_eq!(shown(&inside.ips), ["10.0.0.0/8"]);
    assert!(health.ips.is_empty() && inside.matches.paths.is_empty());
}

/// Goal: rules of the sample by tier, with exceptions, and by log mean what they say.
/// Method: look at each field of two rules.
#[test]
fn api_and_login_mean_what_they_say() {
    let file = sample();
    let api = rule(&file, "api");
    assert_eq!(shown(&api.matches.paths), ["/api/**"]);
    assert_eq!(shown(&api.matches.except), ["/api/export"]);
    assert_eq!(api.key.parts, [[KeyKind::User, KeyKind::ApiKey, KeyKind::Ip]]);
    let free = vec![limit("60/minute"), limit("5000/day")];
    let pro = vec![limit("600/minute burst 100")];
    assert_eq!(api.limits, Limits::ByTier(vec![free, pro, vec![limit("10000/minute")]]));
    assert_eq!(api.rollout, Rollout::Percent(10));
    assert_eq!((api.on_missing, api.scope), (OnMissing::Ip, Scope::Fleet));
    assert_eq!((api.cost.clone(), api.count), (CostSpec::Fixed(1), Count::All));
    assert_eq!(api.on_store_failure, OnStoreFailure::Allow);
    let login = rule(&file, "login");
    assert_eq!(shown(&login.matches.methods), ["POST"]);
    let log = limit("20/minute").with_algorithm(Algorithm::SlidingWindowLog).unwrap();
    assert_eq!(login.limits, Limits::Same(vec![log]));
    assert_eq!(login.count, Count::Failures);
    assert_eq!(login.on_store_failure, OnStoreFailure::Deny);
    assert_eq!(login.rollout, Rollout::Percent(100));
}

/// Goal: shaping, permits and costs of the sample mean what they say.
/// Method: look at what is special of three rules.
#[test]
fn partner_exports_and_tokens_mean_what_they_say() {
    let file = sample();
    let partner = rule(&file, "partner");
    assert_eq!(partner.key.parts, [[KeyKind::User], [KeyKind::Route]]);
    let shaping = Limit::per_second(10).burst(20).shaping().max_wait(Duration::from_secs(2));
    assert_eq!(partner.limits, Limits::Same(vec![shaping.build().unwrap()]));
    let exports = rule(&file, "exports");
    let permits = Limit::concurrent(4).hold(Duration::from_secs(60)).build().unwrap();
    assert_eq!(exports.limits, Limits::Same(vec![permits]));
    let tokens = rule(&file, "tokens");
    let header =
        CostSpec::Header { name: "x-estimated-tokens".into(), default: 4_000, max: 32_000 };
    assert_eq!(tokens.cost, header);
    assert_eq!(tokens.settle.as_deref(), Some("x-total-tokens"));
    assert_eq!(tokens.limits, Limits::Same(vec![limit("200000/minute"), limit("2000000/day")]));
}

/// Goal: the short rules and the override of the sample mean what they say.
/// Method: look at what is special of each.
#[test]
fn the_last_lines_mean_what_they_say() {
    let file = sample();
    let org = rule(&file, "org");
    assert_eq!(org.key.parts, [[KeyKind::Claim("org_id".into())]]);
    let window = |text| limit(text).with_algorithm(Algorithm::FixedWindow).unwrap();
    assert_eq!(org.limits, Limits::Same(vec![window("100000/month")]));
    assert_eq!(org.trial, Some(Limits::Same(vec![window("80000/month")])));
    let node = rule(&file, "node");
    assert_eq!((node.scope, &node.key.parts[0][0]), (Scope::Instance, &KeyKind::Global));
    let edge = rule(&file, "edge");
    assert_eq!(edge.domain.as_deref(), Some("envoy"));
    assert_eq!(edge.matches.descriptors, [("scope".into(), Some("per-ip".into()))]);
    assert_eq!(edge.key.parts, [[KeyKind::Descriptor("remote_address".into())]]);
    let [own] = file.rules.overrides.as_slice() else { panic!("{:?}", file.rules.overrides) };
    assert_eq!((&*own.rule, own.key.as_slice()), ("api", &[(None, "acme".into())][..]));
    assert_eq!(own.limits, [limit("5000/minute")]);
    assert_eq!(own.until, Some(1_798_761_600));
    assert_eq!(own.reason.as_deref(), Some("migration"));
}

/// Goal: the same file as JSON means the same.
/// Method: compare what both are read as.
#[test]
fn the_sample_as_json_means_the_same() {
    let json = good(&text("good/sample.json"));
    assert_eq!(format!("{json:?}"), format!("{:?}", sample()));
}
