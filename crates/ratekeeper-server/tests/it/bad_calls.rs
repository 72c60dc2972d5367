//! Bad calls: each is answered by a problem with its place, fault and repair, over real connections.

use crate::golden::assert_golden;
use crate::server::Server;
use crate::wire::{Reply, check, connect, read_reply, request, send};
use std::fmt::Write as _;
use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

const ALICE: &str = r#"{"rule":"token-bucket","key":"alice"}"#;

const TOO_LARGE: &str = "the body is larger than 65536 bytes; send less at a time";

fn detail(reply: &Reply) -> String {
    reply.json()["detail"].as_str().expect("a problem has a detail").to_owned()
}

/// Bodies that are no check, each wrong in one way.
const BAD_BODIES: &[&str] = &[
    "",
    " ",
    "{",
    r#"{"rule":"token-bucket","key":"alice",}"#,
    "{\n  \"rule\": \"token-bucket\",\n  \"key\" \"alice\"\n}",
    r#"{"rule":"token-bucket","key":"alice"} x"#,
    "null",
    "true",
    "1",
    "1e400",
    r#""token-bucket""#,
    "[]",
    "[1]",
    "[[]]",
    "{}",
    r#"{"key":"alice"}"#,
    r#"{"rule":null,"key":"alice"}"#,
    r#"{"rule":"tokenbucket","key":"alice"}"#,
    r#"{"rule":"","key":"alice"}"#,
    r#"{"rule":"token-bucket"}"#,
    r#"{"rule":"token-bucket","key":null}"#,
    r#"{"rule":"token-bucket","key":42}"#,
    r#"{"rule":"token-bucket","key":{"user":"alice"}}"#,
    r#"{"rule":"token-bucket","key":""}"#,
    r#"{"rule":"token-bucket","key":[]}"#,
    r#"{"rule":"token-bucket","key":["alice",7]}"#,
    r#"{"rule":"token-bucket","key":["alice",""]}"#,
    r#"{"rule":"token-bucket","key":[["alice"]]}"#,
    r#"{"rule":"token-bucket","key":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]}"#,
    r#"{"rule":"token-bucket","key":"\ud800"}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":-1}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":1.5}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":1e400}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":NaN}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":4294967297}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":99999999999999999999999}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":"1"}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":null}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":true}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":[1]}"#,
    r#"{"rule":"token-bucket","key":"alice","kost":1}"#,
    r#"{"rule":"token-bucket","key":"alice","\u001b[2J\n":1}"#,
    r#"{"rule":"token-bucket","key":"alice","key":"alice"}"#,
    r#"{"rule":"token-bucket","key":"alice","cost":1,"cost":1}"#,
    r#"{"rule":"token-bucket","key":"alice","more":[[[[[[[[]]]]]]]]}"#,
    r#"[{"rule":"token-bucket","key":"alice"},{"rule":"nope","key":"alice"}]"#,
    r#"[{"rule":"token-bucket","key":"alice"},{"rule":"token-bucket","key":["alice",7]}]"#,
    r#"[{"rule":"token-bucket","key":"alice"},{"rule":"token-bucket","key":"alice","kost":1}]"#,
];

/// Goal: every bad body is answered by a problem that names the place, the fault and the repair.
/// Method: the whole table against the golden file; the form of the body is checked for each.
#[test]
fn a_bad_body_is_answered_by_a_problem_that_names_the_field() {
    let server = Server::start();
    let mut table = String::new();
    for body in BAD_BODIES {
        let told = told(&check(server.address, body));
        writeln!(table, "{body}\n{told}").expect("memory");
    }
    assert_golden("bad_bodies.txt", &table);
}

/// What a problem says, as golden files show it; its form is checked.
pub(crate) fn told(reply: &Reply) -> String {
    let body = &reply.body;
    assert_eq!(reply.field("content-type"), Some("application/problem+json"), "{body}");
    let json = reply.json();
    assert_eq!(json["type"], "about:blank", "{body}");
    assert_eq!(json["status"], reply.status, "{body}");
    assert!(json["title"].is_string(), "{body}");
    let detail = json["detail"].as_str().expect("a problem has a detail");
    let field = json["field"].as_str().unwrap_or("-");
    assert!(field == "-" || detail.starts_with(&format!("`{field}` ")), "{body}");
    format!("  {} {field}\n  {detail}\n", reply.status)
}

