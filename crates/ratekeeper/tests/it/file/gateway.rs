//! What files say about the gateway.
//!
//! Invariant: faults are files of `tests/files/bad`; here is what is read, and each bound on both sides.

use super::{good, refused};
use ratekeeper::rule::file::{AccessLog, Auth, Gateway, Scheme, Timeouts, Upstream};
use std::fmt::Write;
use std::time::Duration;

/// The gateway of a file with these fields beside where it listens.
fn gateway(fields: &str) -> Gateway {
    let file = good(&format!("gateway:\n  listen: 127.0.0.1:80\n{fields}"));
    file.settings.gateway.expect("the file has a gateway")
}

/// The upstreams of a file with one route.
fn upstreams(written: &str) -> Vec<Upstream> {
    gateway(&format!("  routes: [{{path: /a, upstream: {written}}}]")).routes.remove(0).upstreams
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Goal: what a gateway leaves out is as the documentation says.
/// Method: a gateway with nothing but where it listens and one route.
#[test]
fn a_gateway_has_defaults() {
    let gateway = gateway("  routes: [{path: /a, upstream: 'http://b'}]");
    assert_eq!((gateway.listen.as_str(), gateway.tls, gateway.ca), ("127.0.0.1:80", None, None));
    assert_eq!(gateway.access_log, AccessLog::None);
    let [route] = gateway.routes.as_slice() else { panic!("{:?}", gateway.routes) };
    assert_eq!((route.auth, route.health.as_deref()), (Auth::None, None));
    let (connect, first_byte, idle, total) = (ms(2_000), ms(30_000), ms(60_000), ms(3_600_000));
    assert_eq!(route.timeouts, Timeouts { connect, first_byte, idle, total });
    assert_eq!(route.timeouts, Timeouts::default());
}

/// Goal: each field of a gateway and of its routes is read, and a route's times go before the gateway's.
/// Method: three routes that say all, something and nothing.
#[test]
fn every_field_of_a_gateway_is_read() {
    let gateway = gateway(
        "  tls: {cert: c.pem, key: k.pem}
  ca: ca.pem
  access_log: combined
  timeouts: {connect: 1ms, total: 24h}
  routes:
    - path: /a
      upstream: ['http://b:1', 'h2c://b:1']
      health: /healthz
      timeouts: {connect: 5ms, first_byte: 6ms, idle: 7ms, total: 8ms}
    - {path: /b, upstream: 'http://b', timeouts: {total: 10m}, auth: optional}
    - {path: '/**', upstream: 'http://b', auth: required, health: /ok}
identity: {api_key: {keys: []}}",
    );
    assert_eq!(gateway.tls, Some(("c.pem".into(), "k.pem".into())));
    assert_eq!((gateway.ca.as_deref(), gateway.access_log), (Some("ca.pem"), AccessLog::Combined));
    let [all, some, none] = gateway.routes.as_slice() else { panic!("{:?}", gateway.routes) };
    let paths = [all, some, none].map(|route| route.path.as_str());
    assert_eq!(paths, ["/a", "/b", "/**"]);
    assert_eq!([all.auth, some.auth, none.auth], [Auth::None, Auth::Optional, Auth::Required]);
    let healths = [all, some, none].map(|route| route.health.as_deref());
    assert_eq!(healths, [Some("/healthz"), None, Some("/ok")]);
    let (connect, first_byte, idle, total) = (ms(5), ms(6), ms(7), ms(8));
    assert_eq!(all.timeouts, Timeouts { connect, first_byte, idle, total });
    let (first_byte, idle) = (ms(30_000), ms(60_000));
    let (connect, total) = (ms(1), ms(86_400_000));
    assert_eq!(none.timeouts, Timeouts { connect, first_byte, idle, total });
    assert_eq!(some.timeouts, Timeouts { total: ms(600_000), ..none.timeouts });
    assert_eq!(all.upstreams.len(), 2, "the scheme tells them apart");
}

/// Goal: a URL is read into its parts, has one spelling, and is shown so that it is read as the same.
/// Method: URLs, their parts and how they are shown, written down; and what is shown read again.
#[test]
fn upstreams_are_read_into_their_parts() {
    let long = format!("{}.{}", "a".repeat(63), "b".repeat(63));
    for (written, scheme, host, port, shown) in [
        ("http://127.0.0.1:9000", Scheme::Http, "127.0.0.1", 9_000, "http://127.0.0.1:9000"),
        ("http://b", Scheme::Http, "b", 80, "http://b:80"),
        ("https://B.Example/", Scheme::Https, "b.example", 443, "https://b.example:443"),
        ("h2c://b", Scheme::H2c, "b", 80, "h2c://b:80"),
        ("h2c://my_app-1:1", Scheme::H2c, "my_app-1", 1, "h2c://my_app-1:1"),
        ("http://1a.2b:65535", Scheme::Http, "1a.2b", 65_535, "http://1a.2b:65535"),
        ("https://[::1]", Scheme::Https, "::1", 443, "https://[::1]:443"),
        ("http://[2001:DB8:0::1]:1", Scheme::Http, "2001:db8::1", 1, "http://[2001:db8::1]:1"),
        (&format!("http://{long}"), Scheme::Http, &long, 80, &format!("http://{long}:80")),
    ] {
        let read = upstreams(&format!("'{written}'"));
        assert_eq!(read, [Upstream { scheme, host: host.into(), port }], "{written}");
        assert_eq!(read[0].to_string(), shown);
        assert_eq!(upstreams(&format!("['{shown}']")), read, "{shown}");
    }
    let long = format!("{}.c", "a".repeat(64));
    assert!(refused_upstream(&format!("http://{long}")).contains("neither a name nor an address"));
    let long = ["a".repeat(63).as_str(); 4].join(".");
    assert!(refused_upstream(&format!("http://{long}")).contains("neither a name nor an address"));
}

/// What is said of a file with this upstream.
fn refused_upstream(written: &str) -> String {
    let route = format!("{{path: /a, upstream: {written}}}");
    refused(&format!("gateway: {{listen: '127.0.0.1:80', routes: [{route}]}}"))
}

/// Goal: no fault repeats a URL, since there may be a password in it.
/// Method: a password in URLs with each kind of fault.
#[test]
fn passwords_of_upstreams_are_not_shown() {
    for url in ["http://u:s3cret@a", "ftp://u:s3cret@a", "http://a/?p=s3cret", "u:s3cret@a"] {
        let shown = refused_upstream(&format!("'{url}'"));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

/// Goal: a route has at most 64 upstreams.
/// Method: as many, and one more.
#[test]
fn upstreams_are_bounded() {
    let list = |count: usize| {
        let urls: Vec<String> = (0..count).map(|nth| format!("'http://b{nth}'")).collect();
        format!("[{}]", urls.join(", "))
    };
    assert_eq!(upstreams(&list(64)).len(), 64);
    let shown = refused_upstream(&list(65));
    assert!(shown.contains("a route has more than 64 upstreams; "), "{shown}");
}

/// Goal: ten thousand routes are the most, and one that is never reached is found among them.
/// Method: as many, with the wildcard last and first, and one more.
#[test]
fn routes_are_bounded_and_compared() {
    let routes = |count: usize| {
        let mut text = "gateway:\n  listen: 127.0.0.1:80\n  routes:\n".to_owned();
        for nth in 0..count {
            writeln!(text, "  - {{path: '/r{nth}/**', upstream: 'http://b'}}").expect("text");
        }
        text
    };
    let last = "  - {path: '/**', upstream: 'http://b'}\n";
    let read = good(&(routes(9_999) + last));
    assert_eq!(read.settings.gateway.unwrap().routes.len(), 10_000);
    let shown = refused(&(routes(9_998) + last + "  - {path: /x, upstream: 'http://b'}\n"));
    assert!(shown.starts_with("r.yaml:10003:12: the route at r.yaml:10002:12 takes"), "{shown}");
    let shown = refused(&routes(10_001));
    assert!(shown.contains("`routes` has 10001 routes; write 1 to 10000"), "{shown}");
}

/// Goal: any way of being verified lets a route ask for it, be it one with a fault of its own.
/// Method: files that say one of them; the fault of a token's key is the only one.
#[test]
fn either_way_verifies() {
    let routes = "  routes: [{path: /a, upstream: 'http://b', auth: required}]";
    gateway(&format!("{routes}\nidentity: {{api_key: {{keys: []}}}}"));
    let file = format!("gateway:\n  listen: 127.0.0.1:80\n{routes}\nidentity: {{jwt: {{}}}}");
    assert!(!refused(&file).contains("verified"), "{}", refused(&file));
}
