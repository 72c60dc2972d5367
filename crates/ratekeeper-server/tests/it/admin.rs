//! Who may administer a server: by name, by page, by token.
//!
//! Invariant: nothing that these calls do goes further than their own server.

use crate::folder::Folder;
use crate::program::{self, Program, output};
use crate::server::Server;
use crate::wire::{Reply, check, connect, is_ended, request, send};
use ratekeeper_server::admin::{Admin, Tokens};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;

const READ: &str = "0000000000000000000000000000000a";
const WRITE: &str = "1111111111111111111111111111111a";

const PEEK: &str = "GET /v1/keys?rule=token-bucket&key=alice";
const RESET: &str = "DELETE /v1/keys?rule=token-bucket&key=alice";

fn tokens() -> Tokens {
    Tokens::read(&format!("read {READ}\nwrite {WRITE}")).expect("these are tokens")
}

/// A call with header fields of its own, `Host` among them.
fn call(address: SocketAddr, line: &str, fields: &str) -> Reply {
    send(address, &format!("{line} HTTP/1.1\r\n{fields}\r\n"))
}

/// Goal: without a token, a call passes by a name of this machine, and from no page of another site.
/// Method: hosts, origins and what browsers say of the page, on both sides of each bound.
#[test]
fn without_a_token_only_this_machine_passes() {
    let server = Server::start();
    for (fields, status) in [
        ("Host: localhost\r\n", 200),
        ("Host: LOCALHOST:8080\r\n", 200),
        ("Host: 127.0.0.1:1\r\n", 200),
        ("Host: 127.255.0.1\r\n", 200),
        ("Host: [::1]:8080\r\n", 200),
        ("Host: [::ffff:127.0.0.1]\r\n", 200),
        ("Host: localhost.evil.example\r\n", 403),
        ("Host: localhost:evil.example\r\n", 403),
        ("Host: [::1]evil.example\r\n", 403),
        ("Host: localhost\r\nX-Forwarded-For: 192.0.2.7\r\n", 403),
        ("Host: localhost\r\nVia: 1.1 proxy\r\n", 403),
        ("Host: evil.example\r\n", 403),
        ("Host: 128.0.0.1\r\n", 403),
        ("Host: [::2]\r\n", 403),
        ("Host: localhost\r\nHost: localhost\r\n", 400),
        ("Host: localhost\r\nOrigin: http://localhost\r\n", 200),
        ("Host: localhost:8080\r\nOrigin: http://localhost:8080\r\n", 200),
        ("Host: localhost:8080\r\nOrigin: http://localhost:8081\r\n", 403),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 200),
        ("Host: localhost\r\nSec-Fetch-Site: none\r\n", 200),
        ("Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ] {
        for line in [PEEK, RESET] {
            let reply = call(server.address, line, fields);
            assert_eq!(reply.status, status, "{line} {fields}: {}", reply.body);
        }
    }
}

/// Goal: with tokens each passes with its role, by any name, and nobody else.
/// Method: every way to send a token, for a call that looks and one that changes.
#[test]
fn tokens_pass_with_their_roles() {
    let server = Server::administered(Admin::by_token(tokens()));
    let bearer = |token: &str| format!("Host: any.example\r\nAuthorization: Bearer {token}\r\n");
    let short = &WRITE[1..];
    for (fields, looks, changes) in [
        (bearer(WRITE), 200, 200),
        (bearer(READ), 200, 403),
        (bearer(WRITE).replace("Bearer", "bEARER"), 200, 200),
        (bearer(short), 401, 401),
        (bearer(""), 401, 401),
        (bearer(WRITE).replace("Bearer", "Basic"), 401, 401),
        ("Host: localhost\r\n".into(), 401, 401),
        (format!("{}Authorization: Bearer {WRITE}\r\n", bearer(WRITE)), 401, 401),
        (format!("{}Origin: http://evil.example\r\n", bearer(WRITE)), 403, 403),
    ] {
        assert_eq!(call(server.address, PEEK, &fields).status, looks, "{fields}");
        let reply = call(server.address, RESET, &fields);
        assert_eq!(reply.status, changes, "{fields}");
        assert_eq!(reply.field("www-authenticate").is_some(), changes == 401);
        assert!(!reply.body.contains(WRITE) && !reply.body.contains(READ), "{}", reply.body);
    }
}

