//! Redis' protocol at the wire: bytes in, bytes out, with a clock that the test moves.
//!
//! Invariant: every read has a deadline; what comes back is read by a reader of our own, and nothing is left over.

mod bad;
mod checks;
mod entering;
mod parsing;
mod pipelines;
mod throttles;

use crate::wire::{connect, is_ended};
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, ManualClock};
use ratekeeper_server::app::{App, Parts};
use ratekeeper_server::door::resp::{self, Password, Resp};
use ratekeeper_server::observe::Observe;
use ratekeeper_server::serve::Bounds;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A server of Redis clients in this process. It is over when it is dropped.
struct Stand {
    address: SocketAddr,
    clock: ManualClock,
    app: App,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stand {
    /// By the rules of a file.
    fn by(rules: &str) -> Stand {
        Stand::with(rules, None, Bounds::default())
    }

    fn with(rules: &str, password: Option<Password>, bounds: Bounds) -> Stand {
        let clock = ManualClock::new();
        let observe = Arc::<Observe>::default();
        let file = RuleFile::parse(rules).expect("the file is fine");
        let builder = Limiter::from_file(file).expect("its store is memory");
        let limiter = builder.clock(&clock).observer(observe.observer()).build();
        let app = App::from(Parts { observe, ..Parts::new(limiter, bounds.body) });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let resp = Resp { app: app.clone(), password: password.map(Arc::new) };
        let thread = std::thread::spawn(move || {
            runtime.block_on(resp::run(listener, resp, bounds, |_| true, async {
                let _ = stopped.await;
            }));
        });
        Stand { address, clock, app, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> Client {
        Client { stream: connect(self.address), read: Vec::new() }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends in order");
        }
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(i64),
    Text(String),
    Error(String),
    Null,
    List(Vec<Value>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// A list of replies.
macro_rules! list {
    ($($item:expr),* $(,)?) => { crate::resp::Value::List(vec![$(crate::resp::Value::from($item)),*]) };
}
pub(crate) use list;

/// A client that says exactly what it is told to.
struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Sends a command, and reads its reply.
    fn ask(&mut self, words: &[&str]) -> Value {
        self.send(&command(words));
        self.reply()
    }

    /// The next reply, whole.
    fn reply(&mut self) -> Value {
        loop {
            let mut rest = &self.read[..];
            if let Some(value) = value(&mut rest) {
                self.read = rest.to_vec();
                return value;
            }
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).expect("a reply before the deadline");
            assert!(
                count > 0,
                "the connection ended after {:?}",
                String::from_utf8_lossy(&self.read)
            );
            self.read.extend_from_slice(&piece[..count]);
        }
    }

    /// Whether the server ends the connection, with nothing more to say.
    fn is_over(&mut self) -> bool {
        self.read.is_empty() && is_ended(&mut self.stream)
    }
}

/// A command as an array of bulk strings.
fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// The first value of the input, which is moved on; `None` if it is not whole.
fn value(rest: &mut &[u8]) -> Option<Value> {
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    let line = String::from_utf8(rest[1..end].to_vec()).expect("lines are text");
    let kind = rest[0];
    let mut tail = &rest[end + 2..];
    let count = || line.parse::<i64>().expect("a number");
    let found = match kind {
        b':' => Value::Integer(count()),
        b'+' => Value::Text(line),
        b'-' => Value::Error(line),
        b'_' => Value::Null,
        b'$' if line == "-1" => Value::Null,
        b'$' => {
            let (text, after) = tail.split_at_checked(count() as usize)?;
            tail =
                after.strip_prefix(b"\r\n").or(if after.len() < 2 { None } else { Some(b"?") })?;
            Value::Text(String::from_utf8(text.to_vec()).expect("texts are text"))
        }
        b'*' | b'%' => {
            let each = if kind == b'%' { 2 * count() } else { count() };
            Value::List((0..each).map(|_| value(&mut tail)).collect::<Option<_>>()?)
        }
        other => Value::Error(format!("a reply begins with {:?}", char::from(other))),
    };
    *rest = tail;
    Some(found)
}

/// Rules that many of these tests use.
const RULES: &str = "
tiers: [free, pro]
rules:
  - {id: small, key: user, limit: 2/minute}
  - {id: tiers, key: user, limit: {free: 1/minute, pro: 3/minute}}
  - {id: pair, key: [user, host], limit: 1/minute}
  - {id: queue, key: user, limit: 1/second burst 3, algorithm: leaky_bucket, mode: shaping}
  - {id: exports, key: user, limit: 1 concurrent, hold: 60s}
  - {id: shadow, key: user, limit: 1/minute, rollout: shadow}
  - {id: closed, key: user, deny: true}
  - {id: free, key: user, limit: unlimited}
overrides:
  - {rule: small, key: [vip], limit: 9/minute, reason: test}
";
