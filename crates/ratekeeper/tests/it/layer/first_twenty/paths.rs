//! Rows 9 to 12: one resource by many names, and one method by another.
//!
//! Invariant: a spelling is counted as the path that it is, or refused; it never passes uncounted.

use super::{MOST, attack, five, other_is_unharmed};
use crate::layer::{CALLER, Door, by, door, from, get, on, rule, with};
use http::{Request, Uri};
use ratekeeper::rule::pattern::HostPattern;
use ratekeeper::rule::{KeyKind, KeySpec, RuleSpec};

/// Five a minute for each address on `/x/y`, and all of it closed to spellings: other paths pass.
fn on_x_y() -> Door {
    door([on("/x/y", five())])
}

/// Uses up what the caller has.
fn spent(door: &Door) {
    assert_eq!(door.admits((0..9).map(|_| get("/x/y"))), MOST);
}

/// Goal: row 9. Slashes, case, dots, parameters and queries make no other path.
/// Method: every spelling, under a rule for the path, and under one that counts by path.
#[test]
fn row_09_spellings_of_a_path() {
    let spellings = [
        "/x/y",
        "//x/y",
        "/x//y",
        "/x/y/",
        "/X/Y",
        "/x/y/.",
        "/x/./y",
        "/x;a=1/y",
        "/x/y;b",
        "/x/y?",
        "/x/y?a=/z",
        "/x/y#",
        "/x/z/../y",
        "/%78/y",
        "/x/y//",
    ];
    attack(&on_x_y(), spellings.map(get));
    let by_path = KeySpec { parts: vec![vec![KeyKind::Ip], vec![KeyKind::Path]] };
    let door = door([RuleSpec { key: by_path, ..rule("path", "5/minute") }]);
    attack(&door, spellings.map(get));
}

/// Goal: row 10. What servers decode to different paths is refused, or is the path that it is; once the
/// limit is used up, none of it passes.
/// Method: escapes of slashes, backslashes, dots and NUL, twice escaped and overlong.
#[test]
fn row_10_escapes() {
    let door = on_x_y();
    spent(&door);
    for path in [
        "/x%2Fy",
        "/x%2fy",
        "/x%5Cy",
        "/x%5cy",
        "/z/%2e%2e/x/y",
        "/z/%2E%2E/x/y",
        "/x/%2e/y",
        "/x%252Fy",
        "/x%252fy",
        "/x/y%00",
        "/x/%00y",
        "/x%c0%afy",
        "/x/%c1%99",
        "/%2e%2e/x/y",
        "/../x/y",
        "/x/%u0079",
        "/x/%y",
        "/x/y%",
        "/x/y%3b",
        "/x/y/%2e",
        "/x/y%2e%2e/../y",
        "/./x/y",
    ] {
        let status = door.status(get(path));
        assert!(status == 429 || status == 400, "{path} is {status}");
    }
    assert_eq!(door.calls(), MOST);
    other_is_unharmed(&door);
}

/// Goal: row 10. A backslash, and dots after a name, are refused where they could be a way out.
/// Method: as they are, for a rule on what is below a path.
#[test]
fn row_10_backslashes_and_dots_after_names() {
    let door = door([on("/api/**", five())]);
    assert_eq!(door.admits((0..9).map(|_| get("/api/x"))), MOST);
    for path in [
        "/api/../api/x",
        "/api/x/../../api",
        "/API/x",
        "/z/..%2fapi/x",
        "/api%2e%2e/x",
        "/api../x",
        "/z/..;/api/x",
        "/z\\..\\api",
    ] {
        let Ok(uri) = path.parse::<Uri>() else { continue };
        let status = door.status(get(&uri.to_string()));
        assert!(status == 429 || status == 400, "{path} is {status}");
    }
}

