//! The reader of histories, line by line.
//!
//! Invariant: a line that says nothing, or too much, is told with its number, its fault and a repair; nothing
//! is guessed. However long the file, one line of it is in memory.

use super::history::{EPISODES_MAX, Episode, History, Outcome, Record, Source, WALL_MAX};
use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read};

/// Longest line, in bytes; a longer one is no operation.
pub const LINE_MAX: usize = 1 << 16;

/// What a line of an operation has.
const FIELDS: &str =
    "id node key rule rule_version cost t_invoke t_complete outcome source [retry_ns remaining]";

/// Why a history cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHistory {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub fault: String,
    /// What to do about it.
    pub repair: String,
}

impl fmt::Display for BadHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadHistory { path, line, fault, repair } = self;
        write!(f, "{path}:{line}: {fault}; {repair}")
    }
}

impl std::error::Error for BadHistory {}

/// A fault and its repair.
struct Wrong(String, String);

fn wrong<T>(fault: impl Into<String>, repair: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(fault.into(), repair.into()))
}

impl History {
    /// Reads a history; `path` is what faults call it.
    pub fn read(path: &str, from: &mut dyn BufRead) -> Result<History, BadHistory> {
        let mut history = History::default();
        let mut open: Vec<Episode> = Vec::new();
        let mut bytes = Vec::new();
        let mut line = 0;
        loop {
            bytes.clear();
            line += 1;
            let told =
                |Wrong(fault, repair)| BadHistory { path: path.to_owned(), line, fault, repair };
            let read = Read::take(&mut *from, LINE_MAX as u64 + 1).read_until(b'\n', &mut bytes);
            match read {
                Ok(0) => break,
                Ok(_) if bytes.len() > LINE_MAX => {
                    let fault = format!("a line of more than {LINE_MAX} bytes");
                    return Err(told(Wrong(fault, "write one operation on a line".into())));
                }
                Ok(_) => {}
                Err(error) => {
                    let repair = "name a file that can be read".into();
                    return Err(told(Wrong(format!("it cannot be read: {error}"), repair)));
                }
            }
            read_line(&bytes, &mut history, &mut open).map_err(told)?;
        }
        // What has not ended goes on.
        history.episodes.append(&mut open);
        Ok(history)
    }
}

fn read_line(bytes: &[u8], history: &mut History, open: &mut Vec<Episode>) -> Result<(), Wrong> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return wrong("bytes that are no UTF-8", "percent-encode them");
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() || text.starts_with('#') {
        return Ok(());
    }
    let fields: Vec<&str> = text.split(' ').take(13).collect();
    match fields[..] {
        ["fault_start", instant, name] => {
            let (start, name) = (number("the time", instant)?, decoded(name)?.into_owned());
            if open.iter().any(|episode| episode.name == name) {
                return wrong(
                    format!("`{name}` has begun already"),
                    "write its `fault_end` before",
                );
            }
            if open.len() + history.episodes.len() >= EPISODES_MAX {
                return wrong(format!("more than {EPISODES_MAX} faults"), "judge it in parts");
            }
            open.push(Episode { name, start, end: u64::MAX });
        }
        ["fault_end", instant, name] => {
            let (end, name) = (number("the time", instant)?, decoded(name)?);
            let Some(at) = open.iter().position(|episode| episode.name == name) else {
                return wrong(format!("`{name}` has not begun"), "write its `fault_start` before");
            };
            let episode = open.remove(at);
            if end < episode.start {
                return wrong(format!("`{name}` ends before it begins"), "write the later time");
            }
            history.episodes.push(Episode { end, ..episode });
        }
        ["clock", instant, wall] => {
            let (instant, wall) = (number("the time", instant)?, number("the wall clock", wall)?);
            if history.clock.is_some() || wall > WALL_MAX {
                return wrong(
                    "a second clock, or a time that is too late",
                    "write one `clock` line",
                );
            }
            history.clock = Some((instant, wall));
        }
        ["sent", count] => {
            if history.sent.replace(number("the number of requests", count)?).is_some() {
                return wrong("a second `sent`", "write one, with the sum");
            }
        }
        ["fault_start" | "fault_end" | "clock" | "sent", ..] => {
            let repair =
                "write `fault_start T NAME`, `fault_end T NAME`, `clock T MICROS` or `sent N`";
            return wrong("a marker with too few or too many fields", repair);
        }
        _ => operation(&fields, history)?,
    }
    Ok(())
}