/// Goal: wrong tokens end at a bound; who has a right one passes all the same.
/// Method: wrong ones up to the bound and beyond, and the right one after them.
#[test]
fn wrong_tokens_are_bounded() {
    let server = Server::administered(Admin::by_token(tokens()));
    let bearer = |token: &str| format!("Host: a\r\nAuthorization: Bearer {token}\r\n");
    for _ in 0..20 {
        assert_eq!(call(server.address, PEEK, &bearer(&READ.replace('0', "2"))).status, 401);
    }
    let reply = call(server.address, PEEK, &bearer(&READ.replace('0', "2")));
    assert_eq!((reply.status, reply.field("retry-after")), (429, Some("60")));
    assert_eq!(call(server.address, PEEK, &bearer(WRITE)).status, 200);
    assert_eq!(check(server.address, r#"{"rule":"token-bucket","key":"alice"}"#).status, 200);
}

/// Goal: a key is looked at and reset as the rule counts it, with the entries of a log.
/// Method: charges by the check API, then both calls; figures written down.
#[test]
fn a_key_is_looked_at_and_reset() {
    let server =
        Server::by("rules: [{id: login, key: ip, limit: 3/minute, algorithm: sliding_window_log}]");
    let ask = r#"{"request":{"method":"GET","path":"/","ip":"192.0.2.7"}}"#;
    assert_eq!(check(server.address, ask).status, 200);
    assert_eq!(check(server.address, ask).status, 200);
    let keys = |method: &str, query: &str| {
        let reply = send(server.address, &request(&format!("{method} /v1/keys?{query}"), "", ""));
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    };
    let left = keys("GET", "rule=login&key=192.0.2.7&entries=true");
    assert_eq!(left["remaining"], 1);
    assert_eq!((&left["rule"], &left["key"]), (&json!("login"), &json!(["192.0.2.7"])));
    assert_eq!(left["limits"], json!(["3/minute"]));
    let entries = left["entries"].as_array().expect("it has a log");
    assert_eq!(entries.iter().map(|own| own["cost"].as_u64()).sum::<Option<u64>>(), Some(2));
    assert_eq!(entries[0]["at"].as_f64(), Some(server.clock.now().as_secs_f64()));
    assert!(keys("GET", "rule=login&key=192.0.2.7").get("entries").is_none());
    assert_eq!(keys("DELETE", "rule=login&key=192.0.2.7")["remaining"], 3);
    let left = keys("GET", "rule=login&key=192.0.2.7&entries=true");
    assert_eq!((&left["remaining"], &left["entries"]), (&json!(3), &json!([])));
}

/// Goal: a bad question is answered with what is wrong, and changes nothing.
/// Method: each fault, with words that it must name.
#[test]
fn bad_questions_about_keys_are_told() {
    let server = Server::start();
    for (query, status, words) in [
        ("", 400, "`key` is missing"),
        ("rule=token-bucket", 400, "`key` is missing"),
        ("rule=token-bucket&key=", 400, "`key` is empty"),
        ("rule=&key=a", 400, "`rule` is empty"),
        ("rule=token-bucket&key=a&tier=", 400, "`tier` is empty"),
        ("rule=other&key=a", 404, "`rule` is unknown"),
        ("rule=a&rule=b&key=a", 400, "`rule` is there twice"),
        ("rule=token-bucket&key=a&x=1", 400, "there is no field `x`"),
        ("rule=token-bucket&key=a&entries=1", 400, "`entries` is neither true nor false"),
        (&format!("rule=token-bucket{}", "&key=a".repeat(17)), 400, "more than 16 `key`"),
        (&format!("rule=token-bucket&key={}", "a".repeat(8_200)), 414, "longer than 8192 bytes"),
    ] {
        for method in ["GET", "DELETE"] {
            let line = format!("{method} /v1/keys?{query}");
            let reply = send(server.address, &request(&line, "", ""));
            assert_eq!(reply.status, status, "{query}: {}", reply.body);
            assert!(reply.body.contains(words), "{query}: {}", reply.body);
        }
    }
}

/// Goal: a listener for administration has nothing else, and the other none of it.
/// Method: both, as a process; the token is from a file.
#[test]
fn administration_has_a_listener_of_its_own() {
    let config = "listen: {api: '127.0.0.1:0', admin: '127.0.0.1:0'}\nadmin: {token_file: t}\n\
                  rules: [{id: token-bucket, limit: 5/minute}]";
    let folder = Folder::of(&[("r.yaml", config), ("t", WRITE)]);
    let mut command = program::command();
    command.args(["serve", "--config", &folder.path("r.yaml")]);
    let server = Program::start(command);
    let admin = server.banner.iter().find_map(|line| line.strip_prefix("admin         http://"));
    let admin = admin.and_then(|address| address.parse().ok()).expect("the banner says where");
    let bearer = format!("Host: a\r\nAuthorization: Bearer {WRITE}\r\n");
    assert_eq!(call(admin, PEEK, &bearer).status, 200);
    assert_eq!(call(server.address, PEEK, &bearer).status, 404);
    assert_eq!(check(server.address, r#"{"rule":"token-bucket","key":"a"}"#).status, 200);
    assert_eq!(check(admin, r#"{"rule":"token-bucket","key":"a"}"#).status, 404);
    assert_eq!(call(admin, RESET, "Host: localhost\r\n").status, 401);
    let next = || server.err.recv_timeout(crate::wire::DEADLINE).expect("changes are noted");
    let open = next();
    assert!(open.ends_with("anyone on this machine can read the tokens there; `chmod 600` it"));
    let line = next();
    let line: serde_json::Value = serde_json::from_str(&line).expect("the log is JSON");
    assert_eq!(line["message"], "administration");
    let told = [&line["method"], &line["path"], &line["role"], &line["from"]];
    assert_eq!(told, ["DELETE", "/v1/keys", "nobody", "127.0.0.1"]);
    assert_eq!(line["status"], 401);
}

/// Goal: administration that others could reach without a token is not opened.
/// Method: a listener of its own beyond loopback is refused; the API's has it closed, and says so; a bad
/// token is told with its place.
#[test]
fn administration_is_never_open_to_others() {
    let rules = "rules: [{id: token-bucket, limit: 5/minute}]";
    let listens = format!("listen: {{api: '127.0.0.1:0', admin: '0.0.0.0:0'}}\n{rules}");
    let short = format!("listen: {{api: '127.0.0.1:0'}}\nadmin: {{token_file: t}}\n{rules}");
    let folder = Folder::of(&[("a.yaml", &listens), ("b.yaml", &short), ("t", "short")]);
    for (file, words) in [
        ("a.yaml", "`listen.admin` would let anyone who reaches it administer; set"),
        ("b.yaml", "t:1:1: the token is shorter than 32 bytes"),
    ] {
        let path = folder.path(file);
        for args in [&["serve", "--config", &path][..], &["validate", &path]] {
            let output = output(args);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(error.contains(words), "{error}");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        }
    }
    let mut command = program::command();
    command.args(["serve", "--listen", "0.0.0.0:0"]);
    let mut server = Program::start(command);
    server.address.set_ip([127, 0, 0, 1].into());
    let reply = call(server.address, PEEK, "Host: localhost\r\n");
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("administration is closed"), "{}", reply.body);
}

/// Goal: a server that is told to end goes on answering for a while, and a second signal ends it at once.
/// Method: the signal, calls on a new connection until it is refused; and the signal twice.
#[test]
fn a_second_signal_ends_at_once() {
    let mut server = Program::serve();
    let mut busy = connect(server.address);
    busy.write_all(b"POST /v1/check HTTP/1.1\r\n").expect("the connection is open");
    server.signal("TERM");
    // It has said that it stops before anything is refused.
    assert_eq!(send(server.address, &request("GET /livez", "", "")).status, 200);
    server.signal("TERM");
    let status = server.ended().expect("it ends, though a request is under way");
    assert_eq!(status.code(), Some(1));
    assert!(is_ended(&mut busy));
    assert!(server.last_words().ends_with("stopped at once\n"));
}

/// Goal: a refusal has a name, by which an administrator learns why; what is admitted has none.
/// Method: refusals of a key, of a request, in a batch and of a reservation, each asked for by its name.
#[test]
fn a_refusal_can_be_asked_for_by_its_name() {
    let server = Server::by(
        "rules: [{id: login, match: {path: /login}, key: ip, limit: 1/minute},
                 {id: api, match: {path: /api}, key: [user, 'header:X-Kind'], limit: 1/day}]",
    );
    let why = |id: &serde_json::Value| {
        let id = id.as_str().expect("a refusal has a name");
        let reply = call(server.address, &format!("GET /v1/decisions/{id}"), "Host: localhost\r\n");
        assert_eq!(reply.status, 200, "{}", reply.body);
        let told = reply.json();
        assert_eq!((&told["id"], &told["decision"]["id"]), (&json!(id), &json!(id)));
        assert_eq!(told["at"].as_f64(), Some(server.clock.now().as_secs_f64()));
        told
    };
    let request = r#"{"request":{"method":"POST","path":"/login","ip":"192.0.2.7"}}"#;
    let first = check(server.address, request).json();
    assert!(first["id"].is_null() && first["allowed"] == true, "{first}");
    let refused = check(server.address, request).json();
    let told = why(&refused["id"]);
    assert_eq!(told["decision"], refused);
    let asked =
        json!({"key": ["192.0.2.7"], "method": "POST", "path": "/login", "ip": "192.0.2.7"});
    assert_eq!((&told["asked"], &told["door"]), (&asked, &json!("check")));

    let key = r#"{"rule":"api","key":["alice","x"]}"#;
    let batch = check(server.address, &format!("[{key},{key}]")).json();
    assert!(batch[0]["id"].is_null());
    assert_eq!(why(&batch[1]["id"])["asked"], json!({"key": ["alice", "x"]}));
    let reserved = crate::wire::post(server.address, "/v1/reserve", key).json();
    assert_eq!(why(&reserved["id"])["decision"]["rule"], "api");

    let unknown = call(server.address, "GET /v1/decisions/01J0", "Host: localhost\r\n");
    assert_eq!(unknown.status, 404);
}

/// Goal: a page of another site charges nothing.
/// Method: what browsers send along, on every path that takes a body.
#[test]
fn pages_of_other_sites_ask_nothing() {
    let server = Server::start();
    let body = r#"{"rule":"token-bucket","key":"alice"}"#;
    for path in ["check", "reserve", "settle", "cancel", "release"] {
        for field in ["Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
            let line = format!("POST /v1/{path}");
            assert_eq!(send(server.address, &request(&line, field, body)).status, 403, "{path}");
        }
    }
    assert_eq!(check(server.address, body).json()["remaining"], 9);
}
