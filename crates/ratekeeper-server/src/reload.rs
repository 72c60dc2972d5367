//! Live rules: what decides now, where it came from, and how it changes while the server runs.
//!
//! Rules come from the operator's file, from calls, or from the store that a fleet shares; whatever is accepted
//! becomes a release with a number, and the newest one decides. Invariants: one change at a time; what makes no
//! sense changes nothing and is told with its place; decisions never wait for any of this; the operator's file is
//! never written.

mod difference;
mod draft;
mod fleet;
mod moment;
mod open;
mod overrides;
mod release;
mod state;
mod switches;
mod switching;
mod text;
mod watch;

pub use open::Opening;
pub use overrides::OVERRIDES_MAX;
pub use release::{HISTORY_BYTES_MAX, RELEASES_MAX};
pub use switches::{SWITCH_FILE_MAX, SWITCHES_MAX};

pub(crate) use difference::difference;
pub(crate) use draft::{Draft, fault};
pub(crate) use moment::shown as moment;
pub(crate) use overrides::{BODY, with as with_override};
pub(crate) use release::{Origin, Release};
pub(crate) use switches::read as read_switch;
pub(crate) use text::{WHOLE, as_file, id, in_rule, rules, tree, with_rule, yaml};

use crate::config::{Fault, Faults};
use draft::{Ground, Read};
use fleet::Fleet;
use ratekeeper::Limiter;
use ratekeeper::rule::file::Source;
use release::History;
use serde::Serialize;
use state::{Live, State};
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use switches::Switches;

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
    /// Whoever holds it changes what is live.
    changing: tokio::sync::Mutex<()>,
    failures: AtomicU64,
    state: Option<State>,
    fleet: Option<Fleet>,
    /// Whether the folder of the state could not be written when it was last tried.
    stuck: AtomicBool,
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
    /// What was last wrong with a file, or with what is in the store.
    fault: Option<LastFault>,
    /// What the operator's file was when it was last taken up.
    file: Option<String>,
    /// Files that it names.
    names: Vec<String>,
    /// What it says that only a start can do.
    restart: Vec<&'static str>,
}

