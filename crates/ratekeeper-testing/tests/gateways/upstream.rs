//! The application behind a gateway: says what reached it, and remembers.
//!
//! Invariant: it ends with its handle.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

#[derive(Default)]
struct Shared {
    targets: Mutex<HashMap<String, usize>>,
    over: AtomicBool,
}

pub(crate) struct Upstream {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

impl Upstream {
    pub(crate) fn start() -> Upstream {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.over.load(Ordering::Relaxed) {
                    break;
                }
                let own = Arc::clone(&own);
                spawn(move || answer(&stream, &own));
            }
        });
        Upstream { port, shared }
    }

    /// How many requests for this target reached it.
    pub(crate) fn targets(&self, target: &str) -> usize {
        self.shared.targets.lock().unwrap().get(target).copied().unwrap_or(0)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Answers one request: its method and its target.
fn answer(mut stream: &TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    *shared.targets.lock().unwrap().entry(target.to_owned()).or_default() += 1;
    let text = format!("{method} {target}");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n";
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{text}", text.len());
}
