//! What survives a restart: releases, overrides and switches, in a folder.
//!
//! Invariant: a file here is whole or not there: each is written beside its place, made sure of, and put there in
//! one step. One that makes no sense is told and set aside, and never keeps a server from starting.

use super::release::Release;
use super::switches::Switches;
use super::tell;
use crate::config::{bytes, shown};
use crate::whole;
use ratekeeper::fleet::NUMBER_MAX;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes of one file: a release of the largest size, escaped.
const FILE_MAX: usize = 256 * 1024 * 1024;

/// Most files that are looked at.
const FILES_MAX: usize = 10_000;

/// The file that names the release that was live.
const LIVE: &str = "live.json";

/// The format of these files.
const FORMAT: u32 = 1;

/// The folder.
#[derive(Debug)]
pub(crate) struct State {
    folder: PathBuf,
    /// The releases that are in there, by number.
    written: Mutex<BTreeMap<u64, Arc<Release>>>,
}

/// What was live, beside its release.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Live {
    format: u32,
    /// The release.
    pub(crate) number: u64,
    /// What the operator's file was when it was last taken up.
    pub(crate) file: Option<String>,
    /// What it said about the server, without the password of its store.
    #[serde(default)]
    pub(crate) server: Option<String>,
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
    pub(crate) releases: Vec<Arc<Release>>,
}

impl Live {
    pub(crate) fn new(
        number: u64,
        file: Option<String>,
        server: Option<String>,
        switches: Switches,
        serial: u64,
    ) -> Live {
        Live { format: FORMAT, number, file, server, switches, serial }
    }
}

impl Stored {
    /// The largest number that was given.
    pub(crate) fn newest(&self) -> u64 {
        let newest = self.releases.last().map_or(0, |release| release.number);
        self.live.as_ref().map_or(newest, |live| newest.max(live.number))
    }

    /// The release that was live.
    pub(crate) fn live(&self) -> Option<&Arc<Release>> {
        let number = self.live.as_ref().map_or(self.newest(), |live| live.number);
        self.releases.iter().find(|release| release.number == number)
    }
}

impl State {
    /// Makes the folder, if it is not there.
    pub(crate) fn open(folder: &Path) -> io::Result<State> {
        let state = State { folder: folder.to_owned(), written: Mutex::default() };
        whole::folder(&state.releases())?;
        // Found now, and not at the first change.
        state.write("probe", b"")?;
        fs::remove_file(folder.join("probe"))?;
        Ok(state)
    }

    /// Whether something was kept in this folder.
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join(LIVE).exists()
    }

    /// What was live, for who only looks.
    pub(crate) fn live_in(folder: &Path) -> Option<Live> {
        serde_json::from_slice(&bytes(&folder.join(LIVE), FILE_MAX).ok()?).ok()
    }

    fn releases(&self) -> PathBuf {
        self.folder.join("releases")
    }

    /// What is there.
    pub(crate) fn load(&self) -> Stored {
        let live = self.read(&self.folder.join(LIVE), |live: &Live| {
            live.format == FORMAT && live.number <= NUMBER_MAX && live.serial <= NUMBER_MAX
        });
        let mut releases = Vec::new();
        let entries = fs::read_dir(self.releases()).into_iter().flatten().flatten();
        for entry in entries.take(FILES_MAX) {
            let path = entry.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else {
                continue;
            };
            let fits = |release: &Release| release.number == number && release.number <= NUMBER_MAX;
            releases.extend(self.read(&path, fits).map(Arc::new));
        }
        releases.sort_by_key(|release| release.number);
        let written = releases.iter().map(|release| (release.number, Arc::clone(release)));
        self.written().extend(written);
        Stored { live, releases }
    }

    fn read<T: DeserializeOwned>(&self, path: &Path, fits: impl Fn(&T) -> bool) -> Option<T> {
        let read = match bytes(path, FILE_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read,
        };
        let read = read.map_err(|error| error.to_string());
        let read = read
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        let strange = "its format or its number is none of ours".to_owned();
        match read.and_then(|value| if fits(&value) { Ok(value) } else { Err(strange) }) {
            Ok(value) => Some(value),
            Err(error) => {
                let aside = whole::set_aside(path);
                tell(&format!("warning: {}: cannot be used: {error}; {aside}", shown(path)));
                None
            }
        }
    }

    fn written(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Release>>> {
        // At worst something is written again.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is live, and these releases, the newest first, and no others. After a failure all of it is
    /// written again, whatever has become of the folder.
    pub(crate) fn keep(&self, what: impl FnOnce() -> (Live, Vec<Arc<Release>>)) -> io::Result<()> {
        let mut written = self.written();
        let (live, releases) = what();
        let kept = self.put(&mut written, &live, &releases);
        if kept.is_err() {
            written.clear();
        }
        kept
    }

    fn put(
        &self,
        written: &mut BTreeMap<u64, Arc<Release>>,
        live: &Live,
        releases: &[Arc<Release>],
    ) -> io::Result<()> {
        let name = |number: u64| format!("releases/{number}.json");
        whole::folder(&self.releases())?;
        let put = |written: &mut BTreeMap<_, _>, release: &Arc<Release>| {
            let number = release.number;
            if written.get(&number).is_some_and(|own| Arc::ptr_eq(own, release)) {
                return Ok(());
            }
            self.write(&name(number), &serde_json::to_vec(&**release)?)?;
            written.insert(number, Arc::clone(release));
            io::Result::Ok(())
        };
        // What is live is named when it is there.
        let (newest, former) = releases.split_at(releases.len().min(1));
        newest.iter().try_for_each(|release| put(written, release))?;
        self.write(LIVE, &serde_json::to_vec(live)?)?;
        former.iter().try_for_each(|release| put(written, release))?;
        written.retain(|number, _| {
            let stays = releases.iter().any(|release| release.number == *number);
            stays || fs::remove_file(self.folder.join(name(*number))).is_err()
        });
        Ok(())
    }

    fn write(&self, name: &str, text: &[u8]) -> io::Result<()> {
        whole::write(&self.folder.join(name), |out| out.write_all(text))
    }
}
