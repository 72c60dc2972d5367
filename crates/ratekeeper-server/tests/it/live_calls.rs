//! Rules, releases, overrides and switches by calls.
//!
//! Invariant: a call that was answered with 200 is in effect; one that was not has changed nothing.

use crate::live::{ask, call, daily, get, left, put, version};
use crate::server::Server;
use crate::wire::{request, send};
use ratekeeper_server::admin::{Admin, Tokens};
use serde_json::{Value, json};
use std::time::Duration;

fn server() -> Server {
    let server = Server::start();
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(10)).status, 200);
    server
}

/// Goal: rules are shown as they were written, or as JSON, with their number as `ETag`; sent back, they are the same.
/// Method: send YAML with a comment, read it in both forms, send the JSON back.
#[test]
fn rules_are_shown_and_sent_back() {
    let server = server();
    let text = format!("# ours\n{}", daily(12));
    let reply = call(server.address, "PUT /v1/rules", "If-Match: \"2\"\r\n", &text);
    assert_eq!((reply.status, reply.field("etag")), (200, Some("\"3\"")), "{}", reply.body);
    let shown =
        call(server.address, "GET /v1/rules", "Accept: text/html, application/yaml;q=0.9\r\n", "");
    assert_eq!((shown.body.as_str(), shown.field("etag")), (&*text, Some("\"3\"")));
    let shown = get(server.address, "/v1/rules");
    assert_eq!(
        shown["file"]["rules"][0],
        json!({"id": "api", "key": "user", "limit": "12/day", "algorithm": "fixed_window"})
    );
    assert_eq!((&shown["source"], &shown["fault"]), (&json!("api"), &Value::Null));
    let back = put(server.address, "/v1/rules", &shown["file"].to_string());
    assert_eq!(back.json()["version"], 4, "{}", back.body);
    let diff =
        crate::wire::post(server.address, "/v1/rules/diff", &shown["file"].to_string()).json();
    assert_eq!(
        diff["difference"],
        json!({"added": [], "removed": [], "changed": [], "fields": []})
    );
}

