//! The console's files, and who is let in to see anything by them.
//!
//! Invariant: a cookie alone changes nothing, and no answer shows a token.

use crate::server::Server;
use crate::wire::{Reply, read_head, request, send};
use ratekeeper_server::admin::{Admin, Tokens};
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;

const READ: &str = "0000000000000000000000000000000a";
const WRITE: &str = "1111111111111111111111111111111a";
const RESET: &str = "DELETE /v1/keys?rule=token-bucket&key=alice";
const JSON: &str = "Content-Type: application/json\r\n";

fn guarded() -> Server {
    let tokens = Tokens::read(&format!("read {READ}\nwrite {WRITE}")).expect("these are tokens");
    Server::administered(Admin::by_token(tokens))
}

fn sign_in(address: SocketAddr, token: &str, fields: &str) -> Reply {
    let body = json!({ "token": token }).to_string();
    send(address, &request("POST /v1/session", &format!("{JSON}{fields}"), &body))
}

/// The cookie that an answer gives, as a browser sends it back.
fn cookie(reply: &Reply) -> String {
    let given = reply.field("set-cookie").expect("there is a cookie");
    format!("Cookie: {}\r\n", given.split(';').next().unwrap_or_default())
}

fn session(address: SocketAddr, fields: &str) -> Value {
    send(address, &request("GET /v1/session", fields, "")).json()
}

/// Every file that the page names.
fn assets(page: &str) -> Vec<&str> {
    let named = page.split("\"/assets/").skip(1).filter_map(|rest| rest.split('"').next());
    named.collect()
}

