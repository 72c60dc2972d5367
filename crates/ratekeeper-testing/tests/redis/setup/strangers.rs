//! What is no store at all: nobody, somebody who speaks HTTP, sentinels that know another master.
//!
//! Invariant: whoever answers, it is told who, and that it is not what was asked for.

use super::{PASSWORD, config, refused, verify};
use ratekeeper::outage::Class;
use ratekeeper::{Limiter, Source};
use ratekeeper_testing::servers::{Kind, Sentinels, Server, free_port};
use tokio::net::TcpListener;

/// Goal: a port on which nobody listens is told.
/// Method: a free one.
#[tokio::test]
async fn a_port_on_which_nobody_listens_is_told() {
    let at = format!("127.0.0.1:{}", free_port());
    let words = [&format!("`redis://:***@{at}`"), "refused", "; is the server running"];
    refused(config(&format!("redis://:{PASSWORD}@{at}/0")), Class::Connection, &words).await;
}

/// Goal: a name that nobody has is told.
/// Method: one below `.invalid`, which is never given out.
#[tokio::test]
async fn a_host_that_does_not_exist_is_told() {
    let error = verify(config(&format!("redis://:{PASSWORD}@nowhere.invalid/0"))).await;
    let text = error.expect_err("there is no such host").to_string();
    assert!(
        text.contains("redis://:***@nowhere.invalid:6379") && !text.contains(PASSWORD),
        "{text}"
    );
}

/// Goal: something that answers, but not as Redis does, is told, with and without a login; decisions
/// are answered by the rule's policy.
/// Method: a listener that answers HTTP to whatever it is sent.
#[tokio::test]
async fn a_server_of_something_else_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut streams = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            stream.readable().await.unwrap();
            let _ = stream.try_read(&mut [0; 1024]);
            let _ = stream.try_write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            streams.push(stream);
        }
    });
    // Before a login, all that is known is that the connection broke.
    let login = format!("user:{PASSWORD}@");
    for (login, class) in [("", Class::Connection), (&*login, Class::Alien)] {
        let config = config(&format!("redis://{login}{at}/0"));
        let words = [&*format!("{at}`"), "; is this a Redis or Valkey server"];
        refused(config.clone(), class, &words).await;
        let limiter = Limiter::redis(config).rule("api", "10/minute").unwrap().build();
        let decision = limiter.rule("api").unwrap().check("alice").await;
        assert_eq!(decision.source(), Source::FailedOpen);
    }
}

/// Goal: a server that takes a connection and says nothing is given up in time.
/// Method: a listener that never answers.
#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let place = format!("redis://:***@{at}");
    let words = [&*place, "did not let us connect in a second"];
    refused(config(&format!("redis://:{PASSWORD}@{at}")), Class::Timeout, &words).await;
    refused(config(&format!("redis://{at}")), Class::Timeout, &["did not answer in time"]).await;
}

/// Goal: sentinels that do not know the master's name are told, and so is a server that is no sentinel.
/// Method: the right name, a wrong one, and a plain server.
#[tokio::test]
async fn sentinels_that_know_no_such_master_are_told() {
    let sentinels = Sentinels::start(Kind::Redis);
    verify(config(&sentinels.url())).await.unwrap();
    let wrong = sentinels.url().replace("/rk", "/other");
    let words = ["knows no master named `other`; check the name in the URL"];
    refused(config(&wrong), Class::Unavailable, &words).await;
    let server = Server::start(Kind::Redis);
    let plain = config(&format!("redis-sentinel://{}/rk", server.address()));
    refused(plain, Class::Alien, &[&server.address(), "SENTINEL"]).await;
}
