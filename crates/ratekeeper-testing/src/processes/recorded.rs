//! A history that was written down, read again.
//!
//! Invariant: each line is a decision or a mark of a fault; no id is there twice.

use super::Line;
use crate::load::{Call, History};
use ratekeeper::Source;
use std::collections::BTreeSet;
use std::time::Duration;

/// The decisions of a fleet, and what was done to it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The decisions, in the order in which they were asked for.
    pub lines: Vec<Line>,
    /// How many faults of each name began, and how many ended.
    pub kills: (u32, u32),
    /// The same of pauses.
    pub pauses: (u32, u32),
}

impl Recorded {
    /// Reads a history; what it cannot be is an error that shows the line.
    pub fn read(text: &str) -> Result<Recorded, String> {
        let mut recorded = Recorded { lines: Vec::new(), kills: (0, 0), pauses: (0, 0) };
        let mut ids = BTreeSet::new();
        for text in text.lines() {
            let Some((mark, rest)) = text.split_once(' ').filter(|(mark, _)| mark.contains('_'))
            else {
                let line: Line = text.parse()?;
                if !ids.insert(line.id) {
                    return Err(format!("an id for the second time: {text}"));
                }
                recorded.lines.push(line);
                continue;
            };
            let count = match (mark, rest.split_once(' ').map(|(_, name)| name)) {
                ("fault_start", Some("kill")) => &mut recorded.kills.0,
                ("fault_end", Some("kill")) => &mut recorded.kills.1,
                ("fault_start", Some("pause")) => &mut recorded.pauses.0,
                ("fault_end", Some("pause")) => &mut recorded.pauses.1,
                _ => return Err(format!("neither a decision nor a fault: {text}")),
            };
            *count += 1;
        }
        Ok(recorded)
    }

    /// As calls, from the first on; all of them are of one node, since a name is no number.
    pub fn history(&self) -> Result<History, String> {
        let first = self.lines.iter().map(|line| line.asked).min().unwrap_or_default();
        let calls: Result<Vec<Call>, String> =
            self.lines.iter().map(|line| call(line, first)).collect();
        let calls = calls?;
        let took = calls.iter().map(|call| call.answered).max().unwrap_or_default();
        Ok(History { calls, took, stall: Duration::ZERO })
    }
}

fn call(line: &Line, first: u64) -> Result<Call, String> {
    let sources =
        [Source::Store, Source::Overflow, Source::Local, Source::FailedOpen, Source::FailedClosed];
    let source = sources.into_iter().find(|source| source.name() == line.source);
    Ok(Call {
        node: 0,
        rule: line.rule.clone(),
        key: line.key.clone(),
        cost: line.cost,
        asked: Duration::from_nanos(line.asked - first),
        answered: Duration::from_nanos(line.answered.saturating_sub(first)),
        allowed: line.outcome == "allow",
        source: source.ok_or_else(|| format!("an unknown source: {line}"))?,
        limit: u64::MAX,
        remaining: line.remaining.unwrap_or(u64::MAX),
    })
}
