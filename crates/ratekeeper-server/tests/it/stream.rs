//! The stream of live figures: what it tells first, and each second after that.
//!
//! Invariant: a stream is read until what is expected has come, and no longer than the deadline.

use crate::server::Server;
use crate::wire::{check, connect, post, request, send};
use ratekeeper_server::admin::{Admin, Tokens};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Events, as they come.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(server: &Server) -> Events {
        let mut stream = connect(server.address);
        stream.write_all(request("GET /v1/stream", "", "").as_bytes()).expect("it is open");
        Events(BufReader::new(stream))
    }

    /// The next event of this name.
    fn next(&mut self, name: &str) -> Value {
        let (mut line, mut found) = (String::new(), false);
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).expect("it comes in time") > 0, "it has ended");
            found |= line.trim_end() == format!("event: {name}");
            if let Some(data) = line.strip_prefix("data: ").filter(|_| found) {
                return serde_json::from_str(data).expect("it is JSON");
            }
        }
    }
}

fn ask(server: &Server, rule: &str, times: usize) {
    for _ in 0..times {
        let body = json!({ "rule": rule, "key": "alice" }).to_string();
        assert_eq!(check(server.address, &body).status, 200);
    }
}

/// Goal: every decision is told in one event, with its kind and its time; and who listens later finds it in the past.
/// Method: a rule that refuses and one that shapes; add events up until all is told; listen anew.
#[test]
fn what_happens_is_told_once_and_kept() {
    let server = Server::start();
    let mut events = Events::of(&server);
    assert_eq!(events.next("history")["rules"], json!({}));
    ask(&server, "token-bucket", 12);
    ask(&server, "leaky-bucket-shaping", 3);
    let (mut allowed, mut refused, mut delayed, mut times) = (0, 0, 0, 0);
    // All of it is told within two seconds, and nothing after that.
    for _ in 0..3 {
        let event = events.next("figures");
        let of = |name: &str| event[name].as_u64().unwrap_or_default();
        (allowed, refused, delayed) =
            (allowed + of("allowed"), refused + of("refused"), delayed + of("delayed"));
        times += event["decision_seconds"]
            .as_array()
            .expect("there are some")
            .iter()
            .map(|own| own[1].as_u64().unwrap_or_default())
            .sum::<u64>();
        let store = json!({
            "kind": "memory", "degraded": false, "breaker_open": false,
            "memory_bytes": null, "evicted_keys": null,
        });
        assert_eq!((&event["store"], &event["version"]), (&store, &json!(1)));
        assert!(event["node"].as_str().is_some_and(|node| !node.is_empty()));
    }
    assert_eq!((allowed, refused, delayed, times), (13, 2, 2, 15));
    let past = Events::of(&server).next("history");
    let sum = |rule: &str, kind: &str| {
        let column = past["rules"][rule][kind].as_array().expect("a column").iter();
        assert_eq!(column.len(), past["at"].as_array().map_or(0, Vec::len));
        column.filter_map(Value::as_u64).sum::<u64>()
    };
    assert_eq!((sum("token-bucket", "allowed"), sum("token-bucket", "refused")), (10, 2));
    assert_eq!(
        (sum("leaky-bucket-shaping", "allowed"), sum("leaky-bucket-shaping", "delayed")),
        (3, 2)
    );
}

/// Goal: keys that are made, switches that are turned, and what is in memory are told.
/// Method: a new key; a switch; wait for the event that has both.
#[test]
fn keys_and_switches_are_told() {
    let server = Server::start();
    let mut events = Events::of(&server);
    events.next("history");
    ask(&server, "token-bucket", 1);
    let turn = request(
        "PUT /v1/switches/fixed-window",
        "Content-Type: application/json\r\n",
        r#"{"rollout":"25%"}"#,
    );
    assert_eq!(send(server.address, &turn).status, 200);
    // Both are told within two seconds; a key once, in the second in which it was made.
    let told: Vec<Value> = (0..3).map(|_| events.next("figures")).collect();
    let created = |event: &Value| event["memory"]["created"].as_u64();
    assert_eq!(told.iter().map(created).sum::<Option<u64>>(), Some(1));
    assert_eq!(told[2]["memory"]["keys"], 1);
    assert_eq!(told[2]["switches"], json!([{"rule": "fixed-window", "rollout": "25%"}]));
}

