//! `ratekeeper audit`: whether a recorded history kept its bounds.
//!
//! Invariant: the exit code says what the report says. Neither a server nor a store is asked.

mod text;

use super::{Failure, plain};
use crate::args::Audit;
use crate::audit::{Check, History, Rulebook, judge};
use crate::config::{Config, shown};
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Files beyond this take so long that whoever waits at a terminal is told.
const LARGE: u64 = 64 * 1024 * 1024;

pub(super) fn run(args: &Audit) -> Result<ExitCode, Failure> {
    let Some(path) = &args.config else {
        return Err(Failure::new(
            "no rule file is named; write `--config PATH`, or set `RATEKEEPER_CONFIG`",
        ));
    };
    let config = Config::read(path)?;
    let book = Rulebook::new(&config.file, args.nodes);
    let history = read(&args.history)?;
    let mut report = judge(&history, &book).map_err(|unknown| {
        let (rule, file) = (unknown.0, shown(path));
        Failure::new(format!(
            "{}: rule `{rule}` is not in {file}; name the rule file that was live",
            shown(&args.history)
        ))
    })?;
    if let Some(other) = &args.same_as {
        report.compare(&history, &read(other)?);
        if report.count(Check::Isolation).judged == 0 {
            let (one, other) = (shown(&args.history), shown(other));
            return Err(Failure::new(format!(
                "{one} and {other} have no key in common; compare histories of the same load"
            )));
        }
    }
    let said = if args.json {
        text::json(&report, &book)
            .map_err(|error| Failure::new(format!("the report cannot be written: {error}")))?
    } else {
        text::human(&report, &book, &plain(&shown(&args.history)))
    };
    match writeln!(io::stdout(), "{said}").and_then(|()| io::stdout().flush()) {
        // Whoever closed stdout has the exit code.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(format!("the report cannot be written: {error}")));
        }
        _ => {}
    }
    Ok(ExitCode::from(u8::from(!report.is_kept())))
}

fn read(path: &Path) -> Result<History, Failure> {
    let wrong = |error: io::Error| {
        let path = shown(path);
        Failure::new(format!("{path}: it cannot be read: {error}; name a file that can be"))
    };
    let file = File::open(path).map_err(wrong)?;
    let size = file.metadata().map_err(wrong)?.len();
    if size > LARGE && io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "reading {} MB of {}", size >> 20, plain(&shown(path)));
    }
    let history = History::read(&shown(path), &mut BufReader::with_capacity(1 << 20, file))
        .map_err(|bad| Failure::Files(vec![bad.to_string()]))?;
    if history.is_empty() {
        let path = shown(path);
        return Err(Failure::new(format!(
            "{path}: there is no operation in it, so nothing is proved; record a load first"
        )));
    }
    Ok(history)
}
