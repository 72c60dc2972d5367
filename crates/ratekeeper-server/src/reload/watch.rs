//! The operator's files: seen when they change, taken up once they are whole.
//!
//! The folder is watched, since a file that is replaced, or a link that is swapped, is another file; and a look
//! now and then finds what a watch misses, as on network file systems. Invariant: a change is taken up only when two
//! readings, some time apart, agree; whatever is missing or unreadable changes nothing and is told once.

use super::draft::Draft;
use super::fleet::{RULES, SWITCHES};
use super::release::Origin;
use super::{Refused, Rulebook, tell};
use crate::config::{Config, Faults, listed};
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use ratekeeper::rule::file::Source;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::sleep;

/// How long files have to be as they are before they are believed.
pub(super) const QUIET: Duration = Duration::from_millis(100);

/// Readings of files that keep changing, before they are left alone until the next event.
pub(super) const READINGS_MAX: usize = 100;

/// How often everyone looks without being told.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Clone, Debug)]
struct Found {
    sources: Vec<Source>,
    /// What it is, or what is wrong with it.
    what: Result<String, Faults>,
}

impl Rulebook {
    /// Follows files, signals and the fleet for as long as the runtime lives.
    pub fn watch(self: &Arc<Self>) {
        if self.fleet.is_some() {
            // Apart: a switch waits for no release that is being read.
            tokio::spawn(Arc::clone(self).follow(RULES));
            tokio::spawn(Arc::clone(self).follow(SWITCHES));
        }
        if let Some(path) = self.switch_file() {
            tokio::spawn(Arc::clone(self).watch_switches(path));
        }
        if self.ground.path.is_some() {
            tokio::spawn(Arc::clone(self).watch_files());
        }
    }

    async fn watch_files(self: Arc<Self>) {
        let (sender, mut events) = mpsc::channel(1);
        // Dropped, it would watch no longer.
        let watcher = watcher(sender, self.ground.path.as_deref());
        let mut hangup = signal(SignalKind::hangup()).ok();
        let (mut stamp, mut told) = (self.stamp().await, None);
        // What changed between the start and the first event.
        self.look_at_rules(&mut told, false).await;
        loop {
            let asked = tokio::select! {
                Some(()) = events.recv() => false,
                Some(()) = async { hangup.as_mut()?.recv().await }, if hangup.is_some() => true,
                () = sleep(POLL) => {
                    let now = self.stamp().await;
                    if std::mem::replace(&mut stamp, now.clone()) == now {
                        continue;
                    }
                    false
                }
            };
            let _alive = &watcher;
            self.look_at_rules(&mut told, asked).await;
        }
    }

    /// What changes when one of the files does, as far as can be seen without reading them.
    async fn stamp(self: &Arc<Self>) -> Vec<(PathBuf, i64, i64, u64, u64)> {
        let book = Arc::clone(self);
        let stamp = tokio::task::spawn_blocking(move || {
            let path = book.ground.path.as_deref().unwrap_or(Path::new(""));
            let folder = book.ground.folder.clone().unwrap_or_default();
            let mut files = listed(path).map(|(files, _)| files).unwrap_or_default();
            files.extend(book.book().names.iter().map(|name| folder.join(name)));
            let stamp = |path: PathBuf| {
                let found = fs::metadata(&path).ok()?;
                Some((path, found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
            };
            files.into_iter().filter_map(stamp).collect()
        });
        stamp.await.unwrap_or_default()
    }

    /// The files, once they are at rest.
    async fn at_rest(self: &Arc<Self>) -> Option<Found> {
        let mut seen = self.found().await?;
        for _ in 0..READINGS_MAX {
            sleep(QUIET).await;
            let again = self.found().await?;
            if again.what == seen.what {
                return Some(again);
            }
            seen = again;
        }
        None
    }

    async fn found(self: &Arc<Self>) -> Option<Found> {
        let book = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || {
            let names = book.book().names.clone();
            let path = book.ground.path.as_deref()?;
            Some(match Config::sources(path) {
                Ok((sources, _)) => {
                    let what = Ok(book.ground.digest(&sources, &names));
                    Found { sources, what }
                }
                Err(faults) => Found { sources: Vec::new(), what: Err(faults) },
            })
        });
        found.await.ok().flatten()
    }

    /// Takes the rules up, if they are not what they were. What was `told` of them is not told again.
    async fn look_at_rules(
        self: &Arc<Self>,
        told: &mut Option<Result<String, Faults>>,
        asked: bool,
    ) {
        let Some(Found { sources, what }) = self.at_rest().await else {
            return tell(
                "warning: the rule files keep changing; they are taken up once they are at rest",
            );
        };
        if told.as_ref() == Some(&what) && !asked {
            return;
        }
        let digest = match &what {
            Ok(digest) => digest,
            Err(faults) => {
                self.note("file", faults);
                *told = Some(what);
                return;
            }
        };
        let is_live = self.book().file.as_ref() == Some(digest);
        if is_live && (!asked || self.live().source == Origin::File) {
            self.mended("file");
            *told = Some(what);
            return;
        }
        if self.fleet.is_some() {
            self.book().file = Some(digest.clone());
            tell(
                "the rule file has changed, and only seeds the rules of the fleet: nothing has changed",
            );
        } else {
            self.take_up(sources).await;
        }
        // By another name, if it names other files now.
        let taken = self.book().file.clone();
        *told = Some(match self.last_fault() {
            None => taken.map_or(what, Ok),
            Some(_) => what,
        });
    }

    async fn take_up(self: &Arc<Self>, sources: Vec<Source>) {
        let draft = move |live: &super::Release| {
            Ok(Draft {
                source: Origin::File,
                by: None,
                change: "file".into(),
                sources: sources.clone(),
                overrides: live.overrides.clone(),
                trusted: true,
                needs_last: false,
            })
        };
        match self.change(|_| true, draft).await {
            Ok(accepted) => {
                self.mended("file");
                for rule in &accepted.left_out {
                    tell(&format!("warning: an override of {rule} no longer fits, and is gone"));
                }
                let fields = accepted.restart.join(", ");
                if !fields.is_empty() && self.book().restart != accepted.restart {
                    tell(&format!("warning: restart the server for what has changed of {fields}"));
                }
                self.book().restart = accepted.restart;
            }
            Err(Refused::Faults(faults)) => self.note("file", &faults),
            Err(_) => {}
        }
    }
}

/// Watches the folder of a file.
pub(super) fn watcher(sender: Sender<()>, path: Option<&Path>) -> Option<RecommendedWatcher> {
    let matters = |kind: &EventKind| match kind {
        EventKind::Access(access) => *access == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    let heard = move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| matters(&event.kind)) {
            // One that is waiting stands for all that follow.
            let _ = sender.try_send(());
        }
    };
    let watcher = notify::recommended_watcher(heard).and_then(|mut watcher| {
        for folder in path.map(folders).unwrap_or_default() {
            watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
        Ok(watcher)
    });
    if let Err(error) = &watcher {
        let text = format!("they are looked at every {} s instead", POLL.as_secs());
        tell(&format!("warning: files cannot be watched: {error}; {text}"));
    }
    watcher.ok()
}

/// The folders in which something may change: that of the file, and that which a link leads to.
fn folders(path: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for path in [Some(path.to_owned()), fs::canonicalize(path).ok()].into_iter().flatten() {
        let folder = if path.is_dir() { path } else { parent(&path) };
        folders.extend(folder.is_dir().then_some(folder));
    }
    folders
}

/// The folder that a file is in.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