fn operation(fields: &[&str], history: &mut History) -> Result<(), Wrong> {
    let (first, more) = fields.split_at(fields.len().min(10));
    let [id, node, key, rule, version, cost, invoke, complete, outcome, source] = *first else {
        return wrong(format!("{} fields", fields.len()), format!("write `{FIELDS}`"));
    };
    let (retry, remaining) = match *more {
        [] => ("-", "-"),
        [retry, remaining] => (retry, remaining),
        [_] => return wrong("11 fields", "write both `retry_ns` and `remaining`, or neither"),
        _ => return wrong("more than 12 fields", "percent-encode spaces, as `%20`"),
    };
    let Ok(version) = u32::try_from(number("rule_version", version)?) else {
        return wrong("`rule_version` is above 4294967295", "write the number of the release");
    };
    let (node, key, rule) = (decoded(node)?, decoded(key)?, decoded(rule)?);
    let record = Record {
        id: number("id", id)?,
        node: &node,
        key: &key,
        rule: &rule,
        version,
        cost: number("cost", cost)?,
        invoke: number("t_invoke", invoke)?,
        complete: number("t_complete", complete)?,
        outcome: word("outcome", outcome, Outcome::ALL, Outcome::name)?,
        source: word("source", source, Source::ALL, Source::name)?,
        retry: figure("retry_ns", retry)?,
        remaining: figure("remaining", remaining)?,
    };
    history.push(&record).map_err(|beyond| Wrong(beyond.0.into(), beyond.1.into()))
}

fn number(name: &str, text: &str) -> Result<u64, Wrong> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse().ok().filter(|_| digits) {
        Some(number) => Ok(number),
        None => wrong(format!("{name} is `{text}`"), "write a whole number of at most 64 bits"),
    }
}

fn figure(name: &str, text: &str) -> Result<Option<u64>, Wrong> {
    if text == "-" {
        return Ok(None);
    }
    match number(name, text)? {
        u64::MAX => wrong(format!("{name} is too large"), "write `-` if it was not told"),
        figure => Ok(Some(figure)),
    }
}

fn word<T: Copy>(
    name: &str,
    text: &str,
    all: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<T, Wrong> {
    match all.iter().copied().find(|each| word(*each) == text) {
        Some(found) => Ok(found),
        None => {
            let words: Vec<&str> = all.iter().map(|each| word(*each)).collect();
            wrong(format!("{name} is `{text}`"), format!("write {}", words.join(" | ")))
        }
    }
}

/// A name without its encoding.
fn decoded(text: &str) -> Result<Cow<'_, str>, Wrong> {
    match text {
        "" => return wrong("an empty field", "write one space between two fields"),
        "%" => return Ok("".into()),
        _ if text.chars().any(char::is_control) => {
            return wrong("a control character", "percent-encode it");
        }
        _ if !text.contains('%') => return Ok(text.into()),
        _ => {}
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, more)) = rest.split_first() {
        rest = more;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let hex = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            return wrong(format!("`{text}` has a `%` without two digits"), "write `%25` for `%`");
        };
        bytes.push(byte);
        rest = more.get(2..).unwrap_or_default();
    }
    match String::from_utf8(bytes) {
        Ok(name) => Ok(name.into()),
        Err(_) => wrong(format!("`{text}` is no UTF-8"), "write text"),
    }
}
