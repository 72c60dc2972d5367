//! HTTP/1.1 messages read to the letter, by clients and upstreams of these tests.
//!
//! Invariant: what is not framed as RFC 9112 has it is a fault, never guessed; every read has a deadline.

use crate::wire::connect;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Names and values as they came.
pub(crate) type Fields = Vec<(String, String)>;

/// One message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// The line that it begins with.
    pub(crate) start: String,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Fields,
}

/// Why there is no message, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The peer ended the connection before the first byte.
    Ended,
    /// The peer ended the connection within a message.
    Cut,
    /// Nothing came before the deadline.
    Late,
    /// It is not framed as a message.
    Bad(String),
}

impl Message {
    /// All values under a name.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let own = self.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.as_str()).collect()
    }

    /// The value under a name that is there once.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name} twice in {self:?}");
        all.first().copied()
    }

    /// Whether there is a field of this name, or of one that differs by `_` for `-`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field.replace('_', "-").eq_ignore_ascii_case(name))
    }

    pub(crate) fn status(&self) -> u16 {
        let status = self.start.split(' ').nth(1).and_then(|code| code.parse().ok());
        status.expect("an answer has a status")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// A connection, with what was read of it and not used.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
    ahead: Vec<u8>,
}

impl Wire {
    pub(crate) fn of(stream: TcpStream) -> Wire {
        Wire { stream, ahead: Vec::new() }
    }

    pub(crate) fn open(address: SocketAddr) -> Wire {
        Wire::of(connect(address))
    }

    /// How many bytes were read and not used.
    pub(crate) fn unused(&self) -> usize {
        self.ahead.len()
    }

    /// Sends bytes; the peer may be gone already.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// The next request.
    pub(crate) fn request(&mut self) -> Result<Message, Fault> {
        let mut message = self.head()?;
        self.framed(&mut message)?;
        Ok(message)
    }

    /// The next answer, to a request of this method; one of 1xx counts.
    pub(crate) fn answer(&mut self, method: &str) -> Result<Message, Fault> {
        let mut message = self.head()?;
        let code = message.status();
        let is_empty = method == "HEAD" || code < 200 || code == 204 || code == 304;
        if !is_empty && !self.framed(&mut message)? {
            while self.more().is_ok() {}
            message.body = std::mem::take(&mut self.ahead);
        }
        Ok(message)
    }

    /// The next head alone.
    pub(crate) fn head(&mut self) -> Result<Message, Fault> {
        let start = match self.line() {
            Err(Fault::Cut) if self.ahead.is_empty() => return Err(Fault::Ended),
            line => line?,
        };
        let fields = self.fields()?;
        Ok(Message { start, fields, ..Message::default() })
    }

    /// Reads a body whose end is known; whether it is.
    pub(crate) fn framed(&mut self, message: &mut Message) -> Result<bool, Fault> {
        let (lengths, codings) = (message.all("content-length"), message.all("transfer-encoding"));
        match (lengths[..].first(), codings[..].first()) {
            (None, None) => return Ok(false),
            (Some(length), None) if lengths.len() == 1 => {
                let length = length.parse().map_err(|_| Fault::Bad(format!("{length:?}")))?;
                message.body = self.exactly(length)?;
            }
            (None, Some(coding)) if codings.len() == 1 && *coding == "chunked" => {
                (message.body, message.trailers) = self.chunks()?;
            }
            _ => return Err(Fault::Bad(format!("{lengths:?} {codings:?}"))),
        }
        Ok(true)
    }

    fn chunks(&mut self) -> Result<(Vec<u8>, Fields), Fault> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(&line, 16).map_err(|_| Fault::Bad(line))?;
            if size == 0 {
                return Ok((body, self.fields()?));
            }
            body.extend(self.exactly(size)?);
            if !self.line()?.is_empty() {
                return Err(Fault::Bad("a chunk without an end".to_owned()));
            }
        }
    }

    fn fields(&mut self) -> Result<Fields, Fault> {
        let mut fields = Fields::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(fields);
            }
            let Some((name, value)) = line.split_once(':') else { return Err(Fault::Bad(line)) };
            if name.is_empty() || name.contains([' ', '\t']) {
                return Err(Fault::Bad(line));
            }
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// A line that ends in CR LF, without them.
    fn line(&mut self) -> Result<String, Fault> {
        let end = loop {
            if let Some(end) = self.ahead.windows(2).position(|two| two == b"\r\n") {
                break end;
            }
            self.more()?;
        };
        // Values may have bytes that are no text; each is the character of its number.
        let line: String = self.ahead.drain(..end + 2).take(end).map(char::from).collect();
        if line.contains(['\r', '\n']) { Err(Fault::Bad(line)) } else { Ok(line) }
    }

    /// So many bytes.
    pub(crate) fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Fault> {
        while self.ahead.len() < count {
            self.more()?;
        }
        Ok(self.ahead.drain(..count).collect())
    }

    /// Reads so many bytes and keeps none.
    pub(crate) fn skim(&mut self, count: u64) -> Result<(), Fault> {
        let mut left = count;
        loop {
            let here = self.ahead.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.ahead.drain(..here);
            left -= here as u64;
            if left == 0 {
                return Ok(());
            }
            self.more()?;
        }
    }

    /// Reads some more.
    fn more(&mut self) -> Result<(), Fault> {
        let mut piece = [0; 64 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => Err(Fault::Cut),
            Ok(count) => {
                self.ahead.extend_from_slice(&piece[..count]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(Fault::Late)
            }
            Err(_) => Err(Fault::Cut),
        }
    }

    /// Waits until the peer ends the connection, or the deadline is over; whether it did.
    pub(crate) fn ends(&mut self) -> bool {
        loop {
            match self.more() {
                Ok(()) => self.ahead.clear(),
                Err(fault) => return fault == Fault::Cut,
            }
        }
    }
}

/// Sends bytes on a new connection and reads the answer to their first request.
pub(crate) fn ask(address: SocketAddr, bytes: &str) -> Message {
    let mut wire = Wire::open(address);
    wire.send(bytes);
    let method = bytes.split(' ').next().unwrap_or_default();
    wire.answer(method).expect("an answer comes")
}
