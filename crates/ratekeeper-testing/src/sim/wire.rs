//! The protocol of Redis, as far as our client speaks it.
//!
//! Invariant: a command is taken out of the bytes when all of it is there, and not before.

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A short text that is no error.
    Status(&'static str),
    /// An error, with its code in front.
    Error(String),
    /// A number.
    Number(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nothing.
    Nothing,
    /// Several.
    Several(Vec<Reply>),
}

impl Reply {
    /// Writes it down.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Reply::Status(text) => bytes.extend(format!("+{text}\r\n").into_bytes()),
            Reply::Error(text) => bytes.extend(format!("-{text}\r\n").into_bytes()),
            Reply::Number(number) => bytes.extend(format!(":{number}\r\n").into_bytes()),
            Reply::Nothing => bytes.extend(b"$-1\r\n"),
            Reply::Bytes(text) => {
                bytes.extend(format!("${}\r\n", text.len()).into_bytes());
                bytes.extend(text);
                bytes.extend(b"\r\n");
            }
            Reply::Several(each) => {
                bytes.extend(format!("*{}\r\n", each.len()).into_bytes());
                each.iter().for_each(|reply| reply.write(bytes));
            }
        }
    }
}

/// Takes the next command out of the bytes; `None` if not all of it is there.
pub(super) fn next_command(bytes: &mut Vec<u8>) -> Option<Vec<Vec<u8>>> {
    let mut at = 0;
    let count = number(bytes, &mut at, b'*')?;
    let mut parts = Vec::new();
    for _ in 0..count {
        let length = number(bytes, &mut at, b'$')?;
        parts.push(bytes.get(at..at + length)?.to_vec());
        at += length + 2;
    }
    if at > bytes.len() {
        return None;
    }
    bytes.drain(..at);
    Some(parts)
}

/// The number of a line that begins with a letter.
fn number(bytes: &[u8], at: &mut usize, letter: u8) -> Option<usize> {
    let line = bytes.get(*at..)?;
    let end = line.windows(2).position(|two| two == b"\r\n")?;
    assert_eq!(line[0], letter, "our client sends arrays of texts");
    let text = std::str::from_utf8(&line[1..end]).expect("a number is text");
    *at += end + 2;
    Some(text.parse().expect("a line has a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a command that is cut anywhere waits for its rest.
    /// Method: two commands, given byte by byte.
    #[test]
    fn a_command_is_taken_when_it_is_whole() {
        let (mut bytes, mut found) = (Vec::new(), Vec::new());
        for byte in b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n" {
            bytes.push(*byte);
            found.extend(next_command(&mut bytes));
        }
        let expected = [vec![b"PING".to_vec()], vec![b"GET".to_vec(), b"\r\n".to_vec()]];
        assert_eq!((found, bytes), (expected.to_vec(), Vec::new()));
    }
}
