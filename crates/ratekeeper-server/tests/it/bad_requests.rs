//! Requests that are described badly: each is answered by a problem that names the field.

use crate::bad_calls::told;
use crate::golden::assert_golden;
use crate::server::Server;
use crate::wire::check;
use serde_json::{Value, json};
use std::fmt::Write;

const RULES: &str = "
rules:
  - {id: api, match: {path: '/api/**'}, key: ip, limit: 5/minute, cost: {header: X-Cost, max: 9}}
  - {id: pair, match: {path: /pair}, key: [user, ip], limit: 5/minute}
  - {id: closed, match: {path: /closed}, deny: true}
";

/// Bodies that are wrong in one way each.
const BAD_BODIES: &[&str] = &[
    r#"{"request":null}"#,
    r#"{"request":"GET /"}"#,
    r#"{"request":[]}"#,
    r#"{"request":{}}"#,
    r#"{"request":{"path":"/"}}"#,
    r#"{"request":{"method":"GET"}}"#,
    r#"{"request":{"method":"","path":"/"}}"#,
    r#"{"request":{"method":"GE T","path":"/"}}"#,
    r#"{"request":{"method":7,"path":"/"}}"#,
    r#"{"request":{"method":"GET","path":""}}"#,
    r#"{"request":{"method":"GET","path":null}}"#,
    r#"{"request":{"method":"GET","path":"api"}}"#,
    r#"{"request":{"method":"GET","path":"/%zz"}}"#,
    r#"{"request":{"method":"GET","path":"/../.."}}"#,
    r#"{"request":{"method":"GET","path":"/api/x"}}"#,
    r#"{"request":{"method":"GET","path":"/api/x","ip":"localhost"}}"#,
    r#"{"request":{"method":"GET","path":"/api/x","ip":"192.0.2.1:80"}}"#,
    r#"{"request":{"method":"GET","path":"/api/x","ip":null}}"#,
    r#"{"request":{"method":"GET","path":"/","host":""}}"#,
    r#"{"request":{"method":"GET","path":"/","user":""}}"#,
    r#"{"request":{"method":"GET","path":"/","tier":"pro"}}"#,
    r#"{"request":{"method":"GET","path":"/","path":"/"}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":[]}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"":"x"}}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"A B":"x"}}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"A":1}}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"A":["x",null]}}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"A":"x\r\nB: y"}}}"#,
    r#"{"request":{"method":"GET","path":"/","headers":{"Host":["a","b"]}}}"#,
    r#"{"request":{"method":"GET","path":"/api/x","ip":"192.0.2.1","headers":{"X-Cost":"0"}}}"#,
    r#"{"request":{"method":"GET","path":"/api/x","ip":"192.0.2.1","headers":{"X-Cost":["1","1"]}}}"#,
    r#"{"request":{"method":"GET","path":"/"},"cost":-1}"#,
    r#"{"request":{"method":"GET","path":"/"},"rule":"api"}"#,
    r#"{"request":{"method":"GET","path":"/"},"key":"alice"}"#,
    r#"{"request":{"method":"GET","path":"/"},"tier":"pro"}"#,
    r#"{"rule":"pair","key":"alice"}"#,
    r#"{"rule":"api","key":["alice","/"]}"#,
    r#"{"rule":"api","key":"alice","tier":""}"#,
    r#"{"rule":"api","key":"alice","tier":null}"#,
    r#"[{"request":{"method":"GET","path":"/"}},{"request":{"method":"GET","path":"/","headers":{"A":[1]}}}]"#,
];

/// Goal: every bad body is answered by a problem that names the place, the fault and the repair.
/// Method: the whole table against the golden file.
#[test]
fn a_bad_request_is_answered_by_a_problem_that_names_the_field() {
    let server = Server::by(RULES);
    let mut table = String::new();
    for body in BAD_BODIES {
        let told = told(&check(server.address, body));
        writeln!(table, "{body}\n{told}").expect("memory");
    }
    assert_golden("bad_requests.txt", &table);
}

/// Goal: each bound holds on both sides.
/// Method: what is at the bound is decided, what is beyond it is refused by name.
#[test]
fn what_is_described_has_bounds() {
    let server = Server::by(RULES);
    let get = |change: &dyn Fn(&mut Value)| {
        let mut request = json!({"method": "GET", "path": "/", "ip": "192.0.2.1"});
        change(&mut request);
        let reply = check(server.address, &json!({"request": request}).to_string());
        (reply.status, reply.json()["field"].as_str().map(str::to_owned))
    };
    let text = |length: usize| "a".repeat(length);
    let lines = |count: usize| json!({"A": vec!["x"; count]});
    let spread = |count: usize| {
        let fields = (0..count).map(|number| (format!("A{number}"), Value::from("x")));
        Value::Object(fields.collect())
    };
    let block = |bytes: usize| json!({"A": text(bytes - 5)});
    let long = |length: usize| json!(format!("/{}", text(length - 1)));
    let table: [(&str, Value, Value); 7] = [
        ("method", json!(text(32)), json!(text(33))),
        ("path", long(8192), long(8193)),
        ("host", json!(text(262)), json!(text(263))),
        ("user", json!(text(1024)), json!(text(1025))),
        ("headers.A", lines(64), lines(65)),
        ("headers", spread(64), spread(65)),
        ("headers", block(16 * 1024), block(16 * 1024 + 1)),
    ];
    for (field, most, more) in table {
        let name = field.split('.').next().expect("a name");
        assert_eq!(get(&|request| request[name] = most.clone()).0, 200, "{field} at its bound");
        let refused = get(&|request| request[name] = more.clone());
        assert_eq!(refused, (400, Some(format!("request.{field}"))), "{field} beyond it");
    }
}

/// Goal: nothing that identifies a caller shows in a problem.
/// Method: marked values in every field, each body wrong in another way.
#[test]
fn no_problem_shows_who_asks() {
    let server = Server::by(RULES);
    for body in [
        r#"{"request":{"method":"GET","path":"/","user":"s3cret","ip":"s3cret"}}"#,
        r#"{"request":{"method":"GET","path":"/","user":"s3cret","headers":{"A":"s3cret\n"}}}"#,
        r#"{"request":{"method":"GET","path":"/api/x","ip":"192.0.2.1","headers":{"X-Cost":"s3cret"}}}"#,
        r#"{"request":{"method":"GET","path":"/%zz?s3cret","user":"s3cret"}}"#,
        r#"{"rule":"pair","key":["s3cret"]}"#,
    ] {
        let reply = check(server.address, body);
        assert_eq!(reply.status, 400, "{body}");
        assert!(!reply.body.contains("s3cret"), "{body}: {}", reply.body);
    }
}
