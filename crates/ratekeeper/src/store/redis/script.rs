//! The scripts: put together from the parts that a request needs, and known to the server by their
//! hash.
//!
//! Invariants: the text of a script depends on nothing but this file and `lua/`; a time that was given
//! is read only by the scripts of a limiter whose clock is moved by hand.

use super::call::Texts;
use redis::{Cmd, Script as Hashed};
use std::sync::OnceLock;

/// What a script does with one of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    Bucket,
    Fixed,
    Counter,
    Log,
    Permits,
    /// A record to be made (charge), or a key to be forgotten (back).
    Plain,
    /// The name that a bucket had before (charge), or what it held there (back).
    Former,
}

const PARTS: [Part; 7] =
    [Part::Bucket, Part::Fixed, Part::Counter, Part::Log, Part::Permits, Part::Plain, Part::Former];

impl Part {
    /// The letter that arguments begin with.
    pub(super) const fn letter(self, charges: bool) -> u8 {
        match self {
            Part::Bucket => b'b',
            Part::Fixed => b'f',
            Part::Counter => b'c',
            Part::Log => b'l',
            Part::Permits => b'p',
            Part::Plain if charges => b'r',
            Part::Plain => b'x',
            Part::Former => b'm',
        }
    }

    const fn bit(self) -> usize {
        1 << self as usize
    }

    /// How its state is read, how it is charged, and how something comes back.
    const fn texts(self) -> [&'static str; 3] {
        macro_rules! texts {
            ($name:literal) => {
                [
                    include_str!(concat!("lua/", $name, "/state.lua")),
                    include_str!(concat!("lua/", $name, "/charge.lua")),
                    include_str!(concat!("lua/", $name, "/back.lua")),
                ]
            };
        }
        match self {
            Part::Bucket => texts!("bucket"),
            Part::Fixed => texts!("fixed"),
            Part::Counter => texts!("counter"),
            Part::Log => texts!("log"),
            Part::Permits => texts!("permits"),
            Part::Plain => ["", include_str!("lua/record.lua"), include_str!("lua/forget.lua")],
            Part::Former => ["", "", include_str!("lua/former/back.lua")],
        }
    }
}

/// A text and its hash.
pub(super) struct Script {
    text: String,
    hash: String,
    /// Which of all scripts it is.
    pub(super) number: usize,
}

/// How many scripts there can be.
pub(super) const SCRIPTS: usize = 2 << PARTS.len();

/// The scripts of the server's clock, and those of a time that is given.
static OWN: Scripts = Scripts::new(false);
static GIVEN: Scripts = Scripts::new(true);

/// All scripts, each made when it is first needed.
pub(super) struct Scripts {
    given_time: bool,
    made: [OnceLock<Script>; SCRIPTS],
}

impl Scripts {
    const fn new(given_time: bool) -> Scripts {
        Scripts { given_time, made: [const { OnceLock::new() }; SCRIPTS] }
    }

    /// Those that read the server's clock, or those of a time that is given.
    pub(super) fn of(given_time: bool) -> &'static Scripts {
        if given_time { &GIVEN } else { &OWN }
    }

    /// The script that charges, or takes back, such parts.
    pub(super) fn get(&self, charges: bool, parts: impl Iterator<Item = Part>) -> &Script {
        let parts = parts.fold(0, |bits, part| bits | part.bit());
        let number = 2 * parts + usize::from(charges);
        self.made[number].get_or_init(|| self.make(number, charges, parts))
    }

    /// The script that looks at the entries of a log.
    pub(super) fn entries(&self) -> Script {
        Script::of(&(self.start() + include_str!("lua/log/entries.lua")))
    }

    /// What all begin with.
    fn start(&self) -> String {
        let clock = match self.given_time {
            true => include_str!("lua/clock_given.lua"),
            false => include_str!("lua/clock.lua"),
        };
        String::from(clock) + include_str!("lua/get.lua")
    }

    fn make(&self, number: usize, charges: bool, parts: usize) -> Script {
        let mut text = self.start();
        text += match charges {
            true => "local charge, turn = {}, 0\n",
            false => concat!("local back = {}\n", include_str!("lua/settled.lua")),
        };
        for part in PARTS.into_iter().filter(|part| parts & part.bit() != 0) {
            let [state, charge, back] = part.texts();
            text += state;
            text += if charges { charge } else { back };
        }
        text += match charges {
            true if parts & Part::Former.bit() != 0 => include_str!("lua/former/charge.lua"),
            true => include_str!("lua/charge.lua"),
            false => include_str!("lua/back.lua"),
        };
        let text = bare(&text);
        let hash = Hashed::new(&text).get_hash().to_owned();
        Script { text, hash, number }
    }
}

/// The text without its comments, indentation and empty lines, which the server would keep.
fn bare(text: &str) -> String {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

impl Script {
    /// One that stands by itself. Its number is that of no parts, which nothing else has.
    pub(super) fn of(text: &str) -> Script {
        let text = bare(text);
        let hash = Hashed::new(&text).get_hash().to_owned();
        Script { text, hash, number: 0 }
    }
}

impl Texts<'_> {
    /// The call by its hash.
    pub(super) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", &self.script.hash)
    }

    /// The call with the whole text, which the server then knows.
    pub(super) fn whole(&self) -> Cmd {
        self.command("EVAL", &self.script.text)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for text in self.keys.iter().chain(&self.args) {
            command.arg(text);
        }
        command
    }
}
