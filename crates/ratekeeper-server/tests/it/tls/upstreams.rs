//! Whom a client of upstreams believes.

use super::{Authority, Client, folder, listen, open};
use crate::folder::Folder;
use ratekeeper_server::tls::client;
use std::path::Path;
use tokio_rustls::rustls::ProtocolVersion;

/// Goal: an upstream with a certificate of the CA that was named, for the name that was used, is believed, and
/// asked for HTTP/2; one of another CA or for another name is not, and neither is an unknown one by the system's.
/// Method: handshakes of each kind, with the text of what is wrong.
#[tokio::test]
async fn only_the_right_certificate_for_the_right_name_is_believed() {
    let (authority, other) = (Authority::new(), Authority::new());
    let files = Folder::of(&[("ca", &authority.0.pem()), ("other", &other.0.pem())]);
    let by = |name: &str| Client(client(Some(Path::new(&files.path(name)))).unwrap());
    let signed = authority.sign("b.example");
    let address = listen(&open(&folder(&signed))).await;
    let seen = by("ca").greet(address, "b.example").await.unwrap();
    assert_eq!(seen.certificate, signed.der);
    assert_eq!(seen.protocol.as_deref(), Some("h2"));
    assert_eq!(seen.version, Some(ProtocolVersion::TLSv1_3));
    let wrong = by("ca").greet(address, "c.example").await.unwrap_err().to_string();
    assert!(wrong.contains("not valid for name"), "{wrong}");
    let wrong = by("ca").greet(address, "127.0.0.1").await.unwrap_err().to_string();
    assert!(wrong.contains("not valid for name"), "{wrong}");
    let wrong = by("other").greet(address, "b.example").await.unwrap_err().to_string();
    assert!(wrong.contains("invalid peer certificate"), "{wrong}");
    // A machine without certificates has no client by them, which is tested with what is told of it.
    if let Ok(system) = client(None) {
        let wrong = Client(system).greet(address, "b.example").await.unwrap_err().to_string();
        assert!(wrong.contains("invalid peer certificate: UnknownIssuer"), "{wrong}");
    }
}

/// Goal: an upstream is known by its address, too, where the certificate says so.
/// Method: a certificate for an address.
#[tokio::test]
async fn a_certificate_for_an_address_is_believed() {
    let authority = Authority::new();
    let files = Folder::of(&[("ca", &authority.0.pem())]);
    let signed = authority.sign("127.0.0.1");
    let address = listen(&open(&folder(&signed))).await;
    let by = Client(client(Some(Path::new(&files.path("ca")))).unwrap());
    assert_eq!(by.greet(address, "127.0.0.1").await.unwrap().certificate, signed.der);
    let wrong = by.greet(address, "b.example").await.unwrap_err().to_string();
    assert!(wrong.contains("not valid for name"), "{wrong}");
}
