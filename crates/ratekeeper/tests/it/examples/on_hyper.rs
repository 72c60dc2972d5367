//! The example on a bare hyper server.

use super::hyper_example;
use super::served::call;
use tokio::net::TcpListener;

/// Goal: the peer that the example leaves with a request is who is counted.
/// Method: three calls from one address, of which two are allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bare_hyper_server_counts_by_the_address_of_its_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, limits) = (listener.local_addr().unwrap(), hyper_example::limits().unwrap());
    let serves = async move { hyper_example::serve(listener, limits).await };
    let calls = async {
        assert!(call(at, "GET /", &[], "").await.says("Hello!\n"));
        assert_eq!(call(at, "GET /", &[], "").await.field("x-ratelimit-remaining"), "0");
        assert!(call(at, "GET /", &[], "").await.is_violated("hello"));
    };
    tokio::select! {
        ended = serves => unreachable!("{ended:?}"),
        () = calls => {}
    }
}