/// What was last wrong.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LastFault {
    /// What it is of: `file`, `switch_file` or `redis`.
    source: &'static str,
    at: String,
    errors: Vec<Fault>,
    more: usize,
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

    /// Releases that are kept, newest first.
    pub(crate) fn releases(&self) -> Vec<Arc<Release>> {
        self.book().releases.iter().map(Arc::clone).collect()
    }

    /// What was last wrong with a file, or with what is in the store.
    pub(crate) fn last_fault(&self) -> Option<LastFault> {
        self.book().fault.clone()
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
        self.limiter.time().as_secs()
    }

    /// Makes a change, if the caller has `seen` what is live, or did not look. `make` says what the rules are
    /// to be, given those that are live.
    pub(crate) async fn change(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool + Send + 'static,
        make: impl Fn(&Release) -> Result<Draft, Refused> + Send + 'static,
    ) -> Result<Accepted, Refused> {
        let book = Arc::clone(self);
        // A caller that goes away does not leave a change half made.
        let change = tokio::spawn(async move {
            let _one_at_a_time = book.changing.lock().await;
            book.make(seen, make).await
        });
        change.await.unwrap_or_else(|error| Err(Refused::Away(error.to_string())))
    }

    /// Counts rules that were sent and make no sense.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    async fn make(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool,
        make: impl Fn(&Release) -> Result<Draft, Refused>,
    ) -> Result<Accepted, Refused> {
        for _ in 0..TRIES {
            let live = self.live();
            if !seen(live.number) {
                return Err(Refused::Stale(live.number));
            }
            let (draft, read) = self.read(make(&live)?).await?;
            let restart =
                self.ground.needs_restart(&read.file.settings, draft.source == Origin::Api);
            let left_out = read.left_out.clone();
            let mut release = self.release(draft, &read, live.number + 1);
            if let Some(fleet) = &self.fleet {
                fleet::shareable(&mut release).map_err(Refused::Faults)?;
                if fleet.post(&release, live.number).await?.is_err() {
                    // Somebody else was first.
                    self.catch_up(fleet).await?;
                    continue;
                }
            }
            let release = self.settle(release, read).await;
            return Ok(Accepted { release, restart, left_out });
        }
        Err(Refused::Stale(self.live().number))
    }

    /// Whether texts that were sent make sense: how many rules they have, and what only a start can do.
    pub(crate) async fn judge(
        self: &Arc<Self>,
        sources: Vec<Source>,
    ) -> Result<(usize, Vec<&'static str>), Refused> {
        let draft = Draft {
            source: Origin::Api,
            by: None,
            change: String::new(),
            sources,
            overrides: Vec::new(),
            trusted: false,
            needs_last: false,
        };
        let (_, read) = self.read(draft).await?;
        let restart = self.ground.needs_restart(&read.file.settings, true);
        Ok((read.file.rules.rules.len(), restart))
    }

    /// Reads a draft where it holds nobody up.
    async fn read(self: &Arc<Self>, draft: Draft) -> Result<(Draft, Read), Refused> {
        let book = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let read = book.ground.read(&draft)?;
            Ok((draft, read))
        });
        let read = read.await.unwrap_or_else(|error| {
            Err(fault(BODY, &format!("reading it failed: {error}"), "this is a fault of ours"))
        });
        read.map_err(Refused::Faults)
    }

    fn release(&self, draft: Draft, read: &Read, number: u64) -> Release {
        Release {
            number,
            source: draft.source,
            at: self.now(),
            by: draft.by,
            change: draft.change,
            rules: read.file.rules.rules.len(),
            files: text::hidden(draft.sources, &read.file.settings),
            overrides: read.overrides.clone(),
            trusted: draft.trusted,
        }
    }

    /// Puts a release in the place of the one that is live, and keeps it.
    async fn settle(self: &Arc<Self>, release: Release, read: Read) -> Arc<Release> {
        let (book, release) = (Arc::clone(self), Arc::new(release));
        let settled = Arc::clone(&release);
        let done = tokio::task::spawn_blocking(move || {
            book.limiter.replace_as(read.file.rules, settled.number);
            let gone = {
                let mut book = book.book();
                if read.digest.is_some() {
                    (book.file, book.names) = (read.digest, read.names);
                }
                book.releases.push(Arc::clone(&settled))
            };
            book.keep(Some((&settled, &gone)));
        });
        if let Err(error) = done.await {
            tell(&format!("warning: release {} was not completed: {error}", release.number));
        }
        let Release { number, source, rules, change, .. } = &*release;
        let source = source.name();
        tell(&format!("release {number}: {change}, {rules} rules, from {source}"));
        release
    }

    /// Writes down what is live, where that is wanted.
    fn keep(&self, release: Option<(&Release, &[u64])>) {
        let Some(state) = &self.state else { return };
        let live = {
            let book = self.book();
            let number = book.releases.newest().map_or(0, |release| release.number);
            Live::new(number, book.file.clone(), book.switches.clone(), book.serial)
        };
        let kept = release.map_or(Ok(()), |(release, gone)| state.keep(release, gone));
        let failed = kept.and_then(|()| state.keep_live(&live)).err();
        let was_stuck = self.stuck.swap(failed.is_some(), Ordering::Relaxed);
        if let Some(error) = failed.filter(|_| !was_stuck) {
            let text = "changes do not survive a restart until it can be written";
            tell(&format!("warning: `state_dir` cannot be written: {error}; {text}"));
        }
    }

    /// Notes what is wrong with a file, or with what is in the store.
    fn note(&self, source: &'static str, faults: &Faults) {
        self.count_failure();
        let number = self.live().number;
        for line in faults.lines() {
            tell(&format!("error: {line}"));
        }
        tell(&format!("warning: nothing has changed: release {number} goes on deciding"));
        let at = moment::shown(self.now());
        let (errors, more) = (faults.listed.clone(), faults.more);
        self.book().fault = Some(LastFault { source, at, errors, more });
    }

    /// Forgets a fault that was mended.
    fn mended(&self, source: &'static str) {
        let mut book = self.book();
        if book.fault.as_ref().is_some_and(|fault| fault.source == source) {
            book.fault = None;
        }
    }
}

/// A line for the operator. A server goes on without anyone to read it.
fn tell(line: &str) {
    let plain: String = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let _ = writeln!(io::stderr(), "{plain}");
}

impl fmt::Debug for Rulebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rulebook").field("release", &self.live().number).finish_non_exhaustive()
    }
}
