//! Live rules: what decides now, where it came from, and how it changes while the server runs.
//!
//! Rules come from the operator's file, from calls, or from the store that a fleet shares; whatever is accepted
//! becomes a release with a number, and the newest one decides. Invariants: one change at a time, and switches beside
//! it; what makes no sense changes nothing and is told with its place; decisions never wait for any of this; the
//! operator's file is never written.

mod change;
mod desk;
mod difference;
mod draft;
mod fleet;
mod look;
mod moment;
mod open;
mod overrides;
mod release;
mod rescue;
mod state;
mod switch_watch;
mod switches;
mod switching;
mod text;
mod watch;

pub use desk::CALLS_MAX;
pub use open::Opening;
pub use overrides::OVERRIDES_MAX;
pub use release::{HISTORY_BYTES_MAX, RELEASES_MAX};
pub use rescue::config;
pub use switches::{SWITCH_FILE_MAX, SWITCHES_MAX};

pub(crate) use desk::Place;
pub(crate) use difference::difference;
pub(crate) use draft::{Draft, fault};
pub(crate) use moment::{of_logs, shown as moment};
pub(crate) use overrides::{BODY, with as with_override};
pub(crate) use release::{Origin, Release};
pub(crate) use switches::{Turned, read as read_switch};
pub(crate) use text::{WHOLE, as_file, id, in_rule, rules, tree, with_rule, yaml};

use crate::config::{Fault, Faults, Named};
use crate::observe::logs::plain;
use desk::Desk;
use draft::Ground;
use fleet::Fleet;
use ratekeeper::Limiter;
use ratekeeper::rule::RuleSet;
use release::History;
use serde::Serialize;
use state::{Live, State};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use switches::Switches;

/// The source of what is wrong with the folder of the state.
const STATE: &str = "state_dir";

/// Tries of a change that others of the fleet keep coming before.
const TRIES: usize = 8;

/// Who asked for a change, where the door knows: it puts this among the extensions of the request.
#[derive(Clone, Debug)]
pub struct Author(pub String);

/// All that is live, and the way to change it.
pub struct Rulebook {
    limiter: Limiter,
    ground: Ground,
    book: Mutex<Book>,
    /// Whoever holds it changes the release.
    changing: tokio::sync::Mutex<()>,
    /// Whoever holds it turns switches, which wait for no release.
    turning: tokio::sync::Mutex<()>,
    desk: Desk,
    failures: AtomicU64,
    state: Option<State>,
    fleet: Option<Fleet>,
    /// Whether the folder of the state could not be written when it was last tried.
    stuck: AtomicBool,
    /// Files that somebody has open and has written into.
    open_files: Mutex<BTreeSet<PathBuf>>,
}

/// What is live.
#[derive(Debug, Default)]
struct Book {
    releases: History,
    /// What calls have turned, and the number that a fleet has given them.
    switches: Switches,
    serial: u64,
    /// What the switch file says.
    filed: Switches,
    /// What is in it.
    switch_file: Option<Vec<u8>>,
    /// What is wrong with files, or with what is in the store: one of each source, the last one last.
    faults: Vec<LastFault>,
    /// What the operator's file was when it was last taken up, and what it says about the server.
    file: Option<String>,
    server: Option<String>,
    /// Files that the live release names, as they were read.
    named: Named,
    /// The same of the last file, or release of the fleet, that made no sense.
    wanted: Named,
    /// What it says that only a start can do.
    restart: Vec<&'static str>,
    /// What it was at the start, if that made no sense.
    refused: Option<String>,
}

/// What was last wrong.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LastFault {
    /// What it is of: `file`, `named_file`, `switch_file`, `state_dir`; of a fleet, `redis` or `switches`; `api`
    /// where a caller could not wait for it.
    source: &'static str,
    at: String,
    errors: Vec<Fault>,
    more: usize,
}

impl LastFault {
    /// The first of what is wrong, in words.
    pub(crate) fn first(&self) -> Option<String> {
        self.errors.first().map(ToString::to_string)
    }
}

/// Why a change is not made.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// The rules make no sense.
    Faults(Faults),
    /// Another release is live than the caller has seen.
    Stale(u64),
    /// There is no such rule, release or override.
    Unknown(String),
    /// The store that a fleet shares cannot be asked.
    Away(String),
    /// It is not known whether the change was made, for this reason.
    Unsure(String),
    /// The change is still being made.
    Unfinished,
}

