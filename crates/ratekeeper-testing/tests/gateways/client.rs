//! A client with an address of its own on loopback.
//!
//! Invariant: one request on one connection, with a deadline.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;
use tokio::net::TcpSocket;

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a header field, if it is there.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Asks from `127.0.0.from`; `fields` end in CR LF each.
pub(crate) fn ask(port: u16, from: u8, method: &str, target: &str, fields: &str) -> Reply {
    let mut stream = connect(from, port);
    let body = if method == "POST" { "user=x" } else { "" };
    let length = body.len();
    let head = format!("{method} {target} HTTP/1.1\r\nHost: api.example\r\n");
    write!(stream, "{head}{fields}Content-Length: {length}\r\n\r\n{body}").unwrap();
    read(&mut BufReader::new(stream))
}

/// Reads no further than the answer's length: whoever refuses a body may reset the connection behind it.
fn read(stream: &mut impl BufRead) -> Reply {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "the answer ends within {head}");
    }
    let status = head.get(9..12).unwrap().parse().unwrap();
    let reply = Reply { status, head, body: String::new() };
    let mut body = vec![0; reply.field("content-length").unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    Reply { body: String::from_utf8(body).unwrap(), ..reply }
}

/// Only tokio can choose the address that a connection comes from.
fn connect(from: u8, port: u16) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connected = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, from), 0)))?;
        socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?.into_std()
    });
    let stream = connected.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Whether anybody listens there.
pub(crate) fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
