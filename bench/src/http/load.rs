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
    /// How often each connection asks; as often as it can if nothing is said.
    pub every: Option<Duration>,
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

    /// Asks for each key once.
    pub async fn fill(self, connections: usize) {
        let tasks: Vec<_> = (0..connections)
            .map(|number| {
                tokio::spawn(async move {
                    let mut stream = connect(self.address).await;
                    let mut answer = Vec::with_capacity(4096);
                    for key in (number..self.keys).step_by(connections) {
                        let request = self.request(key);
                        stream.write_all(request.as_bytes()).await.expect("the server reads");
                        read(&mut stream, &mut answer).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("the load does not panic");
        }
    }

    async fn connection(self, number: usize, start: Instant, time: Duration) -> Vec<Duration> {
        let mut stream = connect(self.address).await;
        let (mut times, mut state) = (Vec::new(), number as u64 + 1);
        let mut answer = Vec::with_capacity(4096);
        // Connections take turns, so that they do not all ask at once.
        let mut next = start + self.every.unwrap_or_default().mul_f64(number as f64 / 50.0);
        while start.elapsed() < time {
            if let Some(every) = self.every {
                tokio::time::sleep_until(next.into()).await;
                next += every;
            }
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
                    r#"{{"key":"user-{key:07}","max_burst":100000,"count_per_period":1000,"period":3600,"quantity":1}}"#
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

async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.expect("the server is there");
    stream.set_nodelay(true).expect("a socket has that option");
    stream
}

/// Reads one answer, which says how long its body is.
async fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) {
    answer.clear();
    while !is_whole(answer) {
        let count = stream.read_buf(answer).await.expect("the server answers");
        assert!(count > 0, "the server broke off");
    }
}

/// Whether all of an answer is there, which says how long its body is.
pub fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|own| own == b"\r\n\r\n") else { return false };
    let lines = answer[..end].split(|byte| *byte == b'\n');
    let field = b"content-length:";
    let length =
        lines.filter_map(|line| line.split_at_checked(field.len())).find_map(|(name, rest)| {
            let rest =
                std::str::from_utf8(rest).ok().filter(|_| name.eq_ignore_ascii_case(field))?;
            rest.trim().parse::<usize>().ok()
        });
    answer.len() >= end + 4 + length.expect("the length is said")
}
