//! The listeners of Envoy and of Redis clients over TLS, in the program itself.

use super::{Authority, Signed};
use crate::folder::Folder;
use crate::program::{Program, command};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::TLS13;

const RULES: &str = "listen: {api: '127.0.0.1:0', grpc: '127.0.0.1:0', resp: '127.0.0.1:0'}\n\
                     grpc: {tls: {cert: cert.pem, key: key.pem}}\n\
                     resp: {tls: {cert: cert.pem, key: key.pem}, password_file: password}\n\
                     rules: [{id: a, domain: edge, limit: 5/minute}]\n";

/// Where a listener is, by the word that the banner has before it.
fn listener(program: &Program, word: &str) -> SocketAddr {
    let found = program.banner.iter().find_map(|line| line.strip_prefix(word));
    let address = found.and_then(|rest| rest.trim().split("://").nth(1)?.parse().ok());
    assert!(address.is_some(), "no {word} in {:?}", program.banner);
    address.expect("this was looked at")
}

async fn connect(
    authority: &Authority,
    protocols: &[&str],
    address: SocketAddr,
) -> TlsStream<TcpStream> {
    let client = authority.client(protocols, &TLS13);
    let stream = TcpStream::connect(address).await.expect("it accepts");
    let name = ServerName::try_from("localhost").expect("this is a name");
    let connector = tokio_rustls::TlsConnector::from(client.0);
    connector.connect(name, stream).await.expect("the certificate is its own")
}

/// Goal: both doors show the certificate that the config names, and speak what they speak in plain text.
/// Method: a health check over HTTP/2, and a password and a ping, over verified TLS; plain text is not answered.
#[tokio::test(flavor = "multi_thread")]
async fn both_doors_speak_tls() {
    let authority = Authority::new();
    let Signed { cert, key, .. } = authority.sign("localhost");
    let secret = "0123456789abcdef0123456789abcdef";
    let files =
        [("cert.pem", &*cert), ("key.pem", &*key), ("password", secret), ("rules.yaml", RULES)];
    let folder = Folder::of(&files);
    let mut serve = command();
    serve.args(["serve", "--config", &folder.path("rules.yaml")]);
    let program = Program::start(serve);
    let (grpc, resp) = (listener(&program, "grpc "), listener(&program, "resp "));

    let stream = connect(&authority, &["h2"], grpc).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("it speaks HTTP/2");
    tokio::spawn(connection);
    let request = Request::post("https://localhost/grpc.health.v1.Health/Check")
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from_static(&[0; 5])))
        .expect("a request");
    let answer = send.send_request(request).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a whole answer");
    assert_eq!(&body.to_bytes()[5..], b"\x08\x01", "it serves");

    let mut stream = connect(&authority, &[], resp).await;
    let hello = format!("*2\r\n$4\r\nAUTH\r\n$32\r\n{secret}\r\n*1\r\n$4\r\nPING\r\n");
    stream.write_all(hello.as_bytes()).await.expect("it reads");
    let mut reply = [0; 12];
    stream.read_exact(&mut reply).await.expect("it replies");
    assert_eq!(&reply, b"+OK\r\n+PONG\r\n");

    let mut plain = TcpStream::connect(resp).await.expect("it accepts");
    plain.write_all(b"*1\r\n$4\r\nPING\r\n").await.expect("it reads");
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"-") && !rest.starts_with(b"+"), "no reply in plain text");
}
