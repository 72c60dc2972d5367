//! What is in the store of a fleet and makes no sense, replaced by whoever sends rules again.
//!
//! Invariant: nobody has to say which release there is: a call without `If-Match` is enough.

use super::{Node, all_decide, rules};
use ratekeeper_testing::servers::{Kind, Server, wait_until};

/// Fields of the board that no server can use: a number, and a text if there is one.
const BAD: [(&str, Option<&str>); 7] = [
    ("100", Some("{}")),
    ("200", Some("[1")),
    ("300", None),
    ("9007199254740993", Some("{}")),
    ("18446744073709551615", Some("{}")),
    ("many", Some("{}")),
    ("1.5", Some("{}")),
];

fn json(limit: u32) -> String {
    format!(
        r#"{{"rules":[{{"id":"api","key":"user","limit":"{limit}/day","algorithm":"fixed_window"}}]}}"#
    )
}

fn is_told(nodes: &[Node], words: &str) {
    wait_until(&format!("{words} is told"), || {
        nodes.iter().all(|node| node.call("GET /v1/rules", "").1.contains(words))
    });
}

/// Goal: a release in the store that no server can use changes nothing and is told; rules that are sent take its place,
/// and all servers decide by them, whatever its number was.
/// Method: write nonsense with numbers of all kinds, and releases whose rules are faulty; after each, send rules.
#[test]
fn a_release_that_makes_no_sense_is_replaced() {
    let redis = Server::start(Kind::Redis);
    let nodes = [10, 20].map(|limit| Node::start(&redis.url(), limit));
    all_decide(&nodes, "alice", 1, Some(10));
    let key = redis.text(&["KEYS", "rk:*board"]);
    let key = key.trim();
    let faulty = redis.text(&["HGET", key, "t:rules"]).replace("10/day", "10/dy");
    let refused = [("400", Some(faulty.trim()))];
    let (mut live, mut limit) = (1_u64, 10_u32);
    for (number, text) in BAD.into_iter().chain(refused) {
        match text {
            Some(text) => redis.text(&["HSET", key, "n:rules", number, "t:rules", text]),
            None => {
                redis.text(&["HDEL", key, "t:rules"]);
                redis.text(&["HSET", key, "n:rules", number])
            }
        };
        is_told(&nodes, "\"source\":\"redis\"");
        all_decide(&nodes, "alice", live, Some(limit.into()));

        limit += 1;
        let (status, body) = nodes[1].call("PUT /v1/rules", &json(limit));
        assert_eq!(status, 200, "{number}: {body}");
        let there = number.parse().ok().filter(|number| *number < 1_u64 << 52).unwrap_or(0);
        live = live.max(there) + 1;
        all_decide(&nodes, "alice", live, Some(limit.into()));
        is_told(&nodes, "\"fault\":null");
        assert_eq!(redis.text(&["HGET", key, "n:rules"]).trim(), live.to_string());
    }
    drop(nodes);
    let late = Node::start(&redis.url(), 99);
    assert_eq!(late.decides("alice"), (live, Some(limit.into())), "{}", rules(limit));
}

/// Goal: the same for switches: what makes no sense turns nothing, and the next switch that is turned takes its place.
/// Method: write nonsense in their place, with numbers of all kinds, and turn a switch after each.
#[test]
fn switches_that_make_no_sense_are_replaced() {
    let redis = Server::start(Kind::Redis);
    let nodes = [10, 20].map(|limit| Node::start(&redis.url(), limit));
    all_decide(&nodes, "alice", 1, Some(10));
    let key = redis.text(&["KEYS", "rk:*board"]);
    for (number, text) in BAD {
        let text = text.filter(|text| *text != "{}").unwrap_or("[]");
        redis.text(&["HSET", key.trim(), "n:switches", number, "t:switches", text]);
        is_told(&nodes, "the switches of the fleet");
        all_decide(&nodes, "alice", 1, Some(10));
        for (body, limit) in [(r#"{"rollout":"off"}"#, None), ("null", Some(10))] {
            let (status, answer) = nodes[0].call("PUT /v1/switches/api", body);
            assert_eq!(status, 200, "{number}: {answer}");
            all_decide(&nodes, "alice", 1, limit);
        }
        is_told(&nodes, "\"fault\":null");
    }
}
