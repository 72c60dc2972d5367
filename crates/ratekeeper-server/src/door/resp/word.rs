//! The commands, by name.
//!
//! Invariant: each is listed once; what is not listed is not done.

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Check,
    Peek,
    CellThrottle,
    Throttle,
    Reserve,
    Settle,
    Cancel,
    Release,
    Reset,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Config,
    Info,
    Select,
    Quit,
}

/// A command as clients ask about it: how many arguments it has, its name included, or at least if negative; and which
/// of them are keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) word: Word,
    pub(super) arity: i64,
    pub(super) key: i64,
}

const fn known(name: &'static str, word: Word, arity: i64, key: i64) -> Known {
    Known { name, word, arity, key }
}

/// Those that are asked most come first.
pub(super) const WORDS: [Known; 19] = [
    known("rk.check", Word::Check, -3, 2),
    known("cl.throttle", Word::CellThrottle, -5, 1),
    known("throttle", Word::Throttle, -5, 1),
    known("rk.peek", Word::Peek, -3, 2),
    known("ping", Word::Ping, -1, 0),
    known("rk.reserve", Word::Reserve, -3, 2),
    known("rk.settle", Word::Settle, 3, 0),
    known("rk.cancel", Word::Cancel, 2, 0),
    known("rk.release", Word::Release, 2, 0),
    known("rk.reset", Word::Reset, -3, 2),
    known("echo", Word::Echo, 2, 0),
    known("hello", Word::Hello, -1, 0),
    known("auth", Word::Auth, -2, 0),
    known("client", Word::Client, -2, 0),
    known("command", Word::Command, -1, 0),
    known("config", Word::Config, -2, 0),
    known("info", Word::Info, -1, 0),
    known("select", Word::Select, 2, 0),
    known("quit", Word::Quit, -1, 0),
];

/// The command of this name, in any case.
pub(super) fn find(name: &[u8]) -> Option<&'static Known> {
    WORDS.iter().find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()))
}

impl Known {
    /// Whether it can have so many arguments, its name included.
    pub(super) fn takes(&self, count: usize) -> bool {
        let least = usize::try_from(self.arity.unsigned_abs()).unwrap_or(usize::MAX);
        if self.arity < 0 { count >= least } else { count == least }
    }
}
