//! The server behind all proxies: it answers with what was prepared, small or big.
//!
//! Invariant: where it shares the core of the load it lives in the load's runtime, so that both
//! wake once for many requests and take as little as can be; on the core of servers it is a process
//! of its own.

use super::process::{Place, Running};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Bytes of the two bodies.
pub const SMALL: usize = 100;
pub const BIG: usize = 1_000_000;

/// What bodies are made of: nothing that could be taken for the end of a header.
pub const FILL: u8 = b'x';

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Small,
    Big,
}

impl Asked {
    pub fn bytes(self) -> usize {
        match self {
            Asked::Small => SMALL,
            Asked::Big => BIG,
        }
    }

    pub fn request(self) -> &'static [u8] {
        match self {
            Asked::Small => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            Asked::Big => b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n",
        }
    }

    fn answer(self) -> Vec<u8> {
        let length = self.bytes();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ";
        let mut answer = format!("{head}{length}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + length, FILL);
        answer
    }
}

/// Starts it in this runtime.
pub async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    tokio::spawn(accept(listener));
    address
}

/// Starts it as a process on the core of servers.
pub fn start_apart() -> Option<Running> {
    let place = Place::new()?;
    let args = ["upstream-on", &place.address.to_string()];
    place.start(&std::env::current_exe().ok()?, &args, "")
}

/// Is that process, for ever.
pub fn stand_on(address: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives a runtime").block_on(async {
        accept(TcpListener::bind(address).await.expect("the port is free")).await;
    });
}

async fn accept(listener: TcpListener) {
    let answers = Arc::new([Asked::Small.answer(), Asked::Big.answer()]);
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        stream.set_nodelay(true).expect("a socket has that option");
        tokio::spawn(serve(stream, Arc::clone(&answers)));
    }
}

/// Answers one request after the other, until the proxy leaves.
async fn serve(mut stream: TcpStream, answers: Arc<[Vec<u8>; 2]>) {
    let [small, big] = &*answers;
    let mut request = Vec::with_capacity(4096);
    loop {
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Nobody sends a body, nor the next request before the answer to this one.
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let answer = if request.starts_with(b"GET /big") { big } else { small };
        if stream.write_all(answer).await.is_err() {
            return;
        }
        request.clear();
    }
}
