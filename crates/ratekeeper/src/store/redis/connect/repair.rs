//! What went wrong with a connection, in words; and where it can be told, how to mend it.
//!
//! Invariant: nothing here knows a secret, so none can be told.

use super::super::error::{Class, StoreError};
use redis::{ErrorKind, RedisError, ServerError};
use std::io;

/// What the client says of a database that it cannot have.
const NO_DATABASE: &str = "Redis server refused to switch database";

/// What to do if the server does not let us in, or does not let us do our work.
fn repair_denied(code: &str) -> &'static str {
    match code {
        "NOAUTH" => "; give the user's password",
        "NOPERM" => "; give the user the commands and keys that docs/redis.md lists",
        _ => "; check user and password, and whether the server wants one",
    }
}

/// An error that a server answers with.
pub(super) fn answered(place: &str, error: &ServerError) -> StoreError {
    let (code, detail) = (error.code(), error.details().unwrap_or_default());
    let class = Class::of_reply(code, detail);
    let (detail, repair) = match class {
        Class::Denied => (detail.trim_end_matches('.'), repair_denied(code)),
        _ => (detail, ""),
    };
    StoreError::new(place, class, format!("{code} {detail}{repair}"))
}

/// What went wrong on the way; `fresh` if this server has never answered on this connection.
pub(super) fn lost(place: &str, error: &RedisError, fresh: bool) -> StoreError {
    let (code, detail) = (error.code().unwrap_or_default(), error.detail().unwrap_or_default());
    let class = match error.kind() {
        ErrorKind::AuthenticationFailed => Class::Denied,
        ErrorKind::Parse => Class::Alien,
        // Of the database: it is none of the server's, or not for this user.
        ErrorKind::Server(_) if error.to_string().starts_with(NO_DATABASE) => Class::Config,
        ErrorKind::Server(_) | ErrorKind::Extension => Class::of_reply(code, detail),
        _ => Class::Connection,
    };
    let repair = match class {
        Class::Denied => repair_denied(code),
        Class::Config => {
            "; write a database that the server has and the user may select, such as /0"
        }
        Class::Alien => "; is this a Redis or Valkey server?",
        Class::Connection if fresh && place.starts_with("redis://") => {
            "; is this a Redis or Valkey server, and without TLS? with TLS, write rediss://"
        }
        _ => "",
    };
    StoreError::new(place, class, format!("{error}{repair}"))
}

/// Why there is no connection.
pub(super) fn refused(place: &str, error: &io::Error) -> StoreError {
    let repair = match error.kind() {
        io::ErrorKind::ConnectionRefused => "; is the server running, and is this its port?",
        _ => "",
    };
    StoreError::new(place, Class::Connection, format!("{error}{repair}"))
}
