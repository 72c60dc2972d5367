//! Bad calls about live rules, each with its problem, pinned in a golden file.
//!
//! Invariant: nothing that is refused changes anything.

use crate::golden::assert_golden;
use crate::live::{daily, get, version};
use crate::server::Server;
use crate::wire::{request, send};

const YAML: &str = "Content-Type: application/yaml\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

const TWO: &str = "rules:\n  - {id: api, limit: 5/day}\n  - {id: api, limit: 0/day, kye: ip}\n";

/// A line, header fields, and a body.
const CASES: &[(&str, &str, &str)] = &[
    ("PUT /v1/rules", YAML, ""),
    ("PUT /v1/rules", "Content-Type: text/html\r\n", "rules: []"),
    ("PUT /v1/rules", "Content-Type: application/yaml\r\nContent-Encoding: gzip\r\n", "rules: []"),
    ("PUT /v1/rules", "Content-Type: application/yaml\r\nIf-Match: 2\r\n", "rules: []"),
    ("PUT /v1/rules", "Content-Type: application/yaml\r\nIf-Match: W/\"2\"\r\n", "rules: []"),
    ("PUT /v1/rules", "Content-Type: application/yaml\r\nIf-Match: \"1\"\r\n", "rules: []"),
    ("PUT /v1/rules", YAML, "rules: [{id: api"),
    ("PUT /v1/rules", YAML, TWO),
    ("PUT /v1/rules", YAML, "just text"),
    ("PUT /v1/rules", YAML, "a: &a [1]\nb: [*a, *c]"),
    ("PUT /v1/rules", JSON, r#"{"rules":[{"id":"api","limit":{"gold":"1/day"}}]}"#),
    ("PUT /v1/rules", YAML, "identity: {api_key: {header: X-Key, keys: /etc/passwd}}\nrules: []"),
    ("PUT /v1/rules/api", YAML, "limit: 0/day\nkye: ip"),
    ("PUT /v1/rules/api", JSON, r#"{"id":"other","limit":"1/day"}"#),
    ("PUT /v1/rules/api", JSON, "[1]"),
    ("PUT /v1/rules/bad%20name", JSON, r#"{"limit":"1/day"}"#),
    ("PUT /v1/rules/%ff", JSON, r#"{"limit":"1/day"}"#),
    ("DELETE /v1/rules/none", "", ""),
    ("POST /v1/rules/validate", YAML, ""),
    ("POST /v1/rules/explain", JSON, r#"{"request":{"method":"GET"}}"#),
    ("POST /v1/rules/explain", JSON, r#"{"rule":"api"}"#),
    ("POST /v1/releases/9/restore", "", ""),
    ("POST /v1/releases/x/restore", "", ""),
    ("PUT /v1/overrides", JSON, ""),
    ("PUT /v1/overrides", JSON, "[]"),
    ("PUT /v1/overrides", JSON, r#"{"rule":"api","key":"acme"}"#),
    ("PUT /v1/overrides", JSON, r#"{"rule":"api","key":"acme","limit":"1/day","extra":1}"#),
    ("PUT /v1/overrides", JSON, r#"{"rule":"none","key":"acme","limit":"1/day"}"#),
    ("PUT /v1/overrides", JSON, r#"{"rule":"api","key":["a","b"],"limit":"many"}"#),
    ("PUT /v1/overrides", JSON, r#"{"rule":"api","key":"acme","limit":"1/day","until":"soon"}"#),
    ("PUT /v1/overrides", JSON, r#"{"rule":"api","key":"acme","limit":null}"#),
    ("PUT /v1/switches/none", JSON, r#"{"rollout":"off"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"on"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"101%"}"#),
    ("PUT /v1/switches/api", JSON, "{}"),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"off","for":"a while"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"off","for":"1h","until":"2099-01-01"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"off","until":"1970-01-02"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":"off","why":"x"}"#),
    ("PUT /v1/switches/api", JSON, r#"{"rollout":5}"#),
    ("PATCH /v1/rules", JSON, "{}"),
];

/// Goal: every bad call is answered with a problem that names the fault and the repair, and changes nothing.
/// Method: a list of them, and the answers as they were looked at once; then the release and its switches.
#[test]
fn bad_calls_about_rules_are_told() {
    let server = Server::start();
    assert_eq!(send(server.address, &request("PUT /v1/rules", YAML, &daily(10))).status, 200);
    let large = "Content-Type: application/yaml\r\nExpect: 100-continue\r\n";
    let mut text = String::new();
    for (line, fields, body) in CASES {
        let reply = send(server.address, &request(line, fields, body));
        assert!((400..500).contains(&reply.status), "{line} {body}: {}", reply.body);
        assert_eq!(reply.field("content-type"), Some("application/problem+json"), "{line} {body}");
        text += &format!(
            "{line}\n{}{body}\n{} {}\n\n",
            fields.replace("\r\n", "\n"),
            reply.status,
            reply.body
        );
    }
    let bytes =
        format!("PUT /v1/rules HTTP/1.1\r\nHost: x\r\n{large}Content-Length: 16777217\r\n\r\n");
    let reply = send(server.address, &bytes);
    text += &format!("PUT /v1/rules, one byte too many\n{} {}\n", reply.status, reply.body);
    assert_golden("bad_rules.txt", &text);
    assert_eq!(version(server.address), 2);
    assert_eq!(get(server.address, "/v1/switches")["switches"], serde_json::json!([]));
    assert_eq!(get(server.address, "/v1/overrides")["overrides"], serde_json::json!([]));
}
