//! The tokens of administrators, from a file.
//!
//! Invariant: a token is long enough not to be guessed, is compared in the same time whatever it is, and is
//! shown nowhere.

use super::Role;
use crate::config::{Fault, NAME_ANOTHER, SECRET_MAX, bytes};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Shortest token, in bytes.
pub const TOKEN_BYTES_MIN: usize = 32;

/// Most tokens of a file.
const TOKENS_MAX: usize = 100;

/// What lets anyone on this machine read a file.
const OTHERS_READ: u32 = 0o004;

/// The tokens of administrators.
#[derive(PartialEq, Eq)]
pub struct Tokens(Vec<(Role, Vec<u8>)>);

/// What is wrong with a file of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    line: usize,
    fault: String,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:1: {}", self.line, self.fault)
    }
}

impl std::error::Error for TokenError {}

impl Tokens {
    /// Reads those of a file.
    pub fn open(path: &Path) -> Result<Tokens, Fault> {
        let unreadable = |error| Fault::of(path, format!("cannot be read: {error}"), NAME_ANOTHER);
        let bytes = bytes(path, SECRET_MAX).map_err(unreadable)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Fault::of(path, "is not text", "write tokens in ASCII"))?;
        Tokens::read(&text).map_err(|TokenError { line, fault }| {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            Fault { line, ..Fault::told(path, &fault) }
        })
    }

    /// Whether anyone on this machine can read the file.
    pub(crate) fn is_open_to_others(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS_READ != 0)
    }

    /// Reads a token on each line: by itself, or after `read` or `write`. Lines that begin with `#` are for
    /// people.
    pub fn read(text: &str) -> Result<Tokens, TokenError> {
        let mut tokens = Vec::new();
        for (index, written) in text.lines().enumerate() {
            let wrong = |fault: String| TokenError { line: index + 1, fault };
            let mut words = written.split_ascii_whitespace();
            let (role, token) = match (words.next(), words.next(), words.next()) {
                (None, ..) => continue,
                (Some(comment), ..) if comment.starts_with('#') => continue,
                (Some(token), None, _) => (Role::Write, token),
                (Some("read"), Some(token), None) => (Role::Read, token),
                (Some("write"), Some(token), None) => (Role::Write, token),
                _ => {
                    let fault = "this is not a token; write one, or `read` or `write` and one";
                    return Err(wrong(fault.into()));
                }
            };
            if token.len() < TOKEN_BYTES_MIN {
                return Err(wrong(format!(
                    "the token is shorter than {TOKEN_BYTES_MIN} bytes; write a longer one, such as \
                     `openssl rand -hex 32` makes"
                )));
            }
            tokens.push((role, token.as_bytes().to_vec()));
            if tokens.len() > TOKENS_MAX {
                return Err(wrong(format!("there are more than {TOKENS_MAX} tokens; use fewer")));
            }
        }
        if tokens.is_empty() {
            let fault = "there is no token; write one, such as `openssl rand -hex 32` makes";
            return Err(TokenError { line: 1, fault: fault.into() });
        }
        Ok(Tokens(tokens))
    }

    /// What the owner of this token may do. It takes as long for any token of that length.
    pub(super) fn role(&self, given: &[u8]) -> Option<Role> {
        let own = self.0.iter().filter(|(_, token)| bool::from(token.ct_eq(given)));
        // Every one is compared, so that which it is takes no less time than none.
        own.map(|(role, _)| *role).max()
    }
}

impl Tokens {
    /// Every token, with its role.
    pub(super) fn each(&self) -> impl Iterator<Item = (Role, &[u8])> {
        self.0.iter().map(|(role, token)| (*role, &**token))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "0123456789abcdef0123456789abcdef";

    /// Goal: tokens are read with their roles, and known again exactly.
    /// Method: roles written in every way, comments and empty lines; tokens that differ by a byte.
    #[test]
    fn tokens_have_roles() {
        let other = LONG.replace('0', "x");
        let file = format!("# for people\n\n read {other} \r\n{LONG}\n");
        let tokens = Tokens::read(&file).unwrap();
        assert_eq!(tokens.role(LONG.as_bytes()), Some(Role::Write));
        assert_eq!(tokens.role(other.as_bytes()), Some(Role::Read));
        for wrong in ["", &LONG[1..], &format!("{LONG}0"), &LONG.to_uppercase()] {
            assert_eq!(tokens.role(wrong.as_bytes()), None);
        }
        let both = Tokens::read(&format!("read {LONG}\nwrite {LONG}")).unwrap();
        assert_eq!(both.role(LONG.as_bytes()), Some(Role::Write));
        assert_eq!(format!("{both:?}"), "2 tokens");
    }

    /// Goal: a file without a good token is refused, with its line, and shows no token.
    /// Method: whole messages, on both sides of the length.
    #[test]
    fn bad_files_are_refused() {
        let short = "a".repeat(TOKEN_BYTES_MIN - 1);
        assert!(Tokens::read(&format!("{short}a")).is_ok());
        let wrong = |text: &str| Tokens::read(text).unwrap_err().to_string();
        let length = "the token is shorter than 32 bytes; write a longer one, such as \
                      `openssl rand -hex 32` makes";
        assert_eq!(wrong(&format!("# x\n{short}")), format!("2:1: {length}"));
        assert_eq!(
            wrong("# x\n"),
            "1:1: there is no token; write one, such as `openssl rand -hex 32` makes"
        );
        let kind = "this is not a token; write one, or `read` or `write` and one";
        assert_eq!(wrong(&format!("admin {LONG}")), format!("1:1: {kind}"));
        assert_eq!(wrong(&format!("read {LONG} x")), format!("1:1: {kind}"));
    }
}