/// Goal: what a rule in shadow, or a limit on trial, would refuse is told by requests and by callers; under other
/// limits it begins anew.
/// Method: three callers, two of whom ask twice under a limit of one; then another limit.
#[test]
fn what_shadow_would_refuse_is_told_by_callers() {
    let rules = |limit: &str| {
        format!(
            "rules:\n- {{id: api, key: ip, limit: {limit}, rollout: shadow}}\n\
             - {{id: org, key: ip, limit: 100/minute, trial: {limit}}}\n"
        )
    };
    let server = Server::by(&rules("1/minute"));
    let mut events = Events::of(&server);
    events.next("history");
    let ask = |ip: &str| {
        let body = json!({"request": {"method": "GET", "path": "/", "ip": ip}}).to_string();
        assert_eq!(check(server.address, &body).json()["allowed"], true);
    };
    ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1", "192.0.2.2"].into_iter().for_each(ask);
    let told = json!({"asked": 5, "refused": 2, "callers": 3, "callers_refused": 2});
    let nothing = json!({"asked": 0, "refused": 0, "callers": 0, "callers_refused": 0});
    let is = |shadow: &Value| {
        let top = send(server.address, &request("GET /v1/top", "", "")).json();
        for name in ["api", "org trial"] {
            let rows = top["rules"].as_array().expect("there are some");
            let row = rows.iter().find(|row| row["rule"] == name).expect("it was met");
            assert_eq!((&row["shadow"], &row["shadow_refused"]), (shadow, &json!(2)), "{name}");
        }
    };
    is(&told);
    // The limits that it is of are looked at each second.
    events.next("figures");
    events.next("figures");
    is(&told);
    let put = request("PUT /v1/rules", "Content-Type: application/yaml\r\n", &rules("2/minute"));
    assert_eq!(send(server.address, &put).status, 200);
    events.next("figures");
    events.next("figures");
    is(&nothing);
}

/// Goal: the last refusals are listed, the newest first, with who, where and why.
/// Method: refuse three times under two rules; list two; ask for a number that makes no sense.
#[test]
fn the_last_refusals_are_listed() {
    let server = Server::start();
    ask(&server, "token-bucket", 12);
    ask(&server, "fixed-window", 11);
    let get =
        |query: &str| send(server.address, &request(&format!("GET /v1/decisions{query}"), "", ""));
    let told = get("?limit=2").json();
    let rules: Vec<&Value> = told["refusals"]
        .as_array()
        .expect("some")
        .iter()
        .map(|own| &own["decision"]["rule"])
        .collect();
    assert_eq!(rules, [&json!("fixed-window"), &json!("token-bucket")]);
    let newest = &told["refusals"][0];
    assert_eq!((&newest["door"], &newest["asked"]["key"]), (&json!("check"), &json!(["alice"])));
    assert_eq!((&newest["node"], &newest["decision"]["version"]), (&told["node"], &json!(1)));
    let id = newest["id"].as_str().expect("it has a name");
    assert_eq!(get(&format!("/{id}")).json(), *newest);
    assert_eq!(get("").json()["refusals"].as_array().map(Vec::len), Some(3));
    for query in ["?limit=0", "?limit=201", "?x=1"] {
        assert_eq!(get(query).status, 400, "{query}");
    }
}

/// Goal: a stream ends with the right to listen.
/// Method: listen by a cookie; move the clock to its last second, and to its end.
#[test]
fn a_stream_ends_with_its_cookie() {
    let token = "1111111111111111111111111111111a";
    let tokens = Tokens::read(token).expect("it is a token");
    let server = Server::administered(Admin::by_token(tokens));
    let reply = post(server.address, "/v1/session", &json!({ "token": token }).to_string());
    let given = reply.field("set-cookie").expect("there is a cookie");
    let cookie = format!("Cookie: {}\r\n", given.split(';').next().unwrap_or_default());
    let mut stream = connect(server.address);
    let bytes = request("GET /v1/stream", &cookie, "");
    stream.write_all(bytes.as_bytes()).expect("it is open");
    let mut events = Events(BufReader::new(stream));
    events.next("history");
    server.clock.advance(Duration::from_secs(12 * 3600 - 1));
    events.next("figures");
    events.next("figures");
    server.clock.advance(Duration::from_secs(1));
    // The last chunk, within the next two events; the connection stays.
    let mut lines = events.0.lines().map(|line| line.expect("it comes in time"));
    assert!(lines.by_ref().take(20).any(|line| line == "0"), "it ends in order");
}
