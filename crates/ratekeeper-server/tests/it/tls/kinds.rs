//! Keys as other programs write them. Those here are for these tests alone.

use super::{Authority, Client, listen};
use crate::folder::Folder;
use ratekeeper_server::tls::{Certificate, client};
use std::path::Path;

/// Certificates that are signed by their own keys, and those, as `openssl` writes them: RSA as PKCS #1, and
/// P-384 as SEC 1 below the name of its curve.
const RSA: &str = include_str!("rsa-2048.pem");
const WEAK_RSA: &str = include_str!("rsa-1024.pem");
const P384: &str = include_str!("p384.pem");

/// Goal: keys of RSA and P-384 are taken, in the older ways to write them.
/// Method: a handshake with each, by a client that knows that certificate alone; a client of another CA.
#[tokio::test]
async fn keys_are_taken_as_other_programs_write_them() {
    let other = Folder::of(&[("ca", &Authority::new().0.pem())]);
    for pem in [RSA, P384] {
        let files = Folder::of(&[("both", pem)]);
        let both = files.path("both");
        let certificate = Certificate::open(Path::new(&both), Path::new(&both)).unwrap();
        let address = listen(&certificate).await;
        let by = |path: &str| Client(client(Some(Path::new(path))).unwrap());
        let seen = by(&both).greet(address, "api.example").await.unwrap();
        assert_eq!(seen.protocol.as_deref(), Some("h2"));
        assert!(by(&other.path("ca")).greet(address, "api.example").await.is_err());
    }
}

/// Goal: a key that is too short is refused with what to do.
/// Method: the whole text.
#[test]
fn a_weak_key_is_refused() {
    let files = Folder::of(&[("both", WEAK_RSA)]);
    let both = files.path("both");
    let fault = Certificate::open(Path::new(&both), Path::new(&both)).unwrap_err();
    assert_eq!(
        files.shown(&fault.to_string()),
        "both:1:1: TLS does not take such a key; \
         use one of RSA with 2048 to 4096 bits, of ECDSA with P-256 or P-384, or of Ed25519"
    );
}
