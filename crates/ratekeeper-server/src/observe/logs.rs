//! The log: lines for people, or JSON, on standard error.
//!
//! Invariants: writing a line never makes a decision wait, since lines go through a bounded queue to a
//! thread, and what does not fit is counted and left out; keys are told as hashes; nothing in a line can
//! steer a terminal, and no text in it is longer than [`TEXT_MAX`].

mod writer;

pub use writer::{LINES_MAX, Lines, Writer};

use super::{Door, sketch};
use ratekeeper::diagnosis::Diagnosis;
use ratekeeper::{Decision, StoreError};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tracing::level_filters::LevelFilter;

/// Longest text of a line, in characters.
pub const TEXT_MAX: usize = 1_024;

/// Lines a second of one kind: refusals of one rule, failures of the store.
pub const LINES_A_SECOND: u64 = 10;

/// In which form lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One object a line.
    Json,
}

/// From which level on lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Nothing.
    Off,
    /// What is broken.
    Error,
    /// What needs somebody's attention.
    Warn,
    /// What happens, refusals in samples among it.
    Info,
    /// More.
    Debug,
}

/// Begins the log of this process; lines that are on their way are written when the value is dropped.
#[must_use]
pub fn start(format: Option<Format>, level: Level) -> Option<Writer> {
    let human = io::stderr().is_terminal();
    let format = format.unwrap_or(if human { Format::Human } else { Format::Json });
    let level = match level {
        Level::Off => return None,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let writer = Writer::start(io::stderr(), format).ok()?;
    let lines = writer.lines();
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(lines);
    // Somebody else in this process may have a log already, which is as good.
    let _ = match format {
        Format::Human => tracing::subscriber::set_global_default(
            lines.with_ansi(false).with_target(false).finish(),
        ),
        Format::Json => tracing::subscriber::set_global_default(
            lines.json().flatten_event(true).with_target(false).with_current_span(false).finish(),
        ),
    };
    Some(writer)
}

/// How many of a kind are told in this second, and how many were left out.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    second: AtomicU64,
    told: AtomicU64,
    left_out: AtomicU64,
}

impl Sample {
    /// Whether to tell of one more; if so, how many were left out since the last that was told.
    pub(crate) fn take(&self, up: Duration) -> Option<u64> {
        let second = up.as_secs();
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.told.store(0, Ordering::Relaxed);
        }
        if self.told.fetch_add(1, Ordering::Relaxed) >= LINES_A_SECOND {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed))
    }
}

/// A rule refused.
pub(super) fn refused(
    rule: &str,
    door: Door,
    who: Option<u64>,
    decision: &Decision,
    left_out: u64,
) {
    let (key, source) = (who.map(sketch::hash), decision.source().name());
    let retry_after = decision.retry_after().map(|time| time.as_secs_f64());
    let door = door.name();
    tracing::info!(rule, key, door, source, retry_after, left_out, "refused");
}

/// The store did not answer as it should.
pub(super) fn store_failed(error: &StoreError, left_out: u64) {
    let (class, fault) = (error.class().name(), plain(&error.to_string()));
    tracing::warn!(class, fault, left_out, "the store failed");
}

/// Something about the set-up is most likely not meant.
pub(super) fn diagnosed(diagnosis: &Diagnosis) {
    let text = plain(&diagnosis.to_string());
    tracing::warn!("{text}");
}

/// A text without what could steer a terminal, cut where it is too long.
pub fn plain(text: &str) -> String {
    let mut short = text.chars();
    let mut plain = String::new();
    for c in short.by_ref().take(TEXT_MAX) {
        match c.is_control() || is_bidi(c) {
            true => plain.extend(c.escape_unicode()),
            false => plain.push(c),
        }
    }
    if short.next().is_some() {
        plain.push('…');
    }
    plain
}

/// What turns the direction of writing around, so that a line reads as another.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: at most so many a second are told, and what was left out is told with the next.
    /// Method: a hundred in one second, then one in the next.
    #[test]
    fn samples_tell_so_many_a_second_and_how_many_they_left_out() {
        let sample = Sample::default();
        let told = (0..100).filter_map(|_| sample.take(Duration::from_secs(5))).collect::<Vec<_>>();
        assert_eq!(told, [0; LINES_A_SECOND as usize]);
        assert_eq!(sample.take(Duration::from_secs(6)), Some(100 - LINES_A_SECOND));
        assert_eq!(sample.take(Duration::from_secs(6)), Some(0));
    }

    /// Goal: no text can steer a terminal, or fill the log.
    /// Method: an escape sequence, a line break, a turn of direction, and a text that is too long.
    #[test]
    fn texts_are_plain_and_short() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a\\u{1b}[2Jb\\u{a}c\\u{202e}d");
        let long = plain(&"x".repeat(2 * TEXT_MAX));
        assert_eq!(long.chars().count(), TEXT_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
