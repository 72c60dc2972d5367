//! Bytes by which requests were smuggled past servers, and what has to become of them.
//!
//! Invariant: every case says exactly which requests may reach the upstream.

use self::Fate::{Broken, Closes, Declined, Passes, Rejected};

/// What has to become of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Answered with this status before anything is charged or passed on; the connection ends.
    Rejected(u16),
    /// Answered with this status before anything is charged or passed on; what follows is read as what it is.
    Declined(u16),
    /// This arrives and is charged; the connection ends behind it, whatever follows.
    Closes(&'static str, &'static str),
    /// These requests arrive, each a path and a body, and each is charged.
    Passes(&'static [(&'static str, &'static str)]),
    /// Its head was fine and its body is not: whatever arrives of it is cut, and nothing follows.
    Broken,
}

/// One case: its name, its bytes, its fate. `/next` follows each on the same connection.
pub(super) type Case = (&'static str, &'static str, Fate);

/// A request that must not be seen by anybody who was not charged for it.
macro_rules! inner {
    () => {
        "GET /inner HTTP/1.1\r\nHost: a\r\n\r\n"
    };
}

/// A request of this path with these fields and bytes behind.
macro_rules! post {
    ($fields:expr, $rest:expr) => {
        concat!("POST /outer HTTP/1.1\r\nHost: a\r\n", $fields, "\r\n", $rest)
    };
}

/// A request whose body is in chunks.
macro_rules! chunked {
    ($rest:expr) => {
        concat!("POST /outer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", $rest)
    };
}

/// A request with these fields.
macro_rules! get {
    ($fields:expr) => {
        concat!("GET /outer HTTP/1.1\r\nHost: a\r\n", $fields, "\r\n")
    };
}

/// A request to this target of this host.
macro_rules! at {
    ($target:expr, $host:expr) => {
        concat!("GET ", $target, " HTTP/1.1\r\nHost: ", $host, "\r\n\r\n")
    };
}

