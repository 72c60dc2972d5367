//! One store for both regions, which is far for one of them: 20 ms each way.
//!
//! Invariant: a far server decides by the store, or as each rule was told, and always says which.

use super::{address, nodes};
use crate::setup::until;
use ratekeeper::{Decision, Limiter, Source};
use ratekeeper_testing::chaos::{Proxy, Way};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The distance, one way.
const ONE_WAY: Duration = Duration::from_millis(20);

/// What each rule admits in all.
const LIMIT: u64 = 100;

const RULES: &str = "
nodes: 4
rules:
  - {id: open, key: user, limit: 100/day}
  - {id: closed, key: user, limit: 100/day, on_store_failure: deny}
  - {id: local, key: user, limit: 100/day, on_store_failure: local}
";

/// Calls that each server has under way at a time.
const AT_ONCE: usize = 8;

/// A store, two servers beside it, and two far from it.
struct Fleet {
    _server: Server,
    way: Proxy,
    near: Vec<Limiter>,
    far: Vec<Limiter>,
}

/// With this deadline for far servers, as files say it.
fn fleet(deadline: &str) -> Fleet {
    let server = Server::start(Kind::Redis);
    let way = Proxy::start(address(&server), 2);
    way.set_both(Way::delayed(ONE_WAY));
    let near = nodes(&format!("store: {{url: '{}', deadline: 5s}}\n{RULES}", server.url()));
    let far = nodes(&format!("store: {{url: '{}'{deadline}}}\n{RULES}", way.url()));
    Fleet { _server: server, way, near, far }
}

/// Makes so many calls, a few at a time: each answer, and how long it took.
async fn ask(node: Limiter, rule: &'static str, count: usize) -> Vec<(Decision, Duration)> {
    let mut answers = Vec::new();
    let mut calls = JoinSet::new();
    for _ in 0..count {
        if calls.len() == AT_ONCE {
            answers.extend(calls.join_next().await.map(Result::unwrap));
        }
        let rule = node.rule(rule).unwrap();
        calls.spawn(async move {
            let start = Instant::now();
            (rule.check("alice").await, start.elapsed())
        });
    }
    answers.extend(calls.join_all().await);
    answers
}

/// Goal: with a deadline beyond the distance far servers count exactly, with those beside the store.
/// Method: all four ask for more than there is at the same time. Whatever a busy machine made too late is
/// refused, and may have been charged; all else is the store's, and far from it takes the way at least.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn far_servers_decide_exactly_within_their_deadline() {
    let fleet = fleet(", deadline: 200ms");
    for node in fleet.near.iter().chain(&fleet.far) {
        until("it is connected", async || node.verify().await.is_ok()).await;
    }
    let mut nodes = JoinSet::new();
    for (node, is_far) in
        fleet.near.iter().map(|node| (node, false)).chain(fleet.far.iter().map(|node| (node, true)))
    {
        let node = node.clone();
        nodes.spawn(async move { (is_far, ask(node, "closed", 80).await) });
    }
    let (mut admitted, mut far_stored, mut late) = (0, 0, 0);
    for (is_far, answers) in nodes.join_all().await {
        for (decision, took) in answers {
            if decision.source() == Source::DeniedCache {
                assert!(decision.is_refused());
                continue;
            }
            if decision.source() != Source::Store {
                assert_eq!((decision.source(), is_far), (Source::FailedClosed, true));
                late += 1;
                continue;
            }
            admitted += u64::from(decision.is_allowed());
            far_stored += u64::from(is_far);
            assert!(!is_far || took >= 2 * ONE_WAY, "{took:?} for a far answer");
        }
    }
    assert!(admitted <= LIMIT && admitted + late >= LIMIT, "{admitted} admitted, {late} too late");
    assert!(far_stored > 0 && late <= 80, "{far_stored} far answers are the store's, {late} late");
}

/// Goal: with the usual deadline, which is shorter than the way, each rule does on far servers what it was told,
/// and those beside the store notice nothing but what was charged.
/// Method: use each rule on each far server; then look at the store from beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn far_servers_do_as_told_if_the_way_is_longer_than_the_deadline() {
    let fleet = fleet("");
    let share = LIMIT / 4;
    for node in &fleet.far {
        for (rule, source, admitted) in [
            ("open", Source::FailedOpen, 2 * share),
            ("closed", Source::FailedClosed, 0),
            ("local", Source::Local, share),
        ] {
            let answers = ask(node.clone(), rule, 2 * share as usize).await;
            let strays = answers.iter().filter(|(decision, _)| decision.source() != source).count();
            assert_eq!(strays, 0, "{rule}");
            let found = answers.iter().filter(|(decision, _)| decision.is_allowed()).count();
            assert_eq!(found as u64, admitted, "{rule}");
        }
    }
    for node in &fleet.near {
        assert_eq!(node.rule("local").unwrap().peek("alice").await.source(), Source::Store);
    }
}

/// Goal: while the far region is cut off its rules do as told and the near one goes on; mended, the far one uses
/// the store again.
/// Method: hold what passes the proxy, ask both, and release it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_far_region_that_is_cut_off_does_as_told_until_the_way_is_mended() {
    let fleet = fleet(", deadline: 200ms");
    let by =
        async |node: &Limiter, rule: &str| node.rule(rule).unwrap().check("bob").await.source();
    for node in &fleet.far {
        until("it uses the store", async || by(node, "closed").await == Source::Store).await;
    }
    fleet.way.hold();
    for node in &fleet.far {
        assert_eq!(by(node, "open").await, Source::FailedOpen);
        assert_eq!(by(node, "closed").await, Source::FailedClosed);
        assert_eq!(by(node, "local").await, Source::Local);
    }
    for node in &fleet.near {
        assert_eq!(by(node, "closed").await, Source::Store);
    }
    fleet.way.release();
    for node in &fleet.far {
        until("it uses the store again", async || by(node, "closed").await == Source::Store).await;
    }
}
