//! `ratekeeper init`: a commented rule file to start from.
//!
//! Invariant: a file that is there is never changed.

use super::{Failure, plain};
use crate::args::Init;
use crate::config::shown;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// What is written. Where a `#` is followed by no space, it hides an example, which works when the sign
/// is taken away.
pub(crate) const STARTER: &str = include_str!("init/starter.yaml");

pub(super) fn run(args: &Init) -> Result<ExitCode, Failure> {
    let path = &args.path;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(STARTER.as_bytes()));
    written.map_err(|error| {
        let repair = match error.kind() {
            ErrorKind::AlreadyExists => {
                "it is there already; name another file, or remove it".into()
            }
            ErrorKind::NotFound => "its folder is not there; make it first".into(),
            _ => format!("{error}; name a file that can be written"),
        };
        Failure::new(format!("cannot write `{}`: {repair}", shown(path)))
    })?;
    let name = plain(&shown(path));
    let text = if args.json {
        serde_json::json!({ "written": name }).to_string()
    } else {
        let word = quoted(&name);
        format!(
            "wrote {name}\n\nNext:\n  \
             ratekeeper validate {word}\n  \
             ratekeeper explain GET /api/users --config {word}\n  \
             ratekeeper serve --config {word}"
        )
    };
    // Whoever closed stdout has the file.
    let _ = writeln!(io::stdout(), "{text}");
    Ok(ExitCode::SUCCESS)
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
