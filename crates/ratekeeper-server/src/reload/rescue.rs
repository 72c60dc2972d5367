//! A start with a file that makes no sense, where the last good release was stored.
//!
//! Invariant: nothing is guessed: what is about the server is what the file says, if it can be told, or what the
//! last good one said.

use super::state::State;
use super::text::{self, HIDDEN, LIVE};
use crate::config::{Config, Faults, bytes};
use ratekeeper::rule::file::{BYTES_MAX, RuleFile, Source};
use std::path::Path;

/// A config for a server whose file has these faults; the faults, if nothing was stored to go on with.
pub fn config(path: &Path, faults: Faults) -> Result<Config, Faults> {
    let Some(file) = server(path) else { return Err(faults) };
    let config = Config::faulty(path, file, faults.clone())?;
    let folder = config.file.settings.state_dir.as_deref().map(|name| config.named(name));
    match folder.is_some_and(|folder| State::is_in(&folder)) {
        true => Ok(config),
        false => Err(faults),
    }
}

/// What is about the server itself.
fn server(path: &Path) -> Option<RuleFile> {
    let (sources, folder) = Config::sources(path).ok()?;
    let text = match text::tree(&sources) {
        Ok(mut whole) => {
            whole.retain(|name, _| !LIVE.contains(&&**name));
            text::yaml(&whole)
        }
        Err(_) => stored(&sources, &folder)?,
    };
    let open = |name: &str| bytes(&folder.join(name), BYTES_MAX);
    let source = Source { name: text::WHOLE.into(), text };
    RuleFile::read(&[source], &open).ok()
}

/// What the last good file said, where not even the fields of this one can be told: a line has to say where that is
/// stored. A password is nowhere but in the file.
fn stored(sources: &[Source], folder: &Path) -> Option<String> {
    let name = sources.iter().flat_map(|source| source.text.lines()).find_map(state_dir)?;
    State::live_in(&folder.join(name))?.server.filter(|text| !text.contains(HIDDEN))
}

/// The name that a line gives the folder of the state.
fn state_dir(line: &str) -> Option<&str> {
    let json = || line.trim_start().strip_prefix("\"state_dir\":");
    let rest = line.strip_prefix("state_dir:").or_else(json)?;
    let name = rest.split(" #").next()?.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::state_dir;

    /// Goal: the folder is found in the forms in which files write it, and nowhere else.
    /// Method: lines, and what they say.
    #[test]
    fn a_line_says_where_the_state_is() {
        let lines = [
            ("state_dir: state", Some("state")),
            ("state_dir:   'a b'  # here", Some("a b")),
            ("  \"state_dir\": \"/var/lib/rk\",", Some("/var/lib/rk")),
            ("  state_dir: inside", None),
            ("# state_dir: no", None),
            ("state_dir:", None),
        ];
        for (line, name) in lines {
            assert_eq!(state_dir(line), name, "{line}");
        }
    }
}