/// Goal: the page and its files are there, with a policy that lets nothing else in, kept for as long as they are true.
/// Method: the page, each file that it names, the same again by its tag, and compressed; the whole weight.
#[test]
fn the_console_is_served_from_the_program() {
    let server = Server::start();
    let get = |path: &str, fields: &str| {
        send(server.address, &request(&format!("GET {path}"), fields, ""))
    };
    let page = get("/", "");
    assert_eq!((page.status, page.field("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.field("cache-control"), Some("no-cache"));
    let policy = page.field("content-security-policy").expect("there is a policy");
    for part in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(page.field("x-content-type-options"), Some("nosniff"));
    assert!(!page.body.contains("<style") && !page.body.contains(" style="), "{}", page.body);
    assert!(
        page.body.matches("<script").count()
            == page.body.matches("<script type=\"module\"").count()
    );
    let (mut weight, names) = (0, assets(&page.body));
    assert!(
        names.iter().any(|name| name.ends_with(".js"))
            && names.iter().any(|name| name.ends_with(".css"))
    );
    for name in names {
        let mut stream = crate::wire::connect(server.address);
        let line = format!("GET /assets/{name}");
        stream
            .write_all(request(&line, "Accept-Encoding: br, gzip\r\n", "").as_bytes())
            .expect("it is open");
        let small = read_head(&mut stream);
        assert_eq!((small.status, small.field("content-encoding")), (200, Some("gzip")), "{name}");
        weight += small
            .field("content-length")
            .and_then(|own| own.parse::<usize>().ok())
            .expect("a length");
        let plain = get(&format!("/assets/{name}"), "Accept-Encoding: gzip;q=0\r\n");
        assert_eq!((plain.status, plain.field("content-encoding")), (200, None));
        assert!(plain.field("cache-control").is_some_and(|kept| kept.contains("immutable")));
        let tag = plain.field("etag").expect("it has a tag").to_owned();
        let again = get(&format!("/assets/{name}"), &format!("If-None-Match: \"x\", {tag}\r\n"));
        assert_eq!((again.status, &*again.body), (304, ""));
        assert_eq!(get(&format!("/assets/{name}.gz"), "").status, 404, "it is no file of its own");
    }
    assert!(weight < 100_000, "{weight} bytes compressed");
    for path in [
        "/assets/other.js",
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
        "/assets/",
        "/assets/%ff",
    ] {
        assert_eq!(get(path, "").status, 404, "{path}");
    }
}

/// Goal: what is embedded is what was built: each file is the same compressed.
/// Method: unpack every `.gz` of the folder by the system's tool.
#[test]
fn compressed_files_are_the_same() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
    let mut stack = vec![folder];
    let mut seen = 0;
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|end| end == "gz") {
                let out = std::process::Command::new("gzip")
                    .arg("-dc")
                    .arg(&path)
                    .output()
                    .expect("gzip is there");
                let plain = std::fs::read(path.with_extension("")).expect("the file beside it");
                assert!(out.status.success() && out.stdout == plain, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "{seen} files");
}

/// Goal: a token becomes a cookie that no script reads, which lets its owner look, and change with the second value.
/// Method: sign in with each role; look, change with and without the second value, and sign out.
#[test]
fn a_token_is_entered_once() {
    let server = guarded();
    let nobody = session(server.address, "");
    assert_eq!((&nobody["access"], &nobody["role"]), (&json!("token"), &Value::Null));
    assert_eq!((&nobody["node"], &nobody["version"]), (&Value::Null, &Value::Null));
    for (token, role, changes) in [(WRITE, "write", 200), (READ, "read", 403)] {
        let reply = sign_in(server.address, token, "Origin: http://localhost\r\n");
        assert_eq!((reply.status, &reply.json()["role"]), (200, &json!(role)));
        let given = reply.field("set-cookie").expect("there is a cookie").to_owned();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
            assert!(given.contains(part), "{given}");
        }
        assert!(!given.contains("Secure") && !given.contains(token) && !reply.body.contains(token));
        let own = cookie(&reply);
        let csrf = session(server.address, &own)["csrf"].as_str().expect("it is told").to_owned();
        assert_eq!(json!(csrf), reply.json()["csrf"]);
        assert_eq!(session(server.address, &own)["role"], role);
        let get = send(server.address, &request("GET /v1/top", &own, ""));
        assert_eq!(get.status, 200, "looking needs no more");
        for (fields, status) in [
            (format!("{own}X-Csrf-Token: {csrf}\r\n"), changes),
            (own.clone(), 403),
            (format!("{own}X-Csrf-Token: {}\r\n", csrf.to_uppercase()), 403),
            (format!("{own}X-Csrf-Token: {csrf}\r\nSec-Fetch-Site: cross-site\r\n"), 403),
            (format!("{own}X-Csrf-Token: {csrf}\r\nOrigin: http://evil.example\r\n"), 403),
            (format!("X-Csrf-Token: {csrf}\r\n"), 401),
        ] {
            assert_eq!(
                send(server.address, &request(RESET, &fields, "")).status,
                status,
                "{fields}"
            );
        }
        let left = send(server.address, &request("DELETE /v1/session", &own, ""));
        assert_eq!((left.status, &left.json()["role"]), (200, &Value::Null));
        assert!(left.field("set-cookie").is_some_and(|gone| gone.contains("Max-Age=0")));
    }
}

/// Goal: whatever other cookies this host has, ours is found; the higher of two roles of a token counts, as elsewhere.
/// Method: bytes that are no text beside it, an older one of our name before it; a file that has a token twice.
#[test]
fn a_cookie_is_found_among_others() {
    let tokens = Tokens::read(&format!("write {WRITE}\nread {WRITE}")).expect("these are tokens");
    let server = Server::administered(Admin::by_token(tokens));
    let own = cookie(&sign_in(server.address, WRITE, ""));
    let own = own.trim_start_matches("Cookie: ").trim_end();
    for line in [
        format!("Cookie: a=\u{e9}; {own}\r\n"),
        format!("Cookie: ratekeeper=1.2.3; {own}; b=c\r\n"),
        format!("Cookie: xratekeeper=1;{own}\r\n"),
        format!("Cookie: a=b\r\nCookie: {own}\r\n"),
    ] {
        assert_eq!(session(server.address, &line)["role"], "write", "{line}");
    }
}

/// Goal: over TLS a cookie goes over TLS alone; a page of another site signs nobody in, nor out.
/// Method: the origin of a page behind a proxy that ends TLS, and one of another host.
#[test]
fn sign_in_is_for_our_own_page() {
    let server = guarded();
    let reply = sign_in(server.address, WRITE, "Origin: https://localhost\r\n");
    assert!(reply.field("set-cookie").is_some_and(|given| given.ends_with("; Secure")));
    for fields in ["Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let reply = sign_in(server.address, WRITE, fields);
        assert_eq!((reply.status, reply.field("set-cookie")), (403, None), "{fields}");
        let reply = send(server.address, &request("DELETE /v1/session", fields, ""));
        assert_eq!((reply.status, reply.field("set-cookie")), (403, None), "{fields}");
        assert_eq!(send(server.address, &request("GET /v1/session", fields, "")).status, 403);
    }
    let form = request(
        "POST /v1/session",
        "Content-Type: text/plain\r\n",
        &format!(r#"{{"token":"{WRITE}"}}"#),
    );
    assert_eq!(send(server.address, &form).status, 415, "a form cannot send JSON");
}

/// Goal: whoever guesses tokens is made to wait, here as with the field `Authorization`; bad bodies are told.
/// Method: as many wrong ones as are let through, and one more; the right one is let in all the same.
#[test]
fn who_guesses_has_to_wait() {
    let server = guarded();
    for body in ["{}", "[]", r#"{"token":7}"#, r#"{"token":""}"#, r#"{"token":"a","x":1}"#] {
        let reply = send(server.address, &request("POST /v1/session", JSON, body));
        assert_eq!(reply.status, 400, "{body}");
    }
    let wrong = WRITE.replace('1', "2");
    for _ in 0..20 {
        let reply = sign_in(server.address, &wrong, "");
        assert_eq!((reply.status, reply.field("set-cookie")), (401, None));
        assert!(!reply.body.contains(&wrong));
    }
    let reply = sign_in(server.address, &wrong, "");
    assert_eq!((reply.status, reply.field("retry-after")), (429, Some("60")));
    assert_eq!(sign_in(server.address, WRITE, "").status, 200);
}

/// Goal: where there is no token, whoever is on this machine is let in at once, and nobody by another name.
/// Method: the session by names of this machine and by another; a sign-in that nobody needs.
#[test]
fn on_this_machine_nobody_is_asked() {
    let server = Server::start();
    let own = session(server.address, "");
    assert_eq!(
        (&own["access"], &own["role"], &own["csrf"]),
        (&json!("local"), &json!("write"), &Value::Null)
    );
    assert_eq!((&own["store"], &own["release"]), (&json!("memory"), &json!(1)));
    assert_eq!(sign_in(server.address, WRITE, "").json()["role"], "write");
    let rebound = "GET /v1/session HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(send(server.address, rebound).status, 403);
}

/// Goal: what the page about the console tells to send is answered, and what it shows of a start is printed.
/// Method: the body and path of its line of curl, and the line that names the console.
#[test]
fn the_page_about_the_console_is_true() {
    let page = include_str!("../../../../docs/console.md");
    let line =
        page.lines().find(|line| line.starts_with("curl --json '")).expect("there is a line");
    let (body, url) = line["curl --json '".len()..].split_once("' ").expect("a body and a URL");
    let path = url.strip_prefix("http://127.0.0.1:8080").expect("the usual address");
    let server = Server::start();
    let reply = crate::wire::post(server.address, path, body);
    assert_eq!((reply.status, &reply.json()["answers"][0]["remaining"]), (200, &json!(9)));
    let banner = include_str!("golden/banner.txt").replace("PORT", "8080");
    let said = page.lines().find(|line| line.starts_with("console ")).expect("it is shown");
    assert!(banner.lines().any(|line| line == said), "{said}");
}
