//! A server that answers what it is told to: well, with some bytes, or not at all.
//!
//! Invariant: it counts every connection and every call, and is gone when its handle is dropped.

use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;
use tokio::time::Instant;

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Admits: the bucket was whole.
    Well,
    /// These bytes, whatever was asked.
    Bytes(Vec<u8>),
    /// These bytes to scripts; logins are well.
    Scripts(Vec<u8>),
    /// Nothing.
    Silence,
}

impl Answer {
    /// An error to whatever is asked, such as `LOADING Redis is loading the dataset in memory`.
    pub fn error(text: &str) -> Answer {
        Answer::Bytes(format!("-{text}\r\n").into_bytes())
    }
}

/// A call that it was made.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The first word.
    pub name: String,
    /// When.
    pub at: Instant,
}

/// The server.
#[derive(Debug)]
pub struct Fake {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    answer: Mutex<Answer>,
    calls: Mutex<Vec<Asked>>,
    clients: Mutex<Vec<TcpStream>>,
    accepts: AtomicU64,
    over: AtomicBool,
}

impl Fake {
    /// Starts one on a free port of loopback.
    pub fn start(answer: Answer) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            answer: Mutex::new(answer),
            calls: Mutex::default(),
            clients: Mutex::default(),
            accepts: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let accepts = Arc::clone(&shared);
        let thread = Some(spawn(move || accept(&listener, &accepts)));
        Fake { port, shared, thread }
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `redis://127.0.0.1:port/0`.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address())
    }

    /// Answers like this from now on.
    pub fn answer(&self, answer: Answer) {
        *lock(&self.shared.answer) = answer;
    }

    /// How many connections there were.
    pub fn accepts(&self) -> u64 {
        self.shared.accepts.load(Ordering::Acquire)
    }

    /// The calls that there were.
    pub fn calls(&self) -> Vec<Asked> {
        lock(&self.shared.calls).clone()
    }

    /// How many calls had this first word.
    pub fn count(&self, name: &str) -> usize {
        lock(&self.shared.calls).iter().filter(|call| call.name == name).count()
    }

    /// Cuts all connections.
    pub fn hang_up(&self) {
        for client in lock(&self.shared.clients).drain(..) {
            let _ = client.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Forgets the calls and connections that there were.
    pub fn clear(&self) {
        lock(&self.shared.calls).clear();
        self.shared.accepts.store(0, Ordering::Release);
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        self.hang_up();
        // The one who accepts looks up when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panicked")
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(copy) = stream.try_clone() else { continue };
        shared.accepts.fetch_add(1, Ordering::AcqRel);
        lock(&shared.clients).push(copy);
        let shared = Arc::clone(shared);
        spawn(move || {
            // It ends when the client leaves, or when the handle is dropped.
            let _ = serve(stream, &shared);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let words = command(&mut reader)?;
        let name = String::from_utf8_lossy(words.first().map_or(b"", Vec::as_slice)).to_uppercase();
        let answer = lock(&shared.answer).clone();
        let setup = name == "AUTH" || name == "SELECT";
        lock(&shared.calls).push(Asked { name, at: Instant::now() });
        match answer {
            Answer::Well | Answer::Scripts(_) if setup => stream.write_all(b"+OK\r\n")?,
            Answer::Well => stream.write_all(&admitted(&words))?,
            Answer::Bytes(bytes) | Answer::Scripts(bytes) => stream.write_all(&bytes)?,
            Answer::Silence => {}
        }
    }
}

/// What our scripts answer for buckets that were whole: the time, and for each request yes, and that there was
/// nothing. Of how many buckets each is stands behind the keys; one of one, if nothing does.
fn admitted(words: &[Vec<u8>]) -> Vec<u8> {
    let year = Duration::from_secs(1_800_000_000).as_micros();
    let keys = words.get(2).and_then(|count| String::from_utf8_lossy(count).parse::<usize>().ok());
    let sizes = keys.and_then(|keys| words.get(3 + keys)).filter(|sizes| sizes.len() % 2 == 0);
    let sizes: Vec<usize> = sizes.map_or(vec![1], |sizes| {
        sizes.chunks(2).map(|size| 256 * usize::from(size[0]) + usize::from(size[1])).collect()
    });
    let rows: usize = 1 + sizes.iter().map(|size| 1 + size).sum::<usize>();
    let each: String =
        sizes.iter().map(|size| format!(":1\r\n{}", "$-1\r\n".repeat(*size))).collect();
    format!("*{rows}\r\n:{year}\r\n{each}").into_bytes()
}

/// Reads a call: its words.
fn command(reader: &mut impl BufRead) -> Result<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    for _ in 0..length(reader, '*')? {
        let mut word = vec![0; length(reader, '$')? + 2];
        reader.read_exact(&mut word)?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Ok(words)
}

fn length(reader: &mut impl BufRead, kind: char) -> Result<usize> {
    let mut line = String::new();
    reader.take(32).read_line(&mut line)?;
    let number = line.trim_end().strip_prefix(kind).and_then(|number| number.parse().ok());
    number.filter(|number| *number < 1 << 20).ok_or_else(|| Error::other("is no call"))
}