/// Goal: row 11. A target in absolute form is the path in it; without a path there is none to match.
/// Method: each form of a target, once the limit is used up.
#[test]
fn row_11_forms_of_targets() {
    let door = on_x_y();
    spent(&door);
    for target in
        ["http://example.com/x/y", "HTTP://user:pw@example.com:80//x/./y?q", "https://[::1]/x/y"]
    {
        assert_eq!(door.status(get(target)), 429, "{target}");
    }
    let connect = Request::builder().method("CONNECT").uri("example.com:443");
    assert_eq!(door.status(connect.body(()).unwrap()), 400);
    assert_eq!(door.status(get("example.com")), 400);
    assert!("x/y".parse::<Uri>().is_err(), "such a target cannot be in a request");
    assert_eq!(
        door.status(from(CALLER, "OPTIONS", "*")),
        200,
        "the server as a whole is another path"
    );
    let call = with(from(CALLER, "POST", "pkg.Service"), "content-type", "application/grpc");
    assert_eq!(door.ask(call).field("grpc-status"), Some("3"));
}

/// Goal: row 11. `*` is counted where a rule is for everything.
/// Method: a rule for all paths, and one for all requests.
#[test]
fn row_11_the_server_as_a_whole() {
    for rule in [on("/**", five()), five()] {
        attack(&door([rule]), (0..9).map(|_| from(CALLER, "OPTIONS", "*")));
    }
}

/// Goal: row 11. A host is the same whoever is named before it, whichever port behind it, and in
/// whichever place: nothing in a target escapes a rule for a host, or opens a bucket of its own.
/// Method: names, ports, dots and case, in the target and in the field; a rule for the host, and one
/// that counts by it.
#[test]
fn row_11_a_host_in_every_spelling() {
    let mut for_host = five();
    for_host.matches.hosts.push(HostPattern::parse("api.example.com").unwrap());
    let by_host = by(KeyKind::Host, rule("host", "5/minute"));
    let targets = (0..4).flat_map(|nth| {
        [
            get(&format!("http://u{nth}@api.example.com/x")),
            get(&format!("http://u{nth}:p@API.example.com:8{nth}/x")),
            with(get("/x"), "host", format!("api.example.com:8{nth}")),
            with(get("/x"), "host", "API.Example.Com."),
            with(get("http://api.example.com./x"), "host", "api.example.com"),
        ]
    });
    let targets: Vec<_> = targets.collect();
    assert_eq!(door([for_host]).admits(targets.clone()), MOST);
    assert_eq!(door([by_host]).admits(targets), MOST);
}

/// Goal: row 12. `HEAD` is `GET`, preflights are counted like the rest, and a field that asks for another
/// method does not change the one that is counted.
/// Method: a rule for a method, and one for all.
#[test]
fn row_12_methods() {
    let mut gets = five();
    gets.matches.methods.push("GET".into());
    let methods = ["GET", "HEAD", "get", "Head"];
    attack(&door([gets]), (0..12).map(|nth| from(CALLER, methods[nth % 4], "/x/y")));
    let preflight = |nth: usize| {
        let request = with(from(CALLER, "OPTIONS", "/x/y"), "origin", "https://example.com");
        with(request, "access-control-request-method", ["PUT", "GET"][nth % 2])
    };
    attack(&on_x_y(), (0..9).map(preflight));
    let mut posts = five();
    posts.matches.methods.push("POST".into());
    let other = ["GET", "DELETE", "PATCH", "OPTIONS"];
    let posted =
        |nth: usize| with(from(CALLER, "POST", "/x/y"), "x-http-method-override", other[nth % 4]);
    let door = door([posts]);
    assert_eq!(door.admits((0..9).map(posted)), MOST);
}

/// Goal: row 11. Where a target and a field name different hosts, or there are two fields, a service may
/// read another than the rules do: such a request is refused.
/// Method: a rule for one host, and the other before it, behind it, and beside it.
#[test]
fn row_11_two_hosts() {
    let mut for_host = five();
    for_host.matches.hosts.push(HostPattern::parse("api.example.com").unwrap());
    let door = door([for_host]);
    for request in [
        with(get("http://other.example/x"), "host", "api.example.com"),
        with(get("http://api.example.com/x"), "host", "other.example"),
        with(with(get("/x"), "host", "other.example"), "host", "api.example.com"),
        with(with(get("/x"), "host", "api.example.com"), "host", "api.example.com"),
    ] {
        assert_eq!(door.status(request), 400);
    }
    assert_eq!((door.calls(), door.status(with(get("/x"), "host", "api.example.com"))), (0, 200));
}
