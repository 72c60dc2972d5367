//! Many connections that ask one after the other, each for another key.
//!
//! Invariant: a request is sent when the answer before it was read to its end.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    Hello,
    Ratekeeper,
    Throttlecrab,
}

/// Whom to ask what.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub address: SocketAddr,
    pub asks: Asks,
    pub keys: usize,
}

/// What came of it; times in microseconds.
pub struct Done {
    pub rate: f64,
    pub p50: f64,
    pub p99: f64,
}

impl Load {
    pub async fn run(self, connections: usize, time: Duration) -> Done {
        let start = Instant::now();
        let tasks: Vec<_> = (0..connections)
            .map(|number| tokio::spawn(self.connection(number, start, time)))
            .collect();
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await.expect("the load does not panic"));
        }
        let seconds = start.elapsed().as_secs_f64();
        times.sort_unstable();
        let at =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        Done { rate: times.len() as f64 / seconds, p50: at(0.5), p99: at(0.99) }
    }

    async fn connection(self, number: usize, start: Instant, time: Duration) -> Vec<Duration> {
        let mut stream = TcpStream::connect(self.address).await.expect("the server is there");
        stream.set_nodelay(true).expect("a socket has that option");
        let (mut times, mut state) = (Vec::new(), number as u64 + 1);
        let mut answer = Vec::with_capacity(4096);
        while start.elapsed() < time {
            // A step of a generator that visits all numbers.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let request = self.request((state >> 33) as usize % self.keys);
            let sent = Instant::now();
            stream.write_all(request.as_bytes()).await.expect("the server reads");
            read(&mut stream, &mut answer).await;
            times.push(sent.elapsed());
            assert!(self.is_good(&answer), "{}", String::from_utf8_lossy(&answer));
        }
        times
    }

    fn request(&self, key: usize) -> String {
        let (path, body) = match self.asks {
            Asks::Hello => return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".into(),
            Asks::Ratekeeper => ("/v1/check", format!(r#"{{"rule":"api","key":"user-{key:07}"}}"#)),
            Asks::Throttlecrab => (
                "/throttle",
                format!(
                    r#"{{"key":"user-{key:07}","max_burst":100000,"count_per_period":1,"period":86400,"quantity":1}}"#
                ),
            ),
        };
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    fn is_good(&self, answer: &[u8]) -> bool {
        let has = |words: &[u8]| answer.windows(words.len()).any(|own| own == words);
        answer.starts_with(b"HTTP/1.1 200")
            && (self.asks == Asks::Hello || has(b"\"allowed\":true"))
    }
}

/// Reads one answer, which says how long its body is.
async fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) {
    answer.clear();
    let mut whole = usize::MAX;
    while answer.len() < whole {
        let count = stream.read_buf(answer).await.expect("the server answers");
        assert!(count > 0, "the server broke off");
        if whole == usize::MAX
            && let Some(end) = answer.windows(4).position(|own| own == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
            let length = head.split("content-length:").nth(1).expect("the length is said");
            let length = length.lines().next().unwrap_or_default().trim().parse::<usize>();
            whole = end + 4 + length.expect("the length is a number");
        }
    }
}
