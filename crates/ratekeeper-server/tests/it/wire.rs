//! HTTP/1.1 by hand, so that tests can say exactly which bytes go out and when.
//!
//! Invariant: every read has a deadline.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a test waits for anything before it fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// A header field's value, if it is there.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim()).next()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// A connection on which nothing was sent yet.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, DEADLINE).expect("the server accepts");
    stream.set_read_timeout(Some(DEADLINE)).expect("a read timeout can be set");
    stream.set_write_timeout(Some(DEADLINE)).expect("a write timeout can be set");
    stream
}

/// The bytes of a request with a body, its `fields` each ending in CR LF.
pub(crate) fn request(line: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// Sends bytes on a new connection and reads one answer.
pub(crate) fn send(address: SocketAddr, bytes: &str) -> Reply {
    let mut stream = connect(address);
    stream.write_all(bytes.as_bytes()).expect("the request can be sent");
    read_reply(&mut stream)
}

/// Asks the check API.
pub(crate) fn check(address: SocketAddr, body: &str) -> Reply {
    post(address, "/v1/check", body)
}

/// Sends JSON to a path.
pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Reply {
    let json = "Content-Type: application/json\r\n";
    send(address, &request(&format!("POST {path}"), json, body))
}

/// Reads one answer of known length.
pub(crate) fn read_reply(stream: &mut TcpStream) -> Reply {
    let (mut reply, mut bytes) = read_start(stream);
    let length = reply.field("content-length").map_or(0, |value| value.parse().expect("a length"));
    while bytes.len() < length {
        read_some(stream, &mut bytes);
    }
    reply.body = String::from_utf8(bytes).expect("the body is text");
    reply
}

/// Reads the answer to a HEAD, which has no body.
pub(crate) fn read_head(stream: &mut TcpStream) -> Reply {
    read_start(stream).0
}

/// Reads the head of an answer, and what came of its body.
fn read_start(stream: &mut TcpStream) -> (Reply, Vec<u8>) {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        read_some(stream, &mut bytes);
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("the head is text");
    let status = head.get(9..12).and_then(|code| code.parse().ok()).expect("there is a status");
    (Reply { status, head, body: String::new() }, bytes.split_off(head_end + 4))
}

fn read_some(stream: &mut TcpStream, bytes: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    let count = stream.read(&mut piece).expect("the answer comes before the deadline");
    assert!(count > 0, "the connection ended within {:?}", String::from_utf8_lossy(bytes));
    bytes.extend_from_slice(&piece[..count]);
}

/// Whether the peer ends the connection before the deadline, after whatever it still sends.
pub(crate) fn is_ended(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}
