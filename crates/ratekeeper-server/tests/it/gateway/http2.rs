//! HTTP/2 on either side: gRPC passes through, trailers and streams included.

use super::site::{MANY, Site, get, head};
use super::upstream::{OK, Upstream};
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// A body of these tests.
pub(super) type Own = BoxBody<Bytes, Infallible>;

/// What came to an upstream: the head, and when it was there to its end, body and trailers.
pub(super) type Arrived =
    Arc<Mutex<Vec<(hyper::http::request::Parts, Option<(Bytes, HeaderMap)>)>>>;

pub(super) fn runtime() -> Runtime {
    let builder =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    builder.expect("a runtime starts")
}

pub(super) fn full(text: &'static str) -> Own {
    Full::new(Bytes::from_static(text.as_bytes())).boxed()
}

/// A body with trailers behind.
pub(super) fn trailed(text: &'static str, name: &'static str, value: &'static str) -> Own {
    let mut trailers = HeaderMap::new();
    trailers.insert(name, value.parse().expect("a value"));
    Full::new(Bytes::from_static(text.as_bytes()))
        .with_trailers(std::future::ready(Some(Ok(trailers))))
        .boxed()
}

/// An upstream that speaks HTTP/2 in plain text and answers each request by its path, as gRPC does.
pub(super) async fn upstream() -> (SocketAddr, Arrived) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let arrived = Arrived::default();
    let ours = arrived.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let ours = ours.clone();
            let answer = hyper::service::service_fn(move |request| answer(request, ours.clone()));
            let build = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(build.serve_connection(TokioIo::new(stream), answer));
        }
    });
    (address, arrived)
}

/// `/talk` gives back each piece as it comes; all else is one message with a status behind.
async fn answer(request: Request<Incoming>, arrived: Arrived) -> Result<Response<Own>, Infallible> {
    let (parts, mut body) = request.into_parts();
    let is_talk = parts.uri.path() == "/talk";
    let index = {
        let mut all = arrived.lock().expect("nobody failed");
        all.push((parts, None));
        all.len() - 1
    };
    let build = Response::builder().header("content-type", "application/grpc");
    if is_talk {
        let (mut sender, channel) = Channel::<Bytes, Infallible>::new(8);
        tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(data) = frame.into_data() else { break };
                if sender.send_data(data).await.is_err() {
                    break;
                }
            }
        });
        return Ok(build.body(channel.boxed()).expect("an answer"));
    }
    if let Ok(whole) = body.collect().await {
        let trailers = whole.trailers().cloned().unwrap_or_default();
        arrived.lock().expect("nobody failed")[index].1 = Some((whole.to_bytes(), trailers));
    }
    Ok(build.body(trailed("message", "grpc-status", "0")).expect("an answer"))
}

/// A client that speaks HTTP/2 in plain text.
pub(super) async fn client(address: SocketAddr) -> SendRequest<Own> {
    let stream = TcpStream::connect(address).await.expect("the gateway accepts");
    stream.set_nodelay(true).expect("an option can be set");
    let build = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = build.handshake(TokioIo::new(stream)).await.expect("it speaks it");
    tokio::spawn(connection);
    sender
}

pub(super) fn call(path: &str, body: Own) -> Request<Own> {
    Request::post(format!("http://api.example{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .expect("a request")
}

/// A gateway before an upstream of HTTP/2.
fn before(address: SocketAddr, rules: &str) -> Site {
    Site::to(&[format!("h2c://{address}")], "", "", rules)
}

/// Goal: a call of gRPC passes with its body, its trailers and its status; one that is refused says so as
/// gRPC does.
/// Method: a rule of one; two calls of a real client to a real server.
#[test]
fn grpc_passes_through() {
    let runtime = runtime();
    let (address, arrived) = runtime.block_on(upstream());
    let site = before(address, "[{id: all, key: ip, limit: 1/day}]");
    runtime.block_on(async {
        let mut sender = client(site.address).await;
        let request = call("/shop.Cart/Add", trailed("question", "x-sum", "7"));
        let answer = sender.send_request(request).await.expect("an answer comes");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "application/grpc");
        assert!(answer.headers().contains_key("ratelimit"));
        let whole = answer.into_body().collect().await.expect("the whole comes");
        assert_eq!(whole.trailers().expect("there are trailers")["grpc-status"], "0");
        assert_eq!(whole.to_bytes(), "message");

        let request = call("/shop.Cart/Add", full("question"));
        let answer = sender.send_request(request).await.expect("an answer comes");
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["grpc-status"]),
            (200, &"8".parse().expect("a value"))
        );
    });
    let arrived = arrived.lock().expect("nobody failed");
    assert_eq!(arrived.len(), 1, "what was refused does not arrive");
    let (parts, whole) = &arrived[0];
    assert_eq!((parts.uri.path(), parts.uri.host()), ("/shop.Cart/Add", Some("api.example")));
    assert_eq!(
        (&parts.headers["te"], &parts.headers["x-forwarded-for"]),
        (&"trailers".parse().expect("a value"), &"127.0.0.1".parse().expect("a value"))
    );
    assert!(parts.headers["via"].to_str().expect("text").ends_with(" ratekeeper"));
    let (body, trailers) = whole.as_ref().expect("it was whole");
    assert_eq!(
        (body.as_ref(), &trailers["x-sum"]),
        (&b"question"[..], &"7".parse().expect("a value"))
    );
}

