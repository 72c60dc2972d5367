//! The password of Redis clients, from a file.
//!
//! Invariant: it is compared in the same time whatever was sent, and shown nowhere.

use crate::config::{Fault, NAME_ANOTHER, SECRET_MAX, bytes};
use crate::observe::logs::Sample;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Shortest password, in bytes.
pub const PASSWORD_MIN: usize = 16;

/// Longest password: what fits before a client is known.
pub const PASSWORD_MAX: usize = super::frame::Bounds::STRANGER.bulk;

/// The user that there is.
const USER: &[u8] = b"default";

/// What clients have to know.
pub struct Password {
    secret: Vec<u8>,
    /// Which of the wrong ones are told to the operator.
    wrong: Sample,
}

impl Password {
    /// Reads the first line of a file.
    pub fn open(path: &Path) -> Result<Password, Fault> {
        let unreadable = |error| Fault::of(path, format!("cannot be read: {error}"), NAME_ANOTHER);
        let bytes = bytes(path, SECRET_MAX).map_err(unreadable)?;
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        if !(PASSWORD_MIN..=PASSWORD_MAX).contains(&line.len()) {
            let fault = format!("the password is not {PASSWORD_MIN} to {PASSWORD_MAX} bytes long");
            return Err(Fault::of(path, fault, "write one such as `openssl rand -hex 32` makes"));
        }
        Ok(Password { secret: line.to_vec(), wrong: Sample::default() })
    }

    /// Whether a client knows it. Clients that name a user name the default one.
    pub(super) fn is(&self, user: Option<&[u8]>, given: &[u8]) -> bool {
        bool::from(self.secret.ct_eq(given)) && user.is_none_or(|user| user == USER)
    }

    /// Tells the operator of a client that does not know it, some time after the server's start.
    pub(super) fn refused(&self, up: Duration) {
        if let Some(left_out) = self.wrong.take(up) {
            tracing::warn!(left_out, "a Redis client has sent a wrong password");
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
