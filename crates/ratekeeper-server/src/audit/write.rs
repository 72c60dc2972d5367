//! Histories as text: one line for each operation.
//!
//! Invariant: what is written is read back as the same history. Names with a space, a control character or a
//! `%` are percent-encoded, others stand as they are; a name that is empty is a lone `%`.

use super::history::{History, Record};
use std::borrow::Cow;
use std::io::{self, Write};

impl History {
    /// Writes it to a file or a pipe.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        if let Some((instant, wall)) = self.clock {
            writeln!(to, "clock {instant} {wall}")?;
        }
        if let Some(sent) = self.sent {
            writeln!(to, "sent {sent}")?;
        }
        for episode in &self.episodes {
            writeln!(to, "fault_start {} {}", episode.start, encoded(&episode.name))?;
            writeln!(to, "fault_end {} {}", episode.end, encoded(&episode.name))?;
        }
        self.records().try_for_each(|record| record.write(to))
    }
}

impl Record<'_> {
    /// Writes its line.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let Record { id, version, cost, invoke, complete, .. } = self;
        let (node, key, rule) = (encoded(self.node), encoded(self.key), encoded(self.rule));
        let (outcome, source) = (self.outcome.name(), self.source.name());
        write!(
            to,
            "{id} {node} {key} {rule} {version} {cost} {invoke} {complete} {outcome} {source}"
        )?;
        match (self.retry, self.remaining) {
            (None, None) => {}
            (Some(retry), None) => write!(to, " {retry} -")?,
            (None, Some(remaining)) => write!(to, " - {remaining}")?,
            (Some(retry), Some(remaining)) => write!(to, " {retry} {remaining}")?,
        }
        writeln!(to)
    }
}

fn encoded(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c != ' ' && c != '%' && !c.is_control();
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.into();
    }
    let mut text = String::new();
    for c in name.chars() {
        if is_plain(c) {
            text.push(c);
        } else {
            let mut bytes = [0; 4];
            let hex = c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}"));
            text.extend(hex);
        }
    }
    if text.is_empty() { "%".into() } else { text.into() }
}
