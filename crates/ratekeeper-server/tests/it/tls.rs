//! TLS over loopback: what clients of a listener are shown, and whom a client of upstreams believes.
//!
//! Invariant: clients here are rustls with certificates of their own, and verify what they are shown.

mod doors;
mod faults;
mod kinds;
mod replaced;
mod upstreams;

use crate::folder::Folder;
use crate::wire::DEADLINE;
use ratekeeper_server::tls::{Certificate, HANDSHAKE};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_ED25519};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, HandshakeKind, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
};

/// Somebody who signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
struct Signed {
    cert: String,
    key: String,
    der: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("it has no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there is a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("it signs itself"))
    }

    /// A certificate for this name.
    fn sign(&self, name: &str) -> Signed {
        self.sign_with(name, &KeyPair::generate().expect("there is a key"))
    }

    fn sign_with(&self, name: &str, key: &KeyPair) -> Signed {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("this is a name");
        let own = params.signed_by(key, &self.0).expect("it signs");
        Signed { cert: own.pem(), key: key.serialize_pem(), der: own.der().clone() }
    }

    /// A client that knows this authority alone, and offers this.
    fn client(&self, protocols: &[&str], version: &'static SupportedProtocolVersion) -> Client {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("this is a root");
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version]);
        let client = client.expect("the provider speaks it").with_root_certificates(roots);
        let mut client = client.with_no_client_auth();
        client.alpn_protocols = protocols.iter().map(|own| own.as_bytes().to_vec()).collect();
        Client(Arc::new(client))
    }
}

/// Files of a certificate and its key.
fn folder(signed: &Signed) -> Folder {
    Folder::of(&[("cert.pem", &signed.cert), ("key.pem", &signed.key)])
}

fn open(folder: &Folder) -> Certificate {
    let (cert, key) = (folder.path("cert.pem"), folder.path("key.pem"));
    Certificate::open(Path::new(&cert), Path::new(&key)).expect("the files make a pair")
}

/// Shows the certificate to whoever comes, until the runtime of the test is over, and says `ok`.
async fn listen(certificate: &Certificate) -> SocketAddr {
    let acceptor = certificate.acceptor().expect("the program speaks TLS");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let greeting = timeout(HANDSHAKE, acceptor.accept(stream));
            tokio::spawn(async move {
                if let Ok(Ok(mut stream)) = greeting.await {
                    let _ = stream.write_all(b"ok").await;
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    address
}

#[derive(Clone)]
struct Client(Arc<ClientConfig>);

/// What a client saw.
#[derive(Debug, PartialEq)]
struct Seen {
    certificate: CertificateDer<'static>,
    protocol: Option<String>,
    version: Option<ProtocolVersion>,
    kind: Option<HandshakeKind>,
}

impl Client {
    /// A handshake with a server of this name, and its `ok`.
    async fn greet(&self, address: SocketAddr, name: &'static str) -> io::Result<Seen> {
        let name = ServerName::try_from(name).expect("this is a name");
        let greeting = async {
            let stream = TcpStream::connect(address).await?;
            let mut stream = TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await?;
            let mut said = String::new();
            stream.read_to_string(&mut said).await?;
            assert_eq!(said, "ok");
            let own = stream.get_ref().1;
            let shown = own.peer_certificates().and_then(|shown| shown.first());
            Ok(Seen {
                certificate: shown.expect("there is a certificate").clone().into_owned(),
                protocol: own.alpn_protocol().map(|own| String::from_utf8_lossy(own).into_owned()),
                version: own.protocol_version(),
                kind: own.handshake_kind(),
            })
        };
        timeout(DEADLINE, greeting).await.expect("there is an answer before the deadline")
    }
}

/// Goal: a client that knows who signed is shown the certificate, in either version of TLS and with either
/// kind of key, and the best protocol of those that it offers.
/// Method: both versions, keys of two kinds, and offers in several orders, one of them empty.
#[tokio::test]
async fn a_listener_shows_its_certificate_and_chooses_a_protocol() {
    let authority = Authority::new();
    let edwards = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    for signed in [authority.sign("api.example"), authority.sign_with("api.example", &edwards)] {
        let files = folder(&signed);
        let address = listen(&open(&files)).await;
        for (version, number) in
            [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)]
        {
            for (offer, chosen) in [
                (&["h2", "http/1.1"][..], Some("h2")),
                (&["http/1.1", "h2"], Some("h2")),
                (&["http/1.1"], Some("http/1.1")),
                (&[], None),
            ] {
                let seen = authority.client(offer, version).greet(address, "api.example").await;
                let expected = Seen {
                    certificate: signed.der.clone(),
                    protocol: chosen.map(str::to_owned),
                    version: Some(number),
                    kind: Some(HandshakeKind::Full),
                };
                assert_eq!(seen.unwrap(), expected);
            }
        }
        let strange = authority.client(&["spdy/3"], &TLS13).greet(address, "api.example").await;
        assert!(strange.unwrap_err().to_string().contains("NoApplicationProtocol"));
    }
}

/// Goal: no part of a handshake is left out for a client that was here before.
/// Method: one client, which would resume a session, several times, in both versions.
#[tokio::test]
async fn sessions_are_not_resumed() {
    let authority = Authority::new();
    let address = listen(&open(&folder(&authority.sign("api.example")))).await;
    for version in [&TLS12, &TLS13] {
        let client = authority.client(&["h2"], version);
        for _ in 0..3 {
            let seen = client.greet(address, "api.example").await.unwrap();
            assert_eq!(seen.kind, Some(HandshakeKind::Full));
        }
    }
}

/// Goal: who speaks plain text is dropped, and hears no HTTP; the next client is served.
/// Method: a request in plain text, and nothing at all until the handshake's time is over.
#[tokio::test]
async fn plain_text_is_dropped() {
    let authority = Authority::new();
    let signed = authority.sign("api.example");
    let address = listen(&open(&folder(&signed))).await;
    for said in [&b"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n"[..], b""] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(said).await.unwrap();
        let mut heard = Vec::new();
        // It is closed, or reset where it had not read everything.
        let _ = timeout(DEADLINE, stream.read_to_end(&mut heard)).await.unwrap();
        // A record of TLS that holds an alert, or nothing.
        assert!(heard.is_empty() || heard.starts_with(&[21, 3]), "{heard:?}");
        let seen = authority.client(&[], &TLS13).greet(address, "api.example").await.unwrap();
        assert_eq!(seen.certificate, signed.der);
    }
}