/// Goal: a body that is too large is answered with 413, however its size is declared.
/// Method: the most that is taken; one byte more; chunks; a body that waits to be asked for; and too
/// many checks.
#[test]
fn a_body_that_is_too_large_is_refused_with_413() {
    let server = Server::start();
    let exact = format!("{ALICE}{}", " ".repeat(65_536 - ALICE.len()));
    assert_eq!(check(server.address, &exact).status, 200, "64 KiB are taken");
    let reply = check(server.address, &format!("{exact} "));
    assert_eq!((reply.status, &*detail(&reply)), (413, TOO_LARGE));

    let mut chunked =
        String::from("POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..20 {
        write!(chunked, "1000\r\n{}\r\n", " ".repeat(4096)).expect("memory");
    }
    let reply = send(server.address, &(chunked + "0\r\n\r\n"));
    assert_eq!((reply.status, &*detail(&reply)), (413, TOO_LARGE));

    for length in [65_537, u64::MAX - 2] {
        let asks = format!(
            "POST /v1/check HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        );
        let reply = send(server.address, &asks);
        assert_eq!((reply.status, &*detail(&reply)), (413, TOO_LARGE), "{length}");
    }

    let reply = check(server.address, &format!("[{}]", vec![ALICE; 65].join(",")));
    let expected = "the batch has more than 64 checks; send it in pieces";
    assert_eq!((reply.status, &*detail(&reply)), (413, expected));
}

/// Goal: who sends too much still gets to read the answer: the connection is not reset meanwhile.
/// Method: a large body in many pieces, each sent after a moment.
#[test]
fn a_body_that_is_too_large_is_read_before_it_is_refused() {
    let server = Server::start();
    let bytes = request("POST /v1/check", "", &" ".repeat(1_000_000));
    let mut stream = connect(server.address);
    for piece in bytes.as_bytes().chunks(32 * 1024) {
        stream.write_all(piece).expect("the server reads on");
        sleep(Duration::from_millis(2));
    }
    let reply = read_reply(&mut stream);
    assert_eq!((reply.status, &*detail(&reply)), (413, TOO_LARGE));
}

/// Goal: JSON is taken with parameters and without a declared type, and nothing else is.
/// Method: a table of header fields.
#[test]
fn a_body_of_another_type_is_refused_with_415() {
    let server = Server::start();
    let table = [
        ("", 200),
        ("Content-Type: application/json\r\n", 200),
        ("Content-Type: Application/JSON; charset=utf-8\r\n", 200),
        ("Content-Type: application/json\r\nContent-Encoding: identity\r\n", 200),
        ("Content-Type: application/x-www-form-urlencoded\r\n", 415),
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type:\r\n", 415),
        ("Content-Type: application/jsonx\r\n", 415),
        ("Content-Type: application/json\r\nContent-Type: text/plain\r\n", 415),
        ("Content-Encoding: gzip\r\n", 415),
    ];
    for (fields, status) in table {
        let reply = send(server.address, &request("POST /v1/check", fields, ALICE));
        assert_eq!(reply.status, status, "{fields}: {}", reply.body);
    }
}

/// Goal: wrong methods and paths are told what is right.
/// Method: a table of request lines with status, field `Allow` and detail.
#[test]
fn a_wrong_method_or_path_is_told_the_right_ones() {
    let server = Server::start();
    let method = "this path does not take that method; use one that the field `Allow` names";
    let path = "there is no such path; see `GET /openapi.json` for those that there are";
    let table = [
        ("GET /v1/check", 405, Some("POST"), method),
        ("DELETE /v1/check", 405, Some("POST"), method),
        ("GET /v1/reserve", 405, Some("POST"), method),
        ("PUT /v1/settle", 405, Some("POST"), method),
        ("DELETE /v1/cancel", 405, Some("POST"), method),
        ("GET /v1/release", 405, Some("POST"), method),
        ("POST /livez", 405, Some("GET,HEAD"), method),
        ("POST /", 405, Some("GET,HEAD"), method),
        ("GET /index.html", 404, None, path),
        ("POST /v1/check/", 404, None, path),
        ("POST /v1/%63heck", 404, None, path),
        ("BREW /pot", 404, None, path),
    ];
    for (line, status, allow, detail) in table {
        let reply = send(server.address, &request(line, "", ""));
        assert_eq!((reply.status, reply.field("allow")), (status, allow), "{line}");
        assert_eq!(reply.field("content-type"), Some("application/problem+json"), "{line}");
        assert_eq!(reply.json()["detail"], detail, "{line}");
    }
    let live = send(server.address, &request("GET /livez", "", ""));
    assert_eq!((live.status, &*live.body), (200, "ok"));
}

/// Goal: no key shows in a problem, since problems are logged by callers.
/// Method: a marked key in bodies that are wrong in many ways.
#[test]
fn no_problem_shows_a_key() {
    let server = Server::start();
    let bodies = [
        r#"{"rule":"token-bucket","key":"s3cret","cost":-1}"#,
        r#"{"rule":"token-bucket","key":"s3cret","key":"s3cret"}"#,
        r#"{"rule":"token-bucket","key":{"s3cret":"s3cret"}}"#,
        r#"{"rule":"token-bucket","key":["s3cret",1]}"#,
        r#"{"rule":"token-bucket","key":"s3cret\ud800"}"#,
        r#"{"rule":"token-bucket","key":"s3cret"#,
        r#"{"rule":"token-bucket","key":"s3cret" "s3cret"}"#,
        r#"{"rule":"nope","key":"s3cret"}"#,
        r#"["s3cret"]"#,
        r#""s3cret""#,
    ];
    for body in bodies {
        let reply = check(server.address, body);
        assert!((400..500).contains(&reply.status), "{body}");
        assert!(!reply.body.contains("s3cret"), "{body}: {}", reply.body);
    }
}
