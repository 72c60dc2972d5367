//! Every door keeps one law: the same traffic is decided alike, figure by figure, as far as each can say it.
//!
//! Invariant: what is expected is the library's own decision, which the laws of `ratekeeper` hold against an oracle.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ratekeeper_testing::doors::{
    Authorize, Check, CheckKey, Envoy, Gateway, Layer, Library, Resp, Rules, Step, same,
};
use std::path::PathBuf;

/// Limits of every algorithm, none of which divides evenly.
const RATES: [Rules; 6] = [
    rule("3/7s", "algorithm: fixed_window"),
    rule("3/7s", "algorithm: sliding_window_log"),
    rule("7/10s", "algorithm: sliding_window_counter"),
    rule("3/7s burst 5", "algorithm: token_bucket"),
    rule("3/7s burst 5", "algorithm: leaky_bucket"),
    rule("1/1ms", "algorithm: token_bucket"),
];

const fn rule(limit: &'static str, manner: &'static str) -> Rules {
    Rules { limit, manner, beside: "" }
}

/// Traffic of two callers: often at the same moment, at the edges of the period, and now and then after a while; costs
/// that fit, and some that never do.
fn traffic() -> impl Strategy<Value = Vec<Step>> {
    let after = prop_oneof![
        4 => Just(0), 2 => 1..1_000_u64, 2 => 1_000_000..3_000_000_u64,
        1 => prop::sample::select(vec![2_333_333, 2_333_334, 6_999_999, 7_000_000, 9_999_999, 10_000_000]),
    ];
    let cost = prop_oneof![6 => Just(1), 2 => 2..4_u64, 1 => Just(9)];
    let step = (after, prop::sample::select(vec!["alice", "bob"]), cost);
    let step = step.prop_map(|(after, who, cost)| Step { after, who, cost });
    prop::collection::vec(step, 1..25)
}

/// Bytes of stack that a server within a test within a test runner may take, without optimisation.
const STACK: usize = 16 << 20;

/// Does some work on a stack that is large enough.
fn apart(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.expect("a thread starts").join().expect("what it says holds");
    });
}

/// Runs traffic through a door, which is made anew for each.
fn uphold(cases: u32, run: impl AsyncFn(Rules, Vec<Step>) + Sync) {
    apart(|| uphold_here(cases, &run));
}

fn uphold_here(cases: u32, run: &impl AsyncFn(Rules, Vec<Step>)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    for rules in RATES {
        let outcome = TestRunner::new(config.clone()).run(&traffic(), |steps| {
            runtime.block_on(run(rules.clone(), steps));
            Ok(())
        });
        let fault = outcome.err().map(|fault| fault.to_string());
        assert_eq!(fault, None, "{rules:?}");
    }
}

/// Goal: a key under a rule is decided as a request of that caller is.
/// Method: generated traffic under each limit, figure by figure.
#[test]
fn the_library_by_name_decides_as_by_request() {
    uphold(40, async |rules, steps| same(&rules, &mut Library::new(&rules), &steps).await);
}

/// Goal: so does the layer.
/// Method: the same, by header fields and bodies.
#[test]
fn the_layer_decides_as_the_library() {
    uphold(40, async |rules, steps| same(&rules, &mut Layer::new(&rules), &steps).await);
}

/// Goal: so does the check API, asked about a request and about a key.
/// Method: the same, by its JSON.
#[test]
fn the_check_api_decides_as_the_library() {
    uphold(20, async |rules, steps| same(&rules, &mut Check::new(&rules).await, &steps).await);
    uphold(20, async |rules, steps| same(&rules, &mut CheckKey::new(&rules).await, &steps).await);
}

/// Goal: so does forward-auth.
/// Method: the same, by header fields and bodies.
#[test]
fn forward_auth_decides_as_the_library() {
    uphold(20, async |rules, steps| same(&rules, &mut Authorize::new(&rules).await, &steps).await);
}

/// Goal: so does the gateway.
/// Method: the same, before a server that always says yes.
#[test]
fn the_gateway_decides_as_the_library() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("doors-gateway");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    uphold(20, async |rules, steps| {
        same(&rules, &mut Gateway::new(&rules, &folder).await, &steps).await;
    });
}

/// Goal: so does Envoy's service.
/// Method: the same, by statuses, and by the fields and bodies for Envoy's client.
#[test]
fn envoys_service_decides_as_the_library() {
    uphold(20, async |rules, steps| same(&rules, &mut Envoy::new(&rules).await, &steps).await);
}

/// Goal: so does Redis' protocol.
/// Method: the same, by its numbers.
#[test]
fn redis_protocol_decides_as_the_library() {
    uphold(20, async |rules, steps| same(&rules, &mut Resp::new(&rules).await, &steps).await);
}

/// Goal: doors that tell turns tell the same ones; Envoy's lets pass what has its turn now.
/// Method: a queue that fills, drains, and is too long for one of them.
#[test]
fn turns_are_told_alike() {
    let rules = rule("1/second burst 4", "algorithm: leaky_bucket, mode: shaping, max_wait: 3s");
    apart(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let step = |after, cost| Step { after, who: "alice", cost };
            let steps = [
                step(0, 1),
                step(0, 1),
                step(5, 2),
                step(0, 1),
                step(1_000_000, 1),
                step(9_000_000, 1),
            ];
            same(&rules, &mut Library::new(&rules), &steps).await;
            same(&rules, &mut Check::new(&rules).await, &steps).await;
            same(&rules, &mut CheckKey::new(&rules).await, &steps).await;
            same(&rules, &mut Resp::new(&rules).await, &steps).await;
            let now = [step(0, 1), step(1_000_000, 1), step(1_000_000, 1)];
            same(&rules, &mut Envoy::new(&rules).await, &now).await;
        });
    });
}

/// Goal: several limits and several rules are one decision at every door that meets all rules.
/// Method: a caller's own limits beside one for all, so that either may refuse first.
#[test]
fn several_rules_are_one_decision_everywhere() {
    apart(several_rules);
}

fn several_rules() {
    let beside = "- {id: all, match: {path: /r}, key: global, limit: 6/20s, algorithm: fixed_window}\n\
                  - {id: all-e, domain: edge, limit: 6/20s, algorithm: fixed_window}\n";
    let rules = Rules { limit: "[4/7s, 9/1m]", manner: "algorithm: token_bucket", beside };
    let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let single = traffic().prop_map(|mut steps| {
        // The rule for all has no cost of its own.
        steps.iter_mut().for_each(|step| step.cost = 1);
        steps
    });
    let outcome = TestRunner::new(config).run(&single, |steps| {
        runtime.block_on(async {
            same(&rules, &mut Layer::new(&rules), &steps).await;
            same(&rules, &mut Check::new(&rules).await, &steps).await;
            same(&rules, &mut Authorize::new(&rules).await, &steps).await;
            same(&rules, &mut Envoy::new(&rules).await, &steps).await;
        });
        Ok(())
    });
    assert_eq!(outcome.err().map(|fault| fault.to_string()), None);
}
