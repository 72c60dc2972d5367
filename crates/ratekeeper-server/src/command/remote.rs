//! Calls of administrators to a running server.
//!
//! Invariant: the token is read from a file, sent in one field, and shown nowhere.

use super::ask::{self, Call};
use super::{Failure, runtime};
use crate::args::Remote;
use crate::config::{SECRET_MAX, bytes, shown};
use serde::de::DeserializeOwned;
use std::io::{self, Write};

/// Makes a call, as whom the file says.
pub(super) fn call(remote: &Remote, call: Call) -> Result<String, Failure> {
    let token = remote.token_file.as_deref().map(|path| {
        let wrong = |fault: &str| {
            let repair = "name a file with the token on one line";
            Failure::new(format!("`--token-file` {}: {fault}; {repair}", shown(path)))
        };
        let read = bytes(path, SECRET_MAX).map_err(|error| wrong(&error.to_string()))?;
        let text = String::from_utf8(read).map_err(|_| wrong("is not text"))?;
        let token = text.trim().to_owned();
        let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if plain { Ok(token) } else { Err(wrong("holds no token")) }
    });
    let call = Call { token: token.transpose()?, ..call };
    let build = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime(build)?.block_on(ask::call(&remote.server.url, call, ask::ADMIN_TIMEOUT))
}

/// An answer, as what it has to be.
pub(super) fn read<T: DeserializeOwned>(remote: &Remote, answer: &str) -> Result<T, Failure> {
    serde_json::from_str(answer).map_err(|_| ask::stranger(&remote.server.url))
}

/// Prints an answer as it came, or what `told` makes of it.
pub(super) fn print(remote: &Remote, answer: &str, told: impl FnOnce() -> String) {
    let text = if remote.server.json { answer.to_owned() } else { told() };
    // Whoever closed stdout has the exit code.
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
}

/// A name as a part of a path.
pub(super) fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~*".contains(&byte);
    name.bytes().fold(String::new(), |text, byte| match plain(byte) {
        true => text + char::from(byte).encode_utf8(&mut [0; 4]),
        false => text + &format!("%{byte:02X}"),
    })
}
