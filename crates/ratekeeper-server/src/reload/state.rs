//! What survives a restart: releases, overrides and switches, in a folder.
//!
//! Invariant: a file here is whole or not there: each is written beside its place, made sure of, and put there in
//! one step. One that makes no sense is told and set aside, and never keeps a server from starting.

use super::release::Release;
use super::switches::Switches;
use super::tell;
use crate::config::{bytes, shown};
use crate::whole;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most bytes of one file: a release of the largest size, escaped.
const FILE_MAX: usize = 256 * 1024 * 1024;

/// Most files that are looked at.
const FILES_MAX: usize = 10_000;

/// The format of these files.
const FORMAT: u32 = 1;

/// The folder.
#[derive(Debug)]
pub(crate) struct State {
    folder: PathBuf,
}

/// What was live, beside its release.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Live {
    format: u32,
    /// The release.
    pub(crate) number: u64,
    /// What the operator's file was when it was last taken up.
    pub(crate) file: Option<String>,
    pub(crate) switches: Switches,
    /// The number of the switches in the store that a fleet shares.
    #[serde(default)]
    pub(crate) serial: u64,
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) live: Option<Live>,
    /// By number.
    pub(crate) releases: Vec<Release>,
}

impl Live {
    pub(crate) fn new(number: u64, file: Option<String>, switches: Switches, serial: u64) -> Live {
        Live { format: FORMAT, number, file, switches, serial }
    }
}

impl State {
    /// Makes the folder, if it is not there.
    pub(crate) fn open(folder: &Path) -> io::Result<State> {
        whole::folder(&folder.join("releases"))?;
        let state = State { folder: folder.to_owned() };
        // Found now, and not at the first change.
        state.write("probe", b"")?;
        fs::remove_file(folder.join("probe"))?;
        Ok(state)
    }

    /// What is there.
    pub(crate) fn load(&self) -> Stored {
        let live = self.read::<Live>(&self.folder.join("live.json"));
        let live = live.filter(|live| live.format == FORMAT);
        let mut releases = Vec::new();
        let entries = fs::read_dir(self.folder.join("releases")).into_iter().flatten().flatten();
        for entry in entries.take(FILES_MAX) {
            let path = entry.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else {
                continue;
            };
            releases.extend(self.read::<Release>(&path).filter(|release| release.number == number));
        }
        releases.sort_by_key(|release| release.number);
        Stored { live, releases }
    }

    fn read<T: DeserializeOwned>(&self, path: &Path) -> Option<T> {
        let read = match bytes(path, FILE_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read,
        };
        let read = read.map_err(|error| error.to_string());
        let read = read
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                let aside = whole::set_aside(path);
                tell(&format!("warning: {}: cannot be used: {error}; {aside}", shown(path)));
                None
            }
        }
    }

    /// Keeps a release, and forgets others.
    pub(crate) fn keep(&self, release: &Release, gone: &[u64]) -> io::Result<()> {
        let text = serde_json::to_vec(release)?;
        self.write(&format!("releases/{}.json", release.number), &text)?;
        for number in gone {
            let _ = fs::remove_file(self.folder.join(format!("releases/{number}.json")));
        }
        Ok(())
    }

    /// Keeps what is live.
    pub(crate) fn keep_live(&self, live: &Live) -> io::Result<()> {
        self.write("live.json", &serde_json::to_vec(live)?)
    }

    fn write(&self, name: &str, text: &[u8]) -> io::Result<()> {
        whole::write(&self.folder.join(name), |out| out.write_all(text))
    }
}