/// Two ways to tell where a body ends.
pub(super) const LENGTHS: &[Case] = &[
    (
        "a length, then chunks",
        post!("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
        Closes("/outer", ""),
    ),
    (
        "chunks, then a length",
        post!(
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            concat!("20\r\n", inner!(), "\r\n0\r\n\r\n")
        ),
        Closes("/outer", inner!()),
    ),
    (
        "a length of nothing, and chunks",
        post!(
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            concat!("0\r\n\r\n", inner!())
        ),
        Closes("/outer", ""),
    ),
    (
        "two lengths that differ",
        post!("Content-Length: 4\r\nContent-Length: 0\r\n", "abcd"),
        Rejected(400),
    ),
    ("two lengths in a list", post!("Content-Length: 4, 4\r\n", "abcd"), Rejected(400)),
    ("a length with a sign", post!("Content-Length: +4\r\n", "abcd"), Rejected(400)),
    ("a length below nothing", post!("Content-Length: -4\r\n", "abcd"), Rejected(400)),
    ("a length with a space in it", post!("Content-Length: 4 4\r\n", "abcd"), Rejected(400)),
    ("a length in hexadecimal", post!("Content-Length: 0x4\r\n", "abcd"), Rejected(400)),
    ("a length without a number", post!("Content-Length:\r\n", ""), Rejected(400)),
    (
        "a length beyond all numbers",
        post!("Content-Length: 18446744073709551620\r\n", "abcd"),
        Rejected(400),
    ),
    ("a length with a fraction", post!("Content-Length: 4.0\r\n", "abcd"), Rejected(400)),
    ("a length with a letter", post!("Content-Length: 4a\r\n", "abcd"), Rejected(400)),
    (
        "a length, in another case",
        post!("CONTENT-length: 4\r\n", "abcd"),
        Passes(&[("/outer", "abcd")]),
    ),
    (
        "a length with zeros in front",
        post!("Content-Length: 0004\r\n", "abcd"),
        Passes(&[("/outer", "abcd")]),
    ),
    (
        "a body that looks like a request",
        post!("Content-Length: 32\r\n", inner!()),
        Passes(&[("/outer", inner!())]),
    ),
    (
        "a body of GET that looks like a request",
        concat!("GET /outer HTTP/1.1\r\nHost: a\r\nContent-Length: 32\r\n\r\n", inner!()),
        Passes(&[("/outer", inner!())]),
    ),
];

/// Codings that some servers read as chunks, and some do not.
pub(super) const CODINGS: &[Case] = &[
    ("another coding", post!("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), Rejected(400)),
    (
        "a coding behind chunks",
        post!("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "a coding before chunks",
        post!("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
        Declined(400),
    ),
    (
        "chunks in chunks",
        post!("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
        Declined(400),
    ),
    (
        "two lines of codings",
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "two lines of codings, chunks behind",
        post!("Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        Declined(400),
    ),
    ("a coding in quotes", post!("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), Rejected(400)),
    ("no coding", post!("Transfer-Encoding:\r\n", "0\r\n\r\n"), Rejected(400)),
    (
        "a coding behind a control",
        post!("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "a space before the colon",
        post!("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "a coding on a folded line",
        post!("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "a coding with a parameter",
        post!("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"),
        Rejected(400),
    ),
    (
        "a coding behind a tab",
        post!("Transfer-Encoding:\tchunked\r\n", "0\r\n\r\n"),
        Passes(&[("/outer", "")]),
    ),
    (
        "a coding in another case",
        post!("transfer-encoding: CHUNKED\r\n", "0\r\n\r\n"),
        Passes(&[("/outer", "")]),
    ),
    (
        "an underscore in the name, which does not pass",
        post!("Transfer_Encoding: chunked\r\nContent-Length: 4\r\n", "abcd"),
        Passes(&[("/outer", "abcd")]),
    ),
    (
        "chunks of HTTP/1.0",
        "POST /outer HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Rejected(400),
    ),
];

/// Chunks that do not read alike everywhere.
pub(super) const CHUNKS: &[Case] = &[
    ("good chunks", chunked!("4\r\nabcd\r\n0\r\n\r\n"), Passes(&[("/outer", "abcd")])),
    ("an extension", chunked!("4;a=b\r\nabcd\r\n0\r\n\r\n"), Passes(&[("/outer", "abcd")])),
    ("zeros in front", chunked!("0004\r\nabcd\r\n000\r\n\r\n"), Passes(&[("/outer", "abcd")])),
    (
        "an unknown trailer",
        chunked!("4\r\nabcd\r\n0\r\nX-A: 1\r\n\r\n"),
        Passes(&[("/outer", "abcd")]),
    ),
    ("no size", chunked!("\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size in letters", chunked!("zz\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size below nothing", chunked!("-4\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size with a sign", chunked!("+4\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size with a prefix", chunked!("0x4\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size beyond all numbers", chunked!("10000000000000004\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size with an underscore", chunked!("0_4\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("a size that ends in LF", chunked!("4\nabcd\r\n0\r\n\r\n"), Broken),
    ("LF in an extension", chunked!("4;a\nb\r\nabcd\r\n0\r\n\r\n"), Broken),
    ("more bytes than the size", chunked!("4\r\nabcdef\r\n0\r\n\r\n"), Broken),
    ("no line behind the bytes", chunked!("4\r\nabcd0\r\n\r\n"), Broken),
    ("bytes that end in LF", chunked!("4\r\nabcd\n0\r\n\r\n"), Broken),
    ("a trailer that is no field", chunked!("4\r\nabcd\r\n0\r\nno field\r\n\r\n"), Broken),
];

/// Lines that do not read alike everywhere.
pub(super) const LINES: &[Case] = &[
    ("a folded line", get!("X-A: 1\r\n 2\r\n"), Rejected(400)),
    ("a folded line with a length", get!("X-A: 1\r\n\tContent-Length: 32\r\n"), Rejected(400)),
    ("a folded line at the start", "GET /outer HTTP/1.1\r\n Host: a\r\n\r\n", Rejected(400)),
    ("a space before a colon", get!("X-A : 1\r\n"), Rejected(400)),
    ("a name of nothing", get!(": 1\r\n"), Rejected(400)),
    ("a name with a bracket", get!("X(A: 1\r\n"), Rejected(400)),
    ("a line without a colon", get!("X-A\r\n"), Rejected(400)),
    ("CR in a value", get!("X-A: 1\rX-B: 2\r\n"), Rejected(400)),
    ("CR in a name", get!("X-\rA: 1\r\n"), Rejected(400)),
    ("NUL in a value", get!("X-A: 1\x002\r\n"), Rejected(400)),
    ("a control in a value", get!("X-A: 1\x7f2\r\n"), Rejected(400)),
    ("CR in the target", "GET /out\rer HTTP/1.1\r\nHost: a\r\n\r\n", Rejected(400)),
    ("two spaces before the target", "GET  /outer HTTP/1.1\r\nHost: a\r\n\r\n", Rejected(400)),
    ("a tab before the target", "GET\t/outer HTTP/1.1\r\nHost: a\r\n\r\n", Rejected(400)),
    ("no version", "GET /outer\r\nHost: a\r\n\r\n", Rejected(400)),
    ("another version", "GET /outer HTTP/1.2\r\nHost: a\r\n\r\n", Rejected(400)),
    ("a method with a bracket", "GE(T /outer HTTP/1.1\r\nHost: a\r\n\r\n", Rejected(400)),
    ("lines that end in LF", "GET /outer HTTP/1.1\nHost: a\n\n", Passes(&[("/outer", "")])),
    ("an empty line in front", concat!("\r\n", get!("")), Passes(&[("/outer", "")])),
];

/// Targets and hosts that do not read alike everywhere.
pub(super) const TARGETS: &[Case] = &[
    ("no host", "GET /outer HTTP/1.1\r\n\r\n", Declined(400)),
    ("two hosts", get!("Host: b\r\n"), Declined(400)),
    ("the same host twice", get!("Host: a\r\n"), Declined(400)),
    ("an empty host", at!("/outer", ""), Declined(400)),
    ("a host with a user", at!("/outer", "user@a"), Declined(400)),
    ("a host with a password", at!("/outer", "user:b@a"), Declined(400)),
    ("a host with a space", at!("/outer", "a b"), Declined(400)),
    ("a host with a path", at!("/outer", "a/b"), Declined(400)),
    ("a host with a question", at!("/outer", "a?b"), Declined(400)),
    ("a list of hosts", at!("/outer", "a, b"), Declined(400)),
    ("a host with half a bracket", at!("/outer", "[::1"), Declined(400)),
    ("a host with a port of letters", at!("/outer", "a:b"), Declined(400)),
    ("a host with a port beyond all", at!("/outer", "a:99999"), Declined(400)),
    ("a host with a port", at!("/outer", "a:8000"), Passes(&[("/outer", "")])),
    (
        "another host in the target",
        at!("http://evil.example/outer", "a"),
        Passes(&[("/outer", "")]),
    ),
    ("a user in the target", at!("http://user@a/outer", "a"), Declined(400)),
    ("another scheme", at!("ftp://a/outer", "a"), Declined(400)),
    ("no slash in front", at!("outer", "a"), Declined(400)),
    ("a target for everything", at!("*", "a"), Declined(400)),
    ("a slash in disguise", at!("/a%2Fouter", "a"), Declined(400)),
    ("a backslash in disguise", at!("/a%5Couter", "a"), Declined(400)),
    ("a backslash", at!("/a\\outer", "a"), Declined(400)),
    ("NUL in disguise", at!("/a%00outer", "a"), Declined(400)),
    ("half an escape", at!("/a%2", "a"), Declined(400)),
    ("dots in disguise", at!("/a/%2e%2e/outer", "a"), Passes(&[("/outer", "")])),
    ("a fragment", at!("/outer#inner", "a"), Passes(&[("/outer", "")])),
    ("a tunnel", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", Declined(405)),
    ("a tunnel to a path", "CONNECT /outer HTTP/1.1\r\nHost: a\r\n\r\n", Declined(405)),
];