/// Goal: both sides of a call can speak in turns.
/// Method: send a piece, read it back, send the next one.
#[test]
fn a_call_can_be_a_talk() {
    let runtime = runtime();
    let (address, _) = runtime.block_on(upstream());
    let site = before(address, MANY);
    runtime.block_on(async {
        let mut sender = client(site.address).await;
        let (mut say, body): (Sender<Bytes, Infallible>, _) = Channel::new(1);
        let answer = sender.send_request(call("/talk", body.boxed())).await.expect("it begins");
        let mut body = answer.into_body();
        for word in ["one", "two", "three"] {
            say.send_data(Bytes::from_static(word.as_bytes())).await.expect("it is taken");
            let frame = body.frame().await.expect("there is more").expect("it comes");
            assert_eq!(frame.into_data().expect("it is data"), word);
        }
        drop(say);
        let rest = body.collect().await.expect("it ends well");
        assert!(rest.to_bytes().is_empty());
    });
}

/// Goal: clients of HTTP/2 reach upstreams of HTTP/1.1, many at a time, trailers included.
/// Method: fifty requests on one connection; one with trailers both ways.
#[test]
fn http2_reaches_http1() {
    let upstream = Upstream::telling(|request| match request.start.contains("/trailers") {
        true => "HTTP/1.1 200 OK\r\nTrailer: X-Down\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\nok\r\n0\r\nX-Down: 2\r\n\r\n"
            .to_owned(),
        false => OK.to_owned(),
    });
    let site = Site::before(&[&upstream], MANY);
    runtime().block_on(async {
        let sender = client(site.address).await;
        let asked: Vec<_> = (0..50)
            .map(|number| {
                let mut sender = sender.clone();
                let path = format!("http://api.example/a//{number}?q={number}");
                let request = Request::put(path).body(full("body")).expect("a request");
                tokio::spawn(async move { sender.send_request(request).await })
            })
            .collect();
        for answer in asked {
            let answer = answer.await.expect("it ends").expect("an answer comes");
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.into_body().collect().await.expect("the whole").to_bytes(), "ok");
        }
        let (mut say, body): (Sender<Bytes, Infallible>, _) = Channel::new(2);
        // Without a length it goes on in chunks, behind which HTTP/1.1 has trailers that were announced.
        let mut request = call("/trailers", body.boxed());
        request.headers_mut().insert("trailer", "x-up".parse().expect("a value"));
        say.send_data(Bytes::from_static(b"abc")).await.expect("it is taken");
        let trailers = HeaderMap::<hyper::header::HeaderValue>::from_iter([(
            hyper::header::HeaderName::from_static("x-up"),
            "1".parse().expect("a value"),
        )]);
        say.send(Frame::trailers(trailers)).await.expect("it is taken");
        drop(say);
        let answer = sender.clone().send_request(request).await.expect("an answer comes");
        let whole = answer.into_body().collect().await.expect("the whole comes");
        assert_eq!(whole.trailers().expect("there are trailers")["x-down"], "2");
    });
    let seen = upstream.seen();
    assert_eq!(seen.len(), 51);
    for request in &seen[..50] {
        let number = request.start.split(['=', ' ']).nth(2).expect("a number").to_owned();
        assert_eq!(request.start, format!("PUT /a/{number}?q={number} HTTP/1.1"));
        assert_eq!(
            (request.field("host"), request.body.as_slice()),
            (Some("api.example"), &b"body"[..])
        );
    }
    assert_eq!(
        (seen[50].body.as_slice(), seen[50].trailers.len()),
        (&b"abc"[..], 1),
        "{:?}",
        seen[50]
    );
    assert_eq!(site.decided("all", "allowed"), 51);
}

/// Goal: clients of HTTP/1.1 reach upstreams of HTTP/2.
/// Method: two requests, which share a connection; the host is told.
#[test]
fn http1_reaches_http2() {
    let runtime = runtime();
    let (address, arrived) = runtime.block_on(upstream());
    let text = format!(
        "{}  routes: [{{path: \"/**\", upstream: \"h2c://{address}\"}}]\nrules: {MANY}\n",
        head("")
    );
    let site = Site::of(&[], &text);
    for _ in 0..2 {
        let answer = site.ask(&get("/a/./b?q", "Connection: close, X-A\r\nX-A: 1\r\n"));
        assert_eq!((answer.status(), answer.text()), (200, "message"));
    }
    let arrived = arrived.lock().expect("nobody failed");
    assert_eq!(arrived.len(), 2);
    for (parts, whole) in arrived.iter() {
        assert_eq!(parts.uri.path_and_query().map(ToString::to_string).as_deref(), Some("/a/b?q"));
        assert_eq!(parts.uri.authority().map(ToString::to_string).as_deref(), Some("api.example"));
        assert!(whole.is_some() && !parts.headers.contains_key("connection"), "{parts:?}");
    }
}
