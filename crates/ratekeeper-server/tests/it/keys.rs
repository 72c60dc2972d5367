//! One caller and all its buckets, as administrators look for it.

use crate::server::Server;
use crate::wire::{check, request, send};
use serde_json::json;

/// Goal: without a rule all buckets of a caller are told, and busy keys of several parts of which it is one; a reset
/// needs its rule.
/// Method: rules of one and of two parts, one of them used; a key that is asked for often enough to be known.
#[test]
fn a_caller_is_found_under_all_rules() {
    let server = Server::by(
        "rules:\n\
         - {id: api, key: user, limit: 10/minute}\n\
         - {id: login, key: ip, limit: 3/minute, algorithm: sliding_window_log}\n\
         - {id: partner, key: [user, method], limit: 50/minute}\n\
         - {id: closed, key: user, deny: true}\n",
    );
    for _ in 0..4 {
        let body = r#"{"rule":"partner","key":["alice","GET"]}"#;
        assert_eq!(check(server.address, body).status, 200);
    }
    assert_eq!(check(server.address, r#"{"rule":"api","key":"alice","cost":3}"#).status, 200);
    let get = |query: &str| {
        send(server.address, &request(&format!("GET /v1/keys?{query}"), "", "")).json()
    };
    let all = get("key=alice");
    let told = |own: &serde_json::Value| (own["rule"].clone(), own["remaining"].clone());
    let buckets: Vec<_> =
        all["buckets"].as_array().expect("there are some").iter().map(told).collect();
    assert_eq!(buckets, [(json!("api"), json!(7)), (json!("login"), json!(3))]);
    assert_eq!(all["buckets"][1]["algorithms"], json!(["sliding_window_log"]));
    assert_eq!((&all["key"], &all["more"]), (&json!(["alice"]), &json!(0)));
    let known = all["known"].as_array().expect("there are some");
    assert_eq!((known.len(), &known[0]["key"]), (1, &json!(["alice", "GET"])));
    let two = get("key=alice&key=GET");
    assert_eq!((&two["buckets"][0]["rule"], &two["known"]), (&json!("partner"), &json!([])));
    assert_eq!(get("key=nobody")["known"], json!([]));
    for line in ["DELETE /v1/keys?key=alice", "GET /v1/keys?key=alice&entries=true"] {
        let reply = send(server.address, &request(line, "", ""));
        assert_eq!(reply.status, 400, "{line}");
        assert!(reply.body.contains("rule"), "{}", reply.body);
    }
}

/// Goal: where tiers have limits of their own, a caller's bucket is shown whichever tier it has, and a reset forgets
/// it.
/// Method: a rule by tiers, used as one that is not the first; look and reset without a tier; an override for all.
#[test]
fn buckets_of_every_tier_are_told_and_reset() {
    let server = Server::by(
        "tiers: [free, pro, max]\n\
         rules:\n\
         - {id: api, key: user, limit: {free: 5/hour, pro: 50/hour, max: 50/hour}}\n\
         - {id: all, key: user, limit: 7/hour}\n\
         overrides: [{rule: api, key: [bob], limit: 9/hour}]\n",
    );
    let pro = r#"{"rule":"api","key":"alice","tier":"pro","cost":30}"#;
    assert_eq!(check(server.address, pro).status, 200);
    let ask = |method: &str, query: &str| {
        let reply = send(server.address, &request(&format!("{method} /v1/keys?{query}"), "", ""));
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    };
    let told = |key: &str| -> Vec<_> {
        let all = ask("GET", &format!("key={key}"))["buckets"].clone();
        let own = |own: &serde_json::Value| {
            (own["rule"].clone(), own.get("tier").cloned(), own["remaining"].clone())
        };
        all.as_array().expect("there are some").iter().map(own).collect()
    };
    let (free, pro) = (Some(json!("free")), Some(json!("pro")));
    let api =
        |tier: &Option<serde_json::Value>, left: u64| (json!("api"), tier.clone(), json!(left));
    let all = (json!("all"), None, json!(7));
    assert_eq!(told("alice"), [api(&free, 5), api(&pro, 20), all.clone()]);
    assert_eq!(told("bob"), [api(&None, 9), all.clone()], "an override is for whatever tier");
    ask("DELETE", "rule=api&key=alice");
    assert_eq!(told("alice"), [api(&free, 5), api(&pro, 50), all]);
}
