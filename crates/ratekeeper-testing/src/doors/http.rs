//! The doors of HTTP, over sockets: the check API in both of its forms, forward-auth, and the gateway.
//!
//! Invariant: what is read of an answer is what its caller can read: header fields and body.

use super::{Door, Rules, Said, Step, Time};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ratekeeper::ManualClock;
use ratekeeper_server::config::Config;
use ratekeeper_server::door::Doors;
use ratekeeper_server::door::gateway::Gateway as Answers;
use ratekeeper_server::serve::{Bounds, run};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// A server, and a connection to it.
struct Site {
    clock: ManualClock,
    send: SendRequest<Full<Bytes>>,
}

impl Site {
    async fn connected(clock: ManualClock, address: SocketAddr) -> Site {
        let stream = TcpStream::connect(address).await.expect("the server accepts");
        let (send, connection) = handshake(TokioIo::new(stream)).await.expect("it speaks HTTP");
        tokio::spawn(connection);
        Site { clock, send }
    }

    /// With the doors of the API.
    async fn api(rules: &Rules) -> Site {
        let (app, clock) = rules.app("");
        let (listener, address) = listener().await;
        tokio::spawn(run(listener, Doors::all(app), Bounds::default(), |_| true, pending()));
        Site::connected(clock, address).await
    }

    async fn ask(&mut self, request: Request<Full<Bytes>>) -> (u16, HeaderMap, Bytes) {
        self.send.ready().await.expect("the connection is open");
        let answer = self.send.send_request(request).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("a whole answer").to_bytes();
        (head.status.as_u16(), head.headers, body)
    }
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    (listener, address)
}

/// What header fields and body say; a refusal's exact wait is in the body.
pub(super) fn said(status: u16, fields: &HeaderMap, body: &[u8]) -> Said {
    let figure = |name: &str| fields.get(name).and_then(|own| own.to_str().ok()?.parse().ok());
    assert!([200, 429].contains(&status), "{status}");
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let told = figure("retry-after");
    let retry = match (status, problem["retry_after"].as_f64()) {
        (200, _) => Time::None,
        (_, Some(exact)) => {
            let exact = (exact * 1e6).round() as u64;
            assert_eq!(told, Some(exact.div_ceil(1_000_000).max(1)), "the field is the body's");
            Time::Micros(exact)
        }
        (_, None) => Time::Never,
    };
    Said {
        allowed: status == 200,
        limit: figure("x-ratelimit-limit"),
        remaining: figure("x-ratelimit-remaining"),
        retry,
        reset: figure("x-ratelimit-reset").map_or(Time::Unsaid, Time::Epoch),
        delay: Time::Unsaid,
    }
}

/// What a decision in JSON says.
fn decided(body: &[u8]) -> Said {
    let answer: Value = serde_json::from_slice(body).expect("a decision");
    let micros = |name: &str| match answer[name].as_f64() {
        Some(seconds) => Time::Micros((seconds * 1e6).round() as u64),
        None => Time::None,
    };
    let never = answer["never"] == true;
    Said {
        allowed: answer["allowed"] == true,
        limit: answer["limit"].as_u64(),
        remaining: answer["remaining"].as_u64(),
        retry: if never { Time::Never } else { micros("retry_after") },
        reset: micros("reset_after"),
        delay: micros("delay"),
    }
}

fn post(body: &Value) -> Request<Full<Bytes>> {
    let request = Request::post("/v1/check").header("host", "localhost");
    request.body(Full::new(body.to_string().into())).expect("a request")
}

/// A door of HTTP: its name, and how it is asked.
macro_rules! door {
    ($(#[$doc:meta])* $door:ident $name:literal, |$site:ident, $step:ident| $ask:expr) => {
        $(#[$doc])*
        pub struct $door(Site);

        impl Door for $door {
            fn name(&self) -> &'static str {
                $name
            }

            fn clock(&self) -> &ManualClock {
                &self.0.clock
            }

            async fn ask(&mut self, $step: &Step) -> Said {
                let $site = &mut self.0;
                $ask
            }
        }
    };
}

door!(
    /// The check API, asked about a request.
    Check "check API, a request", |site, step| {
        let headers = json!({"x-who": step.who, "x-cost": step.cost.to_string()});
        let request = json!({"method": "GET", "path": "/r", "ip": "127.0.0.1", "headers": headers});
        decided(&site.ask(post(&json!({"request": request}))).await.2)
    }
);

door!(
    /// The check API, asked about a key under a rule.
    CheckKey "check API, a key", |site, step| {
        decided(&site.ask(post(&json!({"rule": "r", "key": step.who, "cost": step.cost}))).await.2)
    }
);

door!(
    /// Forward-auth, as Caddy and Traefik ask.
    Authorize "forward-auth", |site, step| {
        let request = Request::get("/v1/authorize")
            .header("host", "localhost")
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-uri", "/r")
            .header("x-forwarded-for", "192.0.2.7")
            .header("x-who", step.who)
            .header("x-cost", step.cost);
        let request = request.body(Full::default()).expect("a request");
        let (status, fields, body) = site.ask(request).await;
        said(status, &fields, &body)
    }
);

door!(
    /// The gateway, before a server that always says yes.
    Gateway "gateway", |site, step| {
        let request = Request::get("/r").header("host", "localhost");
        let request = request.header("x-who", step.who).header("x-cost", step.cost);
        let request = request.body(Full::default()).expect("a request");
        let (status, fields, body) = site.ask(request).await;
        said(status, &fields, &body)
    }
);

impl Check {
    /// By these rules.
    pub async fn new(rules: &Rules) -> Check {
        Check(Site::api(rules).await)
    }
}

impl CheckKey {
    /// By these rules.
    pub async fn new(rules: &Rules) -> CheckKey {
        CheckKey(Site::api(rules).await)
    }
}

impl Authorize {
    /// By these rules.
    pub async fn new(rules: &Rules) -> Authorize {
        Authorize(Site::api(rules).await)
    }
}

impl Gateway {
    /// By these rules, in a file of this folder.
    pub async fn new(rules: &Rules, folder: &std::path::Path) -> Gateway {
        let (upstream, behind) = listener().await;
        tokio::spawn(yes(upstream));
        let route = format!("{{path: '/**', upstream: ['http://{behind}']}}");
        let top = format!("gateway: {{listen: '127.0.0.1:0', routes: [{route}]}}");
        let file = folder.join("ratekeeper.yaml");
        std::fs::write(&file, rules.file(&top)).expect("the folder can be written to");
        let config = Config::read(&file).expect("the file is fine");
        let (app, clock) = rules.app(&top);
        let gateway =
            Answers::of(&config, app, 16).expect("it can be set up").expect("there is one");
        let (listener, address) = listener().await;
        tokio::spawn(run(listener, gateway, Bounds::default(), |_| true, pending()));
        Gateway(Site::connected(clock, address).await)
    }
}

/// Says yes to everybody.
async fn yes(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let answer = service_fn(async |_: Request<hyper::body::Incoming>| {
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), answer));
    }
}