/// Goal: single rules are replaced in their place, added, and taken out; what others say stays.
/// Method: do each, and read the list of rules; a rule that is not there is told.
#[test]
fn single_rules_are_put_and_taken_out() {
    let server = server();
    let ids = || {
        let file = get(server.address, "/v1/rules")["file"].clone();
        let rules = file["rules"].as_array().cloned().unwrap_or_default();
        rules
            .iter()
            .map(|rule| rule["id"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        call(server.address, "PUT /v1/rules/login", "", "key: ip\nlimit: 5/minute\n").status,
        200
    );
    assert_eq!(
        put(server.address, "/v1/rules/api", r#"{"id":"api","key":"user","limit":"33/day"}"#)
            .status,
        200
    );
    assert_eq!(ids(), ["api", "login"]);
    assert_eq!(left(server.address, "alice"), (33, 33));
    assert_eq!(
        call(server.address, "DELETE /v1/rules/login", "If-Match: \"3\"\r\n", "").status,
        412
    );
    assert_eq!(
        call(server.address, "DELETE /v1/rules/login", "If-Match: \"1\", \"4\"\r\n", "").status,
        200
    );
    assert_eq!(call(server.address, "DELETE /v1/rules/login", "", "").status, 404);
    assert_eq!((ids(), version(server.address)), (vec!["api".to_owned()], 5));
}

/// Goal: an override of a key stands above the release, survives the next ones, ends at its time, and can be
/// taken back; one whose rule is gone is left out and told.
/// Method: set, reload, take back, and set again with an end that the clock passes; then take the rule out.
#[test]
fn overrides_are_set_kept_and_taken_back() {
    let server = server();
    let set = |limit: &str, more: &str| {
        let body = format!(r#"{{"rule":"api","key":"acme","limit":{limit}{more}}}"#);
        put(server.address, "/v1/overrides", &body)
    };
    let reply = set("\"500/day\"", "");
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!((left(server.address, "acme").1, left(server.address, "bob").1), (500, 10));
    assert_eq!(set("\"600/day\"", r#","reason":"more""#).status, 200);
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).status, 200);
    assert_eq!((left(server.address, "acme").1, left(server.address, "bob").1), (600, 20));
    let listed = get(server.address, "/v1/overrides")["overrides"].clone();
    assert_eq!(
        listed,
        json!([{"rule": "api", "key": "acme", "limit": "600/day", "reason": "more", "from": "api"}])
    );
    assert_eq!(set("null", "").status, 200);
    assert_eq!((left(server.address, "acme").1, set("null", "").status), (20, 404));

    let until = crate::live::moment_of(&server.clock, Duration::from_secs(3_600));
    assert_eq!(set("\"700/day\"", &format!(r#","until":"{until}""#)).status, 200);
    assert_eq!(left(server.address, "acme").1, 700);
    server.clock.advance(Duration::from_secs(3_601));
    assert_eq!(left(server.address, "acme").1, 20);

    let other =
        call(server.address, "PUT /v1/rules", "", "rules: [{id: other, limit: 1/day}]").json();
    assert_eq!(other["left_out"], json!(["\"api\""]));
    assert_eq!(get(server.address, "/v1/overrides")["overrides"], json!([]));
}

/// Goal: a switch stands above overrides and releases, survives both, ends by itself, and `*` is for rules without one
/// of their own.
/// Method: a rule that refuses, turned off for an hour; reload; pass the hour; then all rules in shadow.
#[test]
fn switches_stand_above_everything_until_they_end() {
    let server = server();
    assert_eq!(ask(server.address, "alice", 10)["allowed"], true);
    let allowed = || ask(server.address, "alice", 1)["allowed"] == true;
    assert!(!allowed());
    let turned = put(server.address, "/v1/switches/api", r#"{"rollout":"off","for":"1h"}"#);
    assert_eq!(turned.status, 200, "{}", turned.body);
    assert!(allowed());
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(10)).status, 200);
    assert!(allowed(), "it survives a release");
    server.clock.advance(Duration::from_secs(3_600));
    assert!(!allowed() && get(server.address, "/v1/switches")["switches"] == json!([]));
    assert_eq!(put(server.address, "/v1/switches/*", r#"{"rollout":"off"}"#).status, 200);
    assert!(allowed());
    assert_eq!(put(server.address, "/v1/switches/api", r#"{"rollout":"100%"}"#).status, 200);
    assert!(!allowed(), "its own stands above that of all");
    for rule in ["api", "*"] {
        assert_eq!(put(server.address, &format!("/v1/switches/{rule}"), "null").status, 200);
    }
    assert!(!allowed() && get(server.address, "/v1/switches")["switches"] == json!([]));
}

/// Goal: questions about rules change nothing: whether they are fine, what they would change, and why a request is
/// decided as it is.
/// Method: ask each, with fine and with bad rules, and look at the number of the release.
#[test]
fn questions_change_nothing() {
    let server = server();
    let post = |path: &str, body: &str| call(server.address, &format!("POST {path}"), "", body);
    let fine =
        post("/v1/rules/validate", &format!("listen: {{api: 127.0.0.1:1}}\n{}", daily(1))).json();
    assert_eq!(fine, json!({"valid": true, "rules": 1, "errors": [], "restart": ["listen"]}));
    let bad = post("/v1/rules/validate", "rules: [{id: api}]").json();
    assert_eq!((&bad["valid"], &bad["errors"][0]["line"]), (&json!(false), &json!(1)));
    let diff = post("/v1/rules/diff", &format!("tiers: [a]\n{}", daily(1))).json();
    let field = |name: &str, from: Value, to: Value| json!({"field": name, "from": from, "to": to});
    assert_eq!(
        diff["difference"]["changed"],
        json!([{"rule": "api", "fields": [field("limit", json!("10/day"), json!("1/day"))]}])
    );
    assert_eq!(diff["difference"]["fields"], json!([field("tiers", Value::Null, json!(["a"]))]));
    assert_eq!(post("/v1/rules/diff", "rules: [{id: api}]").status, 422);
    let request = r#"{"request":{"method":"GET","path":"/","user":"alice","ip":"192.0.2.7"}}"#;
    let why = crate::wire::post(server.address, "/v1/rules/explain", request).json();
    assert_eq!(
        (&why["rules"][0]["applies"], &why["rules"][0]["remaining"]),
        (&json!(true), &json!(10))
    );
    assert_eq!(version(server.address), 2);
}

/// Goal: rules may have the names of questions, and are changed one by one like all others; whoever may only look may
/// ask, and changes none of them.
/// Method: put and delete each, and ask in between; then the same with a token that may only look.
#[test]
fn rules_may_have_the_names_of_questions() {
    let server = server();
    for (number, name) in (3_u64..).step_by(2).zip(["validate", "explain", "diff"]) {
        let path = format!("/v1/rules/{name}");
        let json = "Content-Type: application/json\r\n";
        let rule = request(&format!("PUT {path}"), json, r#"{"limit":"1/day"}"#);
        let reply = send(server.address, &rule);
        assert_eq!((reply.status, &reply.json()["version"]), (200, &json!(number)), "{path}");
        assert!(
            get(server.address, "/v1/rules").to_string().contains(&format!("\"id\":\"{name}\""))
        );
        let asked = call(server.address, &format!("POST {path}"), "", &daily(1));
        assert_ne!(asked.status, 405, "{}", asked.body);
        let gone = call(server.address, &format!("DELETE {path}"), "", "");
        assert_eq!((gone.status, &gone.json()["version"]), (200, &json!(number + 1)), "{path}");
    }
    let token = "0000000000000000000000000000000a";
    let tokens = Tokens::read(&format!("read {token}")).expect("this is a token");
    let server = Server::administered(Admin::by_token(tokens));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let asked = call(server.address, "POST /v1/rules/validate", &bearer, &daily(1));
    assert_eq!(asked.json()["valid"], true, "{}", asked.body);
    for (line, body) in
        [("PUT /v1/rules/validate", "limit: 1/day"), ("DELETE /v1/rules/validate", "")]
    {
        assert_eq!(call(server.address, line, &bearer, body).status, 403, "{line}");
    }
}