/// What became of a change.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    pub(crate) release: Arc<Release>,
    /// What the texts say that only a start can do.
    pub(crate) restart: Vec<&'static str>,
    /// Rules of overrides that no longer fit.
    pub(crate) left_out: Vec<String>,
}

impl Rulebook {
    /// The rules that a limiter was built with, whatever they are.
    pub fn of(limiter: Limiter) -> Arc<Rulebook> {
        Arc::new(open::unwritten(limiter))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Every write leaves the book whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The release that decides.
    pub(crate) fn live(&self) -> Arc<Release> {
        // There is one from the start.
        let newest = self.book().releases.newest().map(Arc::clone);
        newest.unwrap_or_else(|| Arc::new(open::nothing(&self.limiter)))
    }

    /// The rules that decide and what to call them, if they are not those of the operator's file, nor the demo's.
    pub(crate) fn stored(&self) -> Option<(RuleSet, String)> {
        let live = self.live();
        if matches!(live.source, Origin::File | Origin::Demo) {
            return None;
        }
        let read = self.ground.read(&Draft::of(&live)).ok()?;
        let origin = format!("release {}, from {}", live.number, live.source.name());
        Some((read.file.rules, origin))
    }

    /// Releases that are kept, newest first.
    pub(crate) fn releases(&self) -> Vec<Arc<Release>> {
        self.book().releases.iter().map(Arc::clone).collect()
    }

    /// What was last wrong with a file, or with what is in the store.
    pub(crate) fn last_fault(&self) -> Option<LastFault> {
        self.book().faults.last().cloned()
    }

    /// What the operator's file says that only a start can do.
    pub(crate) fn needs_restart(&self) -> Vec<&'static str> {
        self.book().restart.clone()
    }

    /// How many sets of rules were not accepted since the start.
    pub fn reload_failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.limiter.now() / 1_000_000
    }

    /// Counts rules that were sent and make no sense.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes down what is live, where that is wanted. What cannot be written is tried again every second, and
    /// told until it is.
    fn keep(&self) {
        let Some(state) = &self.state else { return };
        let kept = state.keep(|| {
            let book = self.book();
            let number = book.releases.newest().map_or(0, |release| release.number);
            let (file, server) = (book.file.clone(), book.server.clone());
            let live = Live::new(number, file, server, book.switches.clone(), book.serial);
            (live, book.releases.iter().map(Arc::clone).collect())
        });
        let was_stuck = self.stuck.swap(kept.is_err(), Ordering::Relaxed);
        match kept {
            Err(error) if !was_stuck => {
                let text = format!("this folder cannot be written: {error}");
                let repair = "make room, or let this process write there; until then changes are \
                              lost by a restart";
                let faults = fault(STATE, &text, repair);
                faults.lines().iter().for_each(|line| tell(&format!("error: {line}")));
                self.shown(STATE, &faults);
            }
            Ok(()) if was_stuck => {
                tell("`state_dir` can be written again: changes survive a restart");
                self.mended(STATE);
            }
            _ => {}
        }
    }

    /// Whether what is live is still to be written down.
    fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Notes what is wrong with a file, or with what is in the store.
    fn note(&self, source: &'static str, faults: &Faults) {
        let number = self.live().number;
        for line in faults.lines() {
            tell(&format!("error: {line}"));
        }
        tell(&format!("warning: nothing has changed: release {number} goes on deciding"));
        self.shown(source, faults);
    }

    /// Counts a failure, and shows it until it is mended.
    fn shown(&self, source: &'static str, faults: &Faults) {
        self.count_failure();
        let at = moment::shown(self.now());
        let (errors, more) = (faults.listed.clone(), faults.more);
        let mut book = self.book();
        book.faults.retain(|fault| fault.source != source);
        book.faults.push(LastFault { source, at, errors, more });
    }

    /// Forgets a fault that was mended.
    fn mended(&self, source: &'static str) {
        self.book().faults.retain(|fault| fault.source != source);
    }
}

/// A line for the operator, in the log.
fn tell(line: &str) {
    let line = plain(line);
    match line.split_once(": ") {
        Some(("error", text)) => tracing::error!("{text}"),
        Some(("warning", text)) => tracing::warn!("{text}"),
        _ => tracing::info!("{line}"),
    }
}

impl fmt::Debug for Rulebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rulebook").field("release", &self.live().number).finish_non_exhaustive()
    }
}
