//! The access log: one line for each request, with its decision, and nothing that is secret.

use super::forwarded::api_key;
use super::site::{Site, get, head, post};
use super::upstream::{OK, Upstream};
use serde_json::Value;

/// What a server with this log says about these requests.
fn said(log: &str, ask: impl Fn(&Site, &str)) -> (Vec<String>, String, String) {
    let upstream = Upstream::saying(OK);
    let (key, entry) = api_key("alice-the-user", "pro");
    let text = format!(
        "{}  access_log: {log}\n  routes:\n    - {{path: \"/api/**\", upstream: \"{}\", auth: optional}}\n\
         identity: {{api_key: {{header: X-Api-Key, keys: keys.yaml}}}}\ntiers: [free, pro]\n\
         rules: [{{id: api, key: ip, limit: 2/day}}]\n",
        head(""),
        upstream.url()
    );
    let mut site = Site::of(&[("keys.yaml", &entry)], &text);
    ask(&site, &key);
    site.program.signal("TERM");
    let words = site.program.last_words();
    assert!(site.program.ended().expect("it ends").success());
    // The last line to try is no line of the log, nor what the program says of its end.
    let is_said = |line: &str| line.trim_start().starts_with("curl ") || line.starts_with("stop");
    let lines = words.lines().filter(|line| !is_said(line));
    let lines = lines.map(str::to_owned);
    (lines.collect(), upstream.url(), key)
}

/// One request that passes, one without a route, one that is refused, one that makes no sense.
fn ask_all(site: &Site, key: &str) {
    let fields = format!(
        "X-Api-Key: {key}\r\nUser-Agent: tests/1 \"quoted\"\r\nReferer: http://a.example/x?secret-referer\r\n\
         Cookie: secret-cookie\r\nAuthorization: Basic c2VjcmV0\r\n"
    );
    assert_eq!(site.ask(&get("/api//x?secret-query=1", &fields)).status(), 200);
    assert_eq!(site.get("/nowhere").status(), 404);
    assert_eq!(site.ask(&post("/api/y", "", "secret-body")).status(), 429);
    assert_eq!(site.get("/api/a%2Fb").status(), 400);
}

/// Nothing that is secret is in the lines.
fn hides(lines: &[String], key: &str) {
    let all = lines.join("\n");
    for secret in
        ["secret-query", "secret-cookie", "secret-body", "c2VjcmV0", "alice-the-user", key]
    {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
}

/// Goal: each request has a line of JSON with all that is told of it, members that do not apply being null.
/// Method: four requests, each with another fate; member by member.
#[test]
fn every_request_has_a_line_of_json() {
    let (lines, url, key) = said("json", ask_all);
    hides(&lines, &key);
    let lines: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let names: Vec<&str> =
        lines[0].as_object().expect("an object").keys().map(String::as_str).collect();
    let wanted = [
        "time",
        "ip",
        "method",
        "host",
        "path",
        "protocol",
        "status",
        "bytes",
        "seconds",
        "route",
        "upstream",
        "upstream_seconds",
        "decision",
        "rule",
        "remaining",
        "id",
        "user_agent",
        "referer",
    ];
    assert_eq!(names, wanted);
    let is = |index: usize, name: &str, value: Value| {
        assert_eq!(lines[index][name], value, "{name} of {}", lines[index]);
    };
    for (index, (status, decision)) in
        [(200, "allowed"), (404, "allowed"), (429, "refused"), (400, "rejected")].iter().enumerate()
    {
        is(index, "status", (*status).into());
        is(index, "decision", (*decision).into());
        is(index, "ip", "127.0.0.1".into());
        is(index, "host", "api.example".into());
        is(index, "protocol", "HTTP/1.1".into());
        let time = lines[index]["time"].as_str().expect("a time");
        assert!(time.len() == 24 && time.ends_with('Z') && &time[10..11] == "T", "{time}");
        assert!(lines[index]["seconds"].as_f64().is_some_and(|it| (0.0..60.0).contains(&it)));
    }
    is(0, "method", "GET".into());
    is(0, "path", "/api/x".into());
    is(0, "bytes", 2.into());
    is(0, "route", "/api/**".into());
    is(0, "upstream", url.into());
    assert!(
        lines[0]["upstream_seconds"]
            .as_f64()
            .is_some_and(|it| it <= lines[0]["seconds"].as_f64().unwrap_or(0.0))
    );
    is(0, "rule", "api".into());
    is(0, "remaining", 1.into());
    is(0, "id", Value::Null);
    is(0, "user_agent", "tests/1 \"quoted\"".into());
    is(1, "route", Value::Null);
    is(1, "upstream", Value::Null);
    is(1, "user_agent", Value::Null);
    is(2, "method", "POST".into());
    is(2, "rule", "api".into());
    is(2, "remaining", 0.into());
    is(2, "upstream", Value::Null);
    is(2, "upstream_seconds", Value::Null);
    assert!(lines[2]["id"].as_str().is_some_and(|id| id.len() > 10), "{}", lines[2]);
    is(3, "rule", Value::Null);
}

/// Goal: the combined format is what other tools read.
/// Method: the same requests; each line by its parts.
#[test]
fn every_request_has_a_combined_line() {
    let (lines, _, key) = said("combined", ask_all);
    hides(&lines, &key);
    assert_eq!(lines.len(), 4, "{lines:?}");
    let requests = [
        ("GET /api/x HTTP/1.1", "200 2"),
        ("GET /nowhere HTTP/1.1", "404"),
        ("POST /api/y HTTP/1.1", "429"),
        ("GET", "400"),
    ];
    for (line, (request, status)) in lines.iter().zip(requests) {
        let (front, rest) = line.split_once(" \"").expect("a request in quotes");
        let address = front.strip_prefix("127.0.0.1 - - [").and_then(|it| it.strip_suffix(']'));
        let time = address.expect("an address and a time");
        assert!(time.len() == 26 && time.ends_with(" +0000"), "{time}");
        assert!(rest.starts_with(request), "{line}");
        let behind = rest.split_once("\" ").expect("the request ends").1;
        assert!(behind.starts_with(status), "{line}");
    }
    assert!(lines[0].ends_with(" \"tests/1 \\\"quoted\\\"\" allowed api"), "{}", lines[0]);
    assert!(lines[1].ends_with(" \"-\" \"-\" allowed api"), "{}", lines[1]);
    assert!(lines[2].ends_with(" refused api"), "{}", lines[2]);
    assert!(lines[3].ends_with(" rejected -"), "{}", lines[3]);
}

/// Goal: without a log there are no lines.
/// Method: the same requests.
#[test]
fn without_a_log_nothing_is_said() {
    let (lines, _, _) = said("none", ask_all);
    assert_eq!(lines, [] as [String; 0]);
}
