//! TLS on both sides of the gateway: clients are shown a certificate, upstreams have to show one.

use super::http2::runtime;
use super::site::{MANY, Site, get, head};
use super::upstream::{After, OK, Upstream};
use crate::wire::connect;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned,
};

/// Somebody who signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("it has no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there is a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("it signs itself"))
    }

    /// A certificate for this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("there is a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("this is a name");
        (params.signed_by(&key, &self.0).expect("it signs").pem(), key.serialize_pem())
    }

    /// A client that believes nobody else, and speaks HTTP/1.1.
    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("this is a root");
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider speaks them");
        let mut client = client.with_root_certificates(roots).with_no_client_auth();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(client)
    }
}

/// Asks once, and closes; the certificate that was shown, and the answer.
fn ask(client: Arc<ClientConfig>, address: SocketAddr) -> (CertificateDer<'static>, String) {
    let name = "api.example".try_into().expect("a name");
    let session = ClientConnection::new(client, name).expect("a session");
    let mut stream = StreamOwned::new(session, connect(address));
    stream.write_all(get("/", "Connection: close\r\n").as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the whole comes, and its end is told");
    let shown = stream.conn.peer_certificates().expect("one is shown")[0].clone().into_owned();
    (shown, answer)
}

/// Goal: the gateway serves https, tells upstreams so, and shows a new certificate without losing a request.
/// Method: clients that verify it and ask all the time; the files are replaced meanwhile.
#[test]
fn a_certificate_is_replaced_while_requests_go_on() {
    let upstream = Upstream::saying(OK);
    let authority = Authority::new();
    let (first, second) = (authority.sign("api.example"), authority.sign("api.example"));
    let text = format!(
        "{}  tls: {{cert: cert.pem, key: key.pem}}\n  routes: [{{path: \"/**\", upstream: \"{}\"}}]\n\
         rules: {MANY}\n",
        head(""),
        upstream.url()
    );
    let site = Site::of(&[("cert.pem", &first.0), ("key.pem", &first.1)], &text);
    assert!(site.program.banner.iter().any(|line| line.starts_with("gateway       https://")));
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("it is PEM");
    let (shown, answer) = ask(authority.client(), site.address);
    assert!(shown == der(&first.0) && answer.ends_with("ok"), "{answer}");
    assert_eq!(upstream.seen()[0].field("x-forwarded-proto"), Some("https"));

    let (is_over, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let (client, address) = (authority.client(), site.address);
            let (is_over, answered) = (is_over.clone(), answered.clone());
            thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let (_, answer) = ask(client.clone(), address);
                    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok"));
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let asked = |more: usize| {
        let until = answered.load(Ordering::SeqCst) + more;
        crate::program::poll(|| (answered.load(Ordering::SeqCst) >= until).then_some(()))
    };
    assert!(asked(10).is_some(), "requests go on");
    // The key without its certificate makes no pair for a moment; what was good is shown meanwhile.
    site.folder.write("key.pem", &second.1);
    site.folder.write("cert.pem", &second.0);
    let replaced = crate::program::poll(|| {
        (ask(authority.client(), site.address).0 == der(&second.0)).then_some(())
    });
    assert!(replaced.is_some(), "the new one is shown");
    assert!(asked(10).is_some(), "requests go on");
    is_over.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().expect("none of its requests failed");
    }
}

/// Goal: a tunnel passes TLS as well: bytes go both ways, and its end is told.
/// Method: an upstream that agrees and gives back what it gets, until it is told to end.
#[test]
fn a_tunnel_passes_tls() {
    let upstream = Upstream::acting(|_, wire| {
        let agreed = "101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo";
        wire.send(format!("HTTP/1.1 {agreed}\r\n\r\nhello"));
        while let Ok(bytes) = wire.exactly(4) {
            wire.send(&bytes);
            if bytes == b"end!" {
                break;
            }
        }
        After::Close
    });
    let authority = Authority::new();
    let (cert, key) = authority.sign("api.example");
    let text = format!(
        "{}  tls: {{cert: cert.pem, key: key.pem}}\n  routes: [{{path: \"/**\", upstream: \"{}\"}}]\n\
         rules: {MANY}\n",
        head(""),
        upstream.url()
    );
    let site = Site::of(&[("cert.pem", &cert), ("key.pem", &key)], &text);
    let name = "api.example".try_into().expect("a name");
    let session = ClientConnection::new(authority.client(), name).expect("a session");
    let mut stream = StreamOwned::new(session, connect(site.address));
    let ask = get("/", "Connection: upgrade\r\nUpgrade: echo\r\n") + "one.two.end!";
    stream.write_all(ask.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the whole comes, and its end is told");
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nhelloone.two.end!"), "{answer}");
}

/// An upstream of https that speaks what its client likes; the versions that were spoken.
async fn secure(cert: &str, key: &str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let cert = CertificateDer::from_pem_slice(cert.as_bytes()).expect("it is PEM");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("it is PEM");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks them")
        .with_no_client_auth();
    let mut config = config.with_single_cert(vec![cert], key).expect("they make a pair");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let spoken = Arc::<Mutex<Vec<String>>>::default();
    let ours = spoken.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let ours = ours.clone();
            let answer = hyper::service::service_fn(move |request: hyper::Request<_>| {
                let _: &hyper::body::Incoming = request.body();
                let version = format!("{:?}", request.version());
                ours.lock().expect("nobody failed").push(version);
                std::future::ready(Ok::<_, Infallible>(hyper::Response::new(Full::<Bytes>::from(
                    "ok",
                ))))
            });
            let build = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(build.serve_connection(TokioIo::new(stream), answer));
        }
    });
    (address, spoken)
}

/// Goal: an upstream of https is believed by its certificate alone, and spoken to in HTTP/2 where it likes
/// that.
/// Method: one whose certificate is known; one of a stranger, which never gets a request.
#[test]
fn upstreams_have_to_show_a_certificate() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (good, bad) = (authority.sign("127.0.0.1"), stranger.sign("127.0.0.1"));
    let runtime = runtime();
    let (known, spoken) = runtime.block_on(secure(&good.0, &good.1));
    let (unknown, unspoken) = runtime.block_on(secure(&bad.0, &bad.1));
    let text = format!(
        "{}  ca: ca.pem\n  routes:\n    - {{path: /known, upstream: \"https://{known}\"}}\n    \
         - {{path: /unknown, upstream: \"https://{unknown}\"}}\nrules: {MANY}\n",
        head("")
    );
    let site = Site::of(&[("ca.pem", &authority.0.pem())], &text);
    for _ in 0..3 {
        assert_eq!(site.get("/known").text(), "ok");
    }
    let answer = site.get("/unknown");
    assert!([502, 503].contains(&answer.status()), "{answer:?}");
    assert_eq!(*spoken.lock().expect("nobody failed"), ["HTTP/2.0"; 3]);
    assert!(unspoken.lock().expect("nobody failed").is_empty(), "a stranger gets nothing");
}
