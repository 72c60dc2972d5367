//! What hyper gives with nothing added: its server, its client with a pool, and hop-by-hop fields taken away.
//!
//! Invariant: bodies pass through as they come, nothing is held back or copied by us.

use http::header::{self, HeaderMap, HeaderName};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};

const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A proxy on one thread, for ever.
pub fn pass_on(address: &str, upstream: &str) {
    let upstream: Authority = upstream.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives a runtime").block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).set_host(false).build(connector);
        let listener = tokio::net::TcpListener::bind(address).await.expect("the port is free");
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let (client, upstream) = (client.clone(), upstream.clone());
            let forward = hyper::service::service_fn(move |request| {
                forward(client.clone(), upstream.clone(), request)
            });
            let io = TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, forward));
        }
    });
}

async fn forward(
    client: Client<HttpConnector, Incoming>,
    upstream: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Error> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(upstream));
    *request.uri_mut() = Uri::from_parts(parts).expect("a path stays one");
    clean(request.headers_mut());
    let mut answer = client.request(request).await?;
    clean(answer.headers_mut());
    Ok(answer)
}

fn clean(fields: &mut HeaderMap) {
    for name in &HOP_BY_HOP {
        fields.remove(name);
    }
}
