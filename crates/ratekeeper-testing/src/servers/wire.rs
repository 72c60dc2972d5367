//! The Redis protocol, as far as tests need it: one call on a connection of its own.
//!
//! Invariant: it shares nothing with the client under test.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A simple or a bulk string, as text.
    Text(String),
    /// A bulk string that is no text.
    Bytes(Vec<u8>),
    /// A number.
    Number(i64),
    /// Nothing.
    Nil,
    /// A list.
    List(Vec<Reply>),
    /// An error.
    Error(String),
}

impl Reply {
    /// As text; a number is written out, nothing is empty.
    pub fn text(&self) -> String {
        match self {
            Reply::Text(text) | Reply::Error(text) => text.clone(),
            Reply::Number(number) => number.to_string(),
            Reply::Nil => String::new(),
            Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Reply::List(list) => list.iter().map(Reply::text).collect::<Vec<_>>().join("\n"),
        }
    }

    /// As a number.
    pub fn number(&self) -> i64 {
        match self {
            Reply::Number(number) => *number,
            other => {
                other.text().trim().parse().unwrap_or_else(|_| panic!("{other:?} is no number"))
            }
        }
    }

    /// As a list.
    pub fn list(self) -> Vec<Reply> {
        match self {
            Reply::List(list) => list,
            other => panic!("{other:?} is no list"),
        }
    }

    /// As bytes.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Reply::Bytes(bytes) => bytes,
            other => other.text().into_bytes(),
        }
    }
}

/// Makes one call to a server on loopback.
pub fn ask(port: u16, words: &[&str]) -> Result<Reply> {
    ask_bytes(port, &words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
}

/// The same with words that may be no text.
pub fn ask_bytes(port: u16, words: &[&[u8]]) -> Result<Reply> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut message = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        message.extend(format!("${}\r\n", word.len()).as_bytes());
        message.extend(*word);
        message.extend(b"\r\n");
    }
    stream.write_all(&message)?;
    read(&mut BufReader::new(stream))
}

fn read(stream: &mut BufReader<TcpStream>) -> Result<Reply> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let line = line.trim_end();
    let fault = || Error::new(ErrorKind::InvalidData, format!("`{line}` is no reply"));
    let (kind, rest) = line.split_at_checked(1).ok_or_else(fault)?;
    let number = || rest.parse::<i64>().map_err(|_| fault());
    Ok(match kind {
        "+" => Reply::Text(rest.to_owned()),
        "-" => Reply::Error(rest.to_owned()),
        ":" => Reply::Number(number()?),
        "$" => match usize::try_from(number()?) {
            Err(_) => Reply::Nil,
            Ok(length) => {
                let mut bytes = vec![0; length + 2];
                stream.read_exact(&mut bytes)?;
                bytes.truncate(length);
                String::from_utf8(bytes)
                    .map_or_else(|error| Reply::Bytes(error.into_bytes()), Reply::Text)
            }
        },
        "*" => match usize::try_from(number()?) {
            Err(_) => Reply::Nil,
            Ok(length) => Reply::List((0..length).map(|_| read(stream)).collect::<Result<_>>()?),
        },
        _ => return Err(fault()),
    })
}
