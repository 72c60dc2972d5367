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

/// A server, and the calls of these tests.
struct Site(Server);

impl Site {
    fn by(rules: &str) -> Site {
        let server = Server::start();
        let reply = crate::live::call(server.address, "PUT /v1/rules", "", rules);
        assert_eq!(reply.status, 200, "{}", reply.body);
        Site(server)
    }

    /// Asks as a request of this caller, and says how many are left; none if it is refused.
    fn request(&self, caller: &str) -> Option<u64> {
        let body = format!(r#"{{"request":{{"method":"GET","path":"/",{caller}}}}}"#);
        let told = check(self.0.address, &body).json();
        told["allowed"].as_bool().expect("it is decided").then(|| told["remaining"].as_u64())?
    }

    fn call(&self, line: &str, body: &str) -> serde_json::Value {
        let field = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let reply = send(self.0.address, &request(line, field, body));
        assert_eq!(reply.status, 200, "{line}: {}", reply.body);
        reply.json()
    }

    /// The key of a rule as `/v1/top` tells it, as a query and as an override has it.
    fn told(&self, rule: &str) -> (String, serde_json::Value) {
        let top = self.call("GET /v1/top", "");
        let all = top["keys"].as_array().expect("there are some");
        let own = all.iter().find(|own| own["rule"] == rule).expect("it is busy");
        let (key, kinds) = (own["key"].as_array(), own["kinds"].as_array());
        let both = key.expect("it is known").iter().zip(kinds.expect("it is known"));
        let mut query = format!("rule={rule}");
        let mut parts = Vec::new();
        for (value, kind) in both {
            let text = |own: &serde_json::Value| own.as_str().expect("a text").to_owned();
            let (value, kind) = (text(value), text(kind));
            query.push_str(&format!("&key={value}&kind={kind}"));
            parts.push(json!({ kind: value }));
        }
        (query, json!(parts))
    }
}

/// Goal: whatever a caller is counted by, a key that was told is reset and overridden, and no other.
/// Method: an address that stands in for a user, the second of two header fields, the address of a rule that says no
/// key, and everyone together; each is used up, reset as it was told, used up again, and overridden as it was told.
#[test]
fn a_key_that_is_told_is_the_one_that_is_changed() {
    let site = Site::by(
        "rules:\n\
         - {id: user, key: user, limit: 3/hour, match: {headers: {X-Rule: user}}}\n\
         - {id: field, match: {headers: {X-Rule: field}}, limit: 3/hour,\n   \
         key: {first: [\"header:X-A\", \"header:X-B\"]}}\n\
         - {id: open, limit: 3/hour, match: {headers: {X-Rule: open}}}\n\
         - {id: all, key: global, limit: 3/hour, match: {headers: {X-Rule: all}}}\n",
    );
    for (rule, query) in [
        ("user", "rule=user&key=192.0.2.7&kind=ip"),
        ("field", "rule=field&key=192.0.2.9&kind=header:x-b"),
        ("open", "rule=open&key=192.0.2.7&kind=ip"),
        ("all", "rule=all&key=everyone&kind=global"),
    ] {
        let caller =
            format!(r#""ip":"192.0.2.7","headers":{{"X-Rule":"{rule}","X-B":"192.0.2.9"}}"#);
        let drain = || (0..4).map(|_| site.request(&caller)).collect::<Vec<_>>();
        assert_eq!(drain(), [Some(2), Some(1), Some(0), None], "{rule}");
        let (told, parts) = site.told(rule);
        assert_eq!(told, query);
        assert_eq!(site.call(&format!("GET /v1/keys?{told}"), "")["remaining"], 0, "{rule}");
        assert_eq!(site.call(&format!("DELETE /v1/keys?{told}"), "")["remaining"], 3, "{rule}");
        assert_eq!(drain(), [Some(2), Some(1), Some(0), None], "{rule}");
        let own = json!({ "rule": rule, "key": parts, "limit": "5/hour" }).to_string();
        site.call("PUT /v1/overrides", &own);
        assert_eq!(site.request(&caller), Some(1), "3 of 5 are used: {rule}");
    }
}

/// Goal: who writes a key without saying what it is finds the bucket that was used, and resets it; an address stands
/// in for a user without a word. What all requests share is nobody's.
/// Method: callers by address and by the second alternative; look, reset and override by the text alone.
#[test]
fn a_text_alone_means_what_was_used() {
    let site = Site::by(
        "rules:\n\
         - {id: user, key: user, limit: 3/hour}\n\
         - {id: field, key: {first: [\"header:X-A\", \"header:X-B\"]}, limit: 3/hour}\n\
         - {id: all, key: global, limit: 100/hour}\n",
    );
    let caller = r#""ip":"192.0.2.7","headers":{"X-B":"b"}"#;
    assert_eq!(site.request(caller), Some(2));
    let all = |key: &str| -> Vec<_> {
        let told = site.call(&format!("GET /v1/keys?key={key}"), "");
        let own = |own: &serde_json::Value| {
            (own["rule"].clone(), own["kinds"][0].clone(), own["remaining"].clone())
        };
        told["buckets"].as_array().expect("there are some").iter().map(own).collect()
    };
    let row = |rule: &str, kind: &str, left: u64| (json!(rule), json!(kind), json!(left));
    let address = [row("user", "user", 3), row("user", "ip", 2), row("field", "header:x-a", 3)];
    assert_eq!(all("192.0.2.7")[..3], address);
    assert_eq!(
        all("b"),
        [row("user", "user", 3), row("field", "header:x-a", 3), row("field", "header:x-b", 2)]
    );
    for (rule, key, kind) in [("user", "192.0.2.7", "ip"), ("field", "b", "header:x-b")] {
        let query = format!("rule={rule}&key={key}");
        let told = site.call(&format!("GET /v1/keys?{query}"), "");
        assert_eq!((&told["remaining"], &told["kinds"]), (&json!(2), &json!([kind])));
        site.call(&format!("DELETE /v1/keys?{query}"), "");
        let now = site.call(&format!("GET /v1/keys?{query}&kind={kind}"), "");
        assert_eq!(now["remaining"], 3, "{rule}");
    }
    site.call("PUT /v1/overrides", r#"{"rule":"user","key":"192.0.2.7","limit":"1/hour"}"#);
    assert_eq!(site.request(caller), Some(0), "an address needs no word");
    for (query, fault) in [
        ("rule=user&key=b&kind=nobody", "nothing is counted by it"),
        ("rule=user&key=b&kind=host", "does not count by `host`"),
        ("rule=user&key=b&kind=user&kind=ip", "once for each `key`"),
        ("key=b&kind=user", "needs a `rule`"),
        ("rule=user&key=", "`key` is empty"),
    ] {
        let reply = send(site.0.address, &request(&format!("GET /v1/keys?{query}"), "", ""));
        assert_eq!(reply.status, 400, "{query}");
        assert!(reply.body.contains(fault), "{}", reply.body);
        assert_eq!(reply.field("cache-control"), Some("no-store"), "{query}");
    }
}

/// Goal: keys of several parts are found where a rule takes whatever is given, and nothing else is looked for.
/// Method: the demo rules, which say no kind; look, reset and override by the text alone and with its kinds.
#[test]
fn what_is_given_has_any_number_of_parts() {
    let site = Site(Server::start());
    let body = r#"{"rule":"fixed-window","key":["acme","bob"],"cost":3}"#;
    for query in ["key=acme&key=bob", "key=acme&key=bob&kind=key&kind=key"] {
        assert_eq!(check(site.0.address, body).json()["remaining"], 7);
        let query = format!("rule=fixed-window&{query}");
        let told = site.call(&format!("GET /v1/keys?{query}"), "");
        assert_eq!((&told["remaining"], &told["kinds"]), (&json!(7), &json!(["key", "key"])));
        assert_eq!(site.call(&format!("DELETE /v1/keys?{query}"), "")["remaining"], 10);
    }
    let all = site.call("GET /v1/keys?key=acme&key=bob", "");
    assert_eq!(all["buckets"].as_array().map(Vec::len), Some(6));
}

/// Goal: an override of an address by itself stands above one that reaches it because it stands in; parts are stood in
/// for one by one; both ways to write a key are one key.
/// Method: both in either order, under rules of one part and of two; what is set in one way is taken back in the other.
#[test]
fn what_is_said_of_an_address_stands_above_what_it_stands_in_for() {
    let site = Site::by(
        "rules:\n\
         - {id: user, key: user, limit: 3/hour, match: {headers: {X-Rule: user}}}\n\
         - {id: two, key: [user, host], limit: 3/hour, match: {headers: {X-Rule: two}}}\n\
         - {id: all, key: global, limit: 3/hour, match: {headers: {X-Rule: all}}}\n",
    );
    let limit = |rule: &str| {
        let caller =
            format!(r#""ip":"192.0.2.7","headers":{{"X-Rule":"{rule}","Host":"127.0.0.1"}}"#);
        let body = format!(r#"{{"cost":0,"request":{{"method":"GET","path":"/",{caller}}}}}"#);
        check(site.0.address, &body).json()["limit"].as_u64()
    };
    let put = |rule: &str, key: serde_json::Value, limit: serde_json::Value| {
        let own = json!({ "rule": rule, "key": key, "limit": limit }).to_string();
        send(
            site.0.address,
            &request("PUT /v1/overrides", "Content-Type: application/json\r\n", &own),
        )
    };
    assert_eq!(put("user", json!([{ "ip": "192.0.2.7" }]), json!("50/hour")).status, 200);
    assert_eq!(put("user", json!("192.0.2.7"), json!("9/hour")).status, 200);
    assert_eq!(limit("user"), Some(50));
    assert_eq!(put("user", json!([{ "ip": "192.0.2.7" }]), json!(null)).status, 200);
    assert_eq!(limit("user"), Some(9), "it stands in for a user");
    assert_eq!(put("user", json!([{ "user": "192.0.2.7" }]), json!(null)).status, 200);
    assert_eq!(limit("user"), Some(3), "it was set without the word");
    assert_eq!(put("two", json!(["192.0.2.7", "127.0.0.1"]), json!("40/hour")).status, 200);
    assert_eq!(limit("two"), Some(40));
    let reply = put("all", json!([{ "ip": "192.0.2.7" }]), json!("40/hour"));
    assert_eq!(reply.status, 422);
    assert!(reply.body.contains("write `global`"), "{}", reply.body);
}

/// Goal: a key that is no text is told as one that nobody can act on.
/// Method: a header field with such bytes, often enough to be listed.
#[test]
fn bytes_that_are_no_text_are_no_key() {
    let rules = "identity: {trusted_proxies: [127.0.0.1/32]}\n\
                 rules: [{id: tenant, key: \"header:X-Tenant\", limit: 3/hour}]";
    let site = Site::by(rules);
    for _ in 0..4 {
        let head = b"GET /v1/authorize HTTP/1.1\r\nHost: a\r\nX-Forwarded-Uri: /\r\n\
                     X-Forwarded-Method: GET\r\nX-Forwarded-For: 192.0.2.7\r\nX-Tenant: caf\xe9\r\n\
                     Connection: close\r\n\r\n";
        let mut stream = crate::wire::connect(site.0.address);
        std::io::Write::write_all(&mut stream, head).expect("it is open");
        let mut answer = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
        let told = String::from_utf8_lossy(&answer);
        assert!(told.starts_with("HTTP/1.1 200") || told.starts_with("HTTP/1.1 429"), "{told}");
    }
    let top = site.call("GET /v1/top", "");
    assert_eq!((&top["keys"][0]["rule"], &top["keys"][0]["cut"]), (&json!("tenant"), &json!(true)));
}
