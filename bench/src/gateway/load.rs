//! Connections that ask one after the other, as fast as they can or at times set beforehand.
//!
//! Invariant: a request is sent when the answer before it was read to its end, and each answer is looked at:
//! its status, its length, and the body if it is small. What was due is measured from when it was due.

use super::process::Running;
use super::upstream::{Asked, FILL, SMALL};
use crate::stand::processor_time;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How much longer than planned all may take, before a server counts as stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Room for what is read at once.
const ROOM: usize = 256 * 1024;

const OK: &[u8] = b"HTTP/1.1 200 ";
const END: &[u8] = b"\r\n\r\n";

/// What is asked by how many connections for how long.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub asked: Asked,
    pub connections: usize,
    pub time: Duration,
    /// How often each connection asks; as often as it can if nothing is said.
    pub every: Option<Duration>,
}

/// What came of it; times in microseconds.
pub struct Done {
    /// Requests that were answered, also those before anything was measured.
    pub count: usize,
    /// Requests in a second.
    pub rate: f64,
    pub p50: f64,
    pub p99: f64,
    /// Of the server's processor, for a request.
    pub cost: f64,
    /// The share of its core that the server used, of 1.
    pub busy: f64,
    /// The share of theirs that load and upstream used.
    pub load: f64,
}

impl Load {
    pub async fn run(self, server: &Running) -> Done {
        let done = tokio::time::timeout(self.time + PATIENCE, self.all(server)).await;
        done.expect("the server answers all that is asked")
    }

    async fn all(self, server: &Running) -> Done {
        let mut open = Vec::new();
        for _ in 0..self.connections {
            // Each has asked once before anything is measured, so that what is behind is connected, too.
            let mut own = Connection::open(server.address(), self.asked).await;
            own.ask().await;
            open.push(own);
        }
        let (before, own, start) = (server.processor_time(), processor_time(), Instant::now());
        let tasks: Vec<_> = open
            .into_iter()
            .enumerate()
            .map(|(number, own)| tokio::spawn(self.connection(number, own, start)))
            .collect();
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await.expect("the load does not panic"));
        }
        let seconds = start.elapsed().as_secs_f64();
        let (used, own) = (server.processor_time() - before, processor_time() - own);
        times.sort_unstable();
        let measured = times.len() as f64;
        let at = |share: f64| times[((measured - 1.0) * share) as usize].as_secs_f64() * 1e6;
        let (rate, busy, load) = (measured / seconds, used / seconds, own / 1e9 / seconds);
        let (count, cost) = (times.len() + self.connections, used * 1e6 / measured);
        Done { count, rate, p50: at(0.5), p99: at(0.99), cost, busy, load }
    }

    async fn connection(self, number: usize, mut own: Connection, start: Instant) -> Vec<Duration> {
        let mut times = Vec::with_capacity(1 << 14);
        // Connections take turns, so that they do not all ask at once.
        let share = number as f64 / self.connections as f64;
        let mut due = start + self.every.unwrap_or_default().mul_f64(share);
        while due.duration_since(start) < self.time {
            if self.every.is_some() {
                until(due).await;
            }
            own.ask().await;
            let now = Instant::now();
            times.push(now.duration_since(due));
            due = self.every.map_or(now, |every| due + every);
        }
        times
    }
}

/// Waits without sleep, since timers have whole milliseconds; all others have their turn in between.
async fn until(due: Instant) {
    while Instant::now() < due {
        tokio::task::yield_now().await;
    }
}

struct Connection {
    stream: TcpStream,
    asked: Asked,
    read: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr, asked: Asked) -> Connection {
        let stream = TcpStream::connect(address).await.expect("the server is there");
        stream.set_nodelay(true).expect("a socket has that option");
        let room = if asked == Asked::Small { 4096 } else { ROOM };
        Connection { stream, asked, read: Vec::with_capacity(room) }
    }

    /// Asks, and reads the answer to its end.
    async fn ask(&mut self) {
        self.stream.write_all(self.asked.request()).await.expect("the server reads");
        self.read.clear();
        match self.asked {
            Asked::Small => self.read_small().await,
            Asked::Big => self.read_big().await,
        }
    }

    /// The end is where a header ends as far before it as the body is long. Since the body has no such end
    /// in it, this finds only the one.
    async fn read_small(&mut self) {
        loop {
            self.more().await;
            self.expect_ok();
            let Some(at) = self.read.len().checked_sub(SMALL + END.len()) else { continue };
            if self.read[at..].starts_with(END) {
                let body = &self.read[at + END.len()..];
                assert!(body == [FILL; SMALL], "{}", self.text());
                return;
            }
            assert!(at < 1024, "not the answer that was prepared: {}", self.text());
        }
    }

    /// The header has to say the length; then so much is read, and the next answer has to begin there.
    async fn read_big(&mut self) {
        let head = loop {
            self.more().await;
            self.expect_ok();
            if let Some(at) = self.read.windows(END.len()).position(|own| own == END) {
                break at;
            }
        };
        let length = format!("content-length: {}\r\n", self.asked.bytes());
        let text = String::from_utf8_lossy(&self.read[..head + 2]).to_ascii_lowercase();
        assert!(text.contains(&length), "{text}");
        let mut missing = self.asked.bytes() + head + END.len();
        loop {
            let read = self.read.len();
            missing = missing.checked_sub(read).expect("no more than was announced");
            if missing == 0 {
                return;
            }
            self.read.clear();
            self.more().await;
        }
    }

    async fn more(&mut self) {
        let count = self.stream.read_buf(&mut self.read).await.expect("the server answers");
        assert!(count > 0, "the server broke off: {}", self.text());
    }

    /// As far as an answer is there, it says that all is well.
    fn expect_ok(&self) {
        let there = self.read.len().min(OK.len());
        assert!(self.read[..there] == OK[..there], "{}", self.text());
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }
}
