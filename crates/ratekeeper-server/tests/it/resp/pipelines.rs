//! Pipelines: decided in one pass, answered in order, as one by one.

use super::{RULES, Stand, Value, command};
use proptest::prelude::*;

/// Goal: replies are in order, whatever stands between checks, and what follows sees what came before.
/// Method: checks, an echo, faults and a reset in one piece.
#[test]
fn replies_are_in_order() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    let words: [&[&str]; 8] = [
        &["RK.CHECK", "small", "a"],
        &["ECHO", "one"],
        &["RK.CHECK", "small", "a", "COST", "x"],
        &["RK.CHECK", "small", "a"],
        &["RK.RESET", "small", "a"],
        &["RK.CHECK", "small", "a", "COST", "2"],
        &["NONE"],
        &["RK.CHECK", "small", "a"],
    ];
    client.send(&words.map(command).concat());
    let mut first = || match client.reply() {
        Value::List(items) => items[0].clone(),
        other => other,
    };
    assert_eq!((first(), first()), (1.into(), "one".into()));
    assert!(matches!(first(), Value::Error(text) if text.starts_with("ERR COST")));
    assert_eq!((first(), first(), first()), (1.into(), "OK".into(), 1.into()));
    assert!(matches!(first(), Value::Error(text) if text.starts_with("ERR unknown")));
    assert_eq!(first(), 0.into());
}

/// Goal: a pipeline of more than is decided together is answered as a whole.
/// Method: 1 500 checks in one piece under a limit of 1 000.
#[test]
fn long_pipelines_are_answered() {
    let stand =
        Stand::by("rules: [{id: big, key: user, limit: 1000/minute, algorithm: fixed_window}]");
    let mut client = stand.client();
    client.send(&command(&["RK.CHECK", "big", "a"]).repeat(1_500));
    let admitted =
        (0..1_500).filter(|_| matches!(client.reply(), Value::List(items) if items[0] == 1.into()));
    assert_eq!(admitted.count(), 1_000);
    assert_eq!(client.ask(&["PING"]), "PONG".into());
}

/// Goal: a change of rules holds for the next pipeline of a connection that has asked before.
/// Method: one connection, and two changes of the rules between its commands.
#[test]
fn the_next_pipeline_meets_the_rules_that_are_live() {
    let stand = Stand::by("rules: [{id: a, key: user, limit: 1/minute}]");
    let mut client = stand.client();
    let limit = |client: &mut super::Client| match client.ask(&["RK.CHECK", "a", "x"]) {
        Value::List(items) => items[1].clone(),
        other => other,
    };
    assert_eq!(limit(&mut client), 1.into());
    stand.app.limiter.reload("rules: [{id: a, key: user, limit: 7/minute}]").expect("it is fine");
    assert_eq!(limit(&mut client), 7.into());
    stand.app.limiter.reload("rules: [{id: b, key: user, limit: 7/minute}]").expect("it is fine");
    assert!(matches!(limit(&mut client), Value::Error(_)));
}

/// One command of a generated pipeline.
fn any_command() -> impl Strategy<Value = Vec<String>> {
    let rule =
        prop::sample::select(vec!["small", "tiers", "queue", "free", "shadow", "closed", "none"]);
    let key = prop::sample::select(vec!["a", "b", "vip"]);
    let check = (rule, key.clone(), 0_u64..4).prop_map(|(rule, key, cost)| {
        ["RK.CHECK", rule, key, "COST", &cost.to_string()].map(str::to_owned).to_vec()
    });
    let throttle = (key, 0_u64..4).prop_map(|(key, cost)| {
        ["CL.THROTTLE", key, "2", "3", "60", &cost.to_string()].map(str::to_owned).to_vec()
    });
    prop_oneof![4 => check, 2 => throttle, 1 => Just(vec!["PING".to_owned()])]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Goal: a pipeline is decided as its commands would be one by one.
    /// Method: the same commands on two servers, in one piece, and each by itself.
    #[test]
    fn a_pipeline_is_its_commands(commands in prop::collection::vec(any_command(), 1..60)) {
        let (one, other) = (Stand::by(RULES), Stand::by(RULES));
        let (mut piped, mut single) = (one.client(), other.client());
        let words: Vec<Vec<&str>> =
            commands.iter().map(|own| own.iter().map(|word| &**word).collect()).collect();
        piped.send(&words.iter().map(|own| command(own)).collect::<Vec<_>>().concat());
        for own in &words {
            prop_assert_eq!(piped.reply(), single.ask(own), "{:?}", own);
        }
    }
}
