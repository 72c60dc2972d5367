//! Passwords and TLS, as `redis-cli` says them.
//!
//! Invariant: without the password, or without TLS where there is TLS, nothing is decided.

use crate::certificate::Certificate;
use crate::server::Server;
use crate::shell::cli;

const PASSWORD: &str = "a password of no one, 7f3a9c";

/// Goal: who knows the password is let in, in either version of the protocol, and nobody else.
/// Method: `redis-cli` without one, with a wrong one, as another user, and with the right one.
#[test]
fn a_password_is_needed_where_there_is_one() {
    let config = "listen: {resp: 127.0.0.1:0}\nresp: {password_file: password}\n\
                  rules: [{id: api, key: user, limit: 3/minute}]";
    let server = Server::of(config, &[("password", PASSWORD)]);
    let check = ["--no-auth-warning", "RK.CHECK", "api", "ann"];
    let ask = |first: &[&str]| cli(&server, &[first, &check].concat());
    for wrong in [&["--pass", "wrong"], &["--user", "other", "--pass", PASSWORD][..]] {
        let said = ask(wrong);
        assert_eq!(said.err.trim(), "AUTH failed: WRONGPASS invalid username-password pair");
        assert_eq!(said.out.trim(), "NOAUTH Authentication required.");
    }
    assert_eq!(ask(&[]).out.trim(), "NOAUTH Authentication required.");
    let right = ask(&["--user", "default", "--pass", PASSWORD]);
    assert_eq!(right.lines()[..3], ["1", "3", "2"], "none before was counted");
    assert_eq!(ask(&["--pass", PASSWORD]).lines()[..3], ["1", "3", "1"]);
    assert_eq!(ask(&["-3", "--pass", PASSWORD]).lines()[..3], ["1", "3", "0"]);
}

/// Goal: where there is a certificate, clients that trust its authority are answered over TLS, and plain text is not.
/// Method: `redis-cli` with the authority, with another one, and without TLS.
#[test]
fn tls_is_spoken_where_there_is_a_certificate() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    let config = "listen: {resp: 127.0.0.1:0}\nresp: {tls: {cert: cert.pem, key: key.pem}}\n\
                  rules: [{id: api, key: user, limit: 3/minute}]";
    let files = [
        ("cert.pem", &*certificate.own),
        ("key.pem", &certificate.key),
        ("ca.pem", &certificate.authority),
        ("other.pem", &other.authority),
    ];
    let server = Server::of(config, &files);
    let check = ["RK.CHECK", "api", "ann"];
    let distrusted = cli(&server, &[&["--tls", "--cacert", "other.pem"], &check[..]].concat());
    assert!(
        distrusted.code != Some(0) && distrusted.err.contains("verify failed"),
        "{distrusted:?}"
    );
    let plain = cli(&server, &check);
    assert!(plain.code != Some(0) && plain.out.is_empty(), "{plain:?}");
    let right = cli(&server, &[&["--tls", "--cacert", "ca.pem"], &check[..]].concat());
    assert_eq!(right.lines(), ["1", "3", "2", "-1", "20000", "-1", "store", ""]);
    let third = cli(&server, &[&["-3", "--tls", "--cacert", "ca.pem"], &check[..]].concat());
    assert_eq!(third.lines()[..3], ["1", "3", "1"]);
}
