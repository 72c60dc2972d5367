//! The breaker and the bound on what is under way, before a server that does not answer.
//!
//! Invariant: a store that is in trouble is not given more of it.

use super::fleet::{ms, runtime, turn};
use ratekeeper::outage::Class;
use ratekeeper::{Limiter, RedisConfig, Source};
use ratekeeper_testing::fake::{Answer, Fake};
use ratekeeper_testing::load::Witness;
use ratekeeper_testing::servers::wait_until;
use std::time::Duration;

/// Most calls under way at one server.
const IN_FLIGHT: usize = 1_024;

fn limiter(fake: &Fake, deadline: Duration) -> (Limiter, Witness) {
    let (config, witness): (RedisConfig, _) = (fake.url().parse().unwrap(), Witness::default());
    let builder = Limiter::redis(config.deadline(deadline)).observer(witness.clone());
    (builder.rule("open", "1000000/second").unwrap().build(), witness)
}

/// Goal: while the breaker is open, no call reaches the server but a probe, one after the other, some
/// ten in a second; then the server is used again.
/// Method: a server that says nothing, and one that says that it is loading; calls all the time.
#[test]
fn while_the_breaker_is_open_only_probes_reach_the_server() {
    let _turn = turn();
    let runtime = runtime();
    for trouble in [Answer::Silence, Answer::error("LOADING Redis is loading")] {
        let fake = Fake::start(trouble.clone());
        let (limiter, witness) = limiter(&fake, ms(15));
        let rule = limiter.rule("open").unwrap();
        let ask = || runtime.block_on(async { rule.check("alice").await.source() });
        wait_until("the breaker opens", || {
            assert_eq!(ask(), Source::FailedOpen);
            witness.count(Class::Open) > 0
        });
        fake.clear();
        let start = tokio::time::Instant::now();
        let mut calls = 0;
        while start.elapsed() < ms(2_000) {
            assert_eq!(ask(), Source::FailedOpen);
            calls += 1;
            std::thread::sleep(ms(1));
        }
        let probes = fake.calls();
        assert!(probes.iter().all(|call| call.name == "EVAL"), "only probes: {probes:?}");
        // Ten, give or take a half and the time that one takes; fewer if the machine is busy.
        assert!((6..=50).contains(&probes.len()), "{calls} calls, {} probes", probes.len());
        for (one, next) in probes.iter().zip(&probes[1..]) {
            let apart = next.at - one.at;
            assert!(apart >= ms(40), "{trouble:?}: two probes {apart:?} apart");
        }
        fake.answer(Answer::Well);
        wait_until("the server is used again", || ask() == Source::Store);
    }
}

/// Goal: before a server that hangs, a bounded number of calls is under way, and all are answered; the
/// room that they took is given back.
/// Method: three thousand calls at once at a server that says nothing; then as many as there is room
/// for at one that answers.
#[test]
fn calls_under_way_are_bounded_and_all_are_answered() {
    let _turn = turn();
    let runtime = runtime();
    let fake = Fake::start(Answer::Silence);
    let (limiter, witness) = limiter(&fake, ms(1_000));
    let at_once = |count: usize| {
        let call = |number: usize| {
            let rule = limiter.rule("open").unwrap();
            async move { rule.check(number.to_string()).await.source() }
        };
        let calls: Vec<_> = (0..count).map(|number| runtime.spawn(call(number))).collect();
        let start = tokio::time::Instant::now();
        let answers: Vec<Source> =
            calls.into_iter().map(|call| runtime.block_on(call).unwrap()).collect();
        assert!(start.elapsed() <= ms(1_005) * 3, "the last after {:?}", start.elapsed());
        answers
    };
    let answers = at_once(3_000);
    assert!(answers.iter().all(|source| *source == Source::FailedOpen));
    // They go together: two at a time, each of which is waited for as long as the last who is in it.
    assert!((2..=8).contains(&fake.count("EVALSHA")), "{} scripts", fake.count("EVALSHA"));
    let classes = [Class::Busy, Class::Timeout, Class::Open];
    assert_eq!(classes.map(|class| witness.count(class)).iter().sum::<u64>(), 3_000, "{witness:?}");
    assert!(witness.count(Class::Timeout) <= 2 * IN_FLIGHT as u64);
    fake.answer(Answer::Well);
    let rule = limiter.rule("open").unwrap();
    wait_until("the server is used again", || {
        runtime.block_on(async { rule.check("alice").await.source() }) == Source::Store
    });
    assert!(at_once(IN_FLIGHT).iter().all(|source| *source == Source::Store));
}
