//! Over TLS: certificates, names and ports that are right and wrong.
//!
//! Invariant: nothing is ever sent in plain text where TLS was asked for.

use super::{PASSWORD, config, refused, verify};
use ratekeeper::outage::Class;
use ratekeeper::{Limiter, RedisConfig, Source};
use ratekeeper_testing::servers::{Kind, Server, free_port};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs;
use std::time::Duration;

/// Somebody who signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server whose certificate is for these names. It has a plain port, too.
    fn server(&self, names: &[&str]) -> (Server, u16) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let port = free_port();
        let dir =
            std::env::temp_dir().join(format!("ratekeeper-tls-{}-{port}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = |name: &str, text: String| {
            let path = dir.join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let files = [
            file("server.crt", certificate.pem()),
            file("server.key", key.serialize_pem()),
            file("ca.crt", self.pem()),
        ];
        let options = [
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            &files[0],
            "--tls-key-file",
            &files[1],
            "--tls-ca-cert-file",
            &files[2],
            "--tls-auth-clients",
            "no",
        ];
        let server = Server::with(Kind::Redis, &options);
        fs::remove_dir_all(&dir).unwrap();
        (server, port)
    }
}

/// What a plain port was asked that no test of TLS may ask in plain text.
fn commands(server: &Server) -> String {
    let stats = server.text(&["INFO", "commandstats"]);
    let ours =
        |line: &&str| ["auth", "select", "eval", "hello"].iter().any(|name| line.contains(name));
    stats.lines().filter(ours).collect()
}

/// Goal: a server whose certificate is signed by who was named, for the name that was used, is taken.
/// Method: by address and by name, and a decision.
#[tokio::test]
async fn a_server_with_the_right_certificate_is_taken() {
    let authority = Authority::new();
    let (_server, port) = authority.server(&["localhost", "127.0.0.1"]);
    for host in ["localhost", "127.0.0.1"] {
        let config = config(&format!("rediss://{host}:{port}/0")).ca(authority.pem().as_bytes());
        verify(config.clone()).await.unwrap();
        let config = config.deadline(Duration::from_secs(1));
        let limiter = Limiter::redis(config).rule("api", "10/minute").unwrap().build();
        let decision = limiter.rule("api").unwrap().check(host).await;
        assert_eq!((decision.source(), decision.remaining()), (Source::Store, 9));
    }
}

/// Goal: a certificate of somebody else, or for another name, is refused, and so is a port that does not
/// speak TLS; nothing is then sent in plain text.
/// Method: each of them, by `verify` and by a decision; then what the server was asked.
#[tokio::test]
async fn a_wrong_certificate_name_or_port_is_refused_and_nothing_goes_in_plain_text() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (server, port) = authority.server(&["localhost"]);
    let over_tls = |host: &str, port: u16, ca: &Authority| -> RedisConfig {
        config(&format!("rediss://:{PASSWORD}@{host}:{port}/0")).ca(ca.pem().as_bytes())
    };
    let place = format!("`rediss://:***@localhost:{port}`");
    let words = [&place, "invalid peer certificate", "; give the certificate of who signed"];
    refused(over_tls("localhost", port, &other), Class::Connection, &words).await;
    let place = format!("`rediss://:***@127.0.0.1:{port}`");
    let words = [&place, "not valid for name", "; write the name that the certificate is for"];
    refused(over_tls("127.0.0.1", port, &authority), Class::Connection, &words).await;
    let plain = over_tls("localhost", server.port(), &authority);
    let place = format!("`rediss://:***@localhost:{}`", server.port());
    let words = [&place, "TLS: ", "; does this port speak TLS?"];
    refused(plain.clone(), Class::Connection, &words).await;
    let limiter = Limiter::redis(plain).rule("api", "10/minute").unwrap().build();
    for _ in 0..10 {
        let decision = limiter.rule("api").unwrap().check("alice").await;
        assert_eq!(decision.source(), Source::FailedOpen);
    }
    assert_eq!(commands(&server), "");
    assert_eq!(server.text(&["DBSIZE"]), "0");
}

/// Goal: plain text to a port that speaks TLS is told as such, with and without a login.
/// Method: the port of a server's TLS as `redis://`.
#[tokio::test]
async fn plain_text_to_a_port_of_tls_is_told() {
    let (_server, port) = Authority::new().server(&["localhost"]);
    for login in ["", &format!(":{PASSWORD}@")] {
        let words =
            ["; is this a Redis or Valkey server, and without TLS? with TLS, write rediss://"];
        let config = config(&format!("redis://{login}localhost:{port}/0"));
        refused(config, Class::Connection, &words).await;
    }
}

/// Goal: what was given as a certificate and is none is told before anything is sent.
/// Method: nothing, text, and half a certificate.
#[tokio::test]
async fn a_certificate_that_cannot_be_read_is_told() {
    let (authority, server) = (Authority::new(), Server::start(Kind::Redis));
    let pem = authority.pem();
    for (ca, words) in [
        ("", ["has no certificate to know the server by", "; give the CA as PEM"]),
        ("a password", ["has no certificate to know the server by", "; give the CA as PEM"]),
        (&pem[..pem.len() / 2], ["has a CA that cannot be read", "; give PEM"]),
    ] {
        let config = config(&format!("rediss://:{PASSWORD}@{}/0", server.address()));
        refused(config.ca(ca.as_bytes()), Class::Config, &words).await;
    }
    assert_eq!(commands(&server), "");
}
