//! A call over a real connection, and its answer as text.
//!
//! Invariant: one call is one connection, which ends with the answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    text: String,
}

impl Answer {
    /// The value of a header field, by its name in lower case; empty if it is not there.
    pub(super) fn field(&self, name: &str) -> &str {
        let head = self.text.split("\r\n\r\n").next().unwrap_or_default();
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// Whether it was refused by the policy of this name.
    pub(super) fn is_violated(&self, policy: &str) -> bool {
        self.status == 429 && self.text.contains(&format!(r#""violated-policies":["{policy}"]"#))
    }

    /// Whether the body is this one.
    pub(super) fn says(&self, body: &str) -> bool {
        self.text.ends_with(&format!("\r\n\r\n{body}"))
    }
}

/// Calls `METHOD /path` with these fields and this body.
pub(super) async fn call(at: SocketAddr, target: &str, fields: &[&str], body: &str) -> Answer {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\
         {fields}\r\n{body}"
    );
    let exchange = move || {
        let mut stream = TcpStream::connect(at)?;
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok::<String, std::io::Error>(text)
    };
    let text = tokio::task::spawn_blocking(exchange).await.unwrap().unwrap();
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer { status: status.expect("an answer has a status"), text }
}
