//! The operator's files: when to look at them.
//!
//! The folder is watched, since a file that is replaced, or a link that is swapped, is another file. Invariant: a look
//! now and then finds what a watch misses, as on network file systems.

use super::fleet::{RULES, SWITCHES};
use super::look::Told;
use super::{Rulebook, tell};
use crate::config::listed;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{MissedTickBehavior, interval};

/// How often everyone looks without being told.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// Most files that are known to be open. Of others nobody knows it.
const WRITING_MAX: usize = 1_000;

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
        let book = Arc::clone(&self);
        let watcher =
            watcher(self.ground.path.as_deref(), sender, move |event| book.matters(event));
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut stamp = self.stamp().await;
        let mut told = Told::after_start(self.book().refused.clone());
        // What changed between the start and the first event.
        self.look_at_files(&mut told, false).await;
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                Some(()) = events.recv() => false,
                Some(()) = async { hangup.as_mut()?.recv().await }, if hangup.is_some() => true,
                _ = poll.tick() => {
                    self.keep_again().await;
                    let now = self.stamp().await;
                    if std::mem::replace(&mut stamp, now.clone()) == now {
                        continue;
                    }
                    false
                }
            };
            let _alive = &watcher;
            self.look_at_files(&mut told, asked).await;
        }
    }

    /// Writes down what could not be written before.
    async fn keep_again(self: &Arc<Self>) {
        if self.is_stuck() {
            let book = Arc::clone(self);
            let _ = tokio::task::spawn_blocking(move || book.keep()).await;
        }
    }

    /// Notes who has a file open to write into it; whether what happened is a reason to look.
    fn matters(&self, event: notify::Event) -> bool {
        let mut writing = self.open_files();
        match event.kind {
            EventKind::Modify(ModifyKind::Data(_)) => {
                let room = WRITING_MAX.saturating_sub(writing.len());
                writing.extend(event.paths.into_iter().take(room));
                true
            }
            EventKind::Modify(ModifyKind::Metadata(_)) => true,
            kind if is_reason(kind) => {
                writing.retain(|path| !event.paths.contains(path));
                true
            }
            _ => false,
        }
    }

    fn open_files(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.open_files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody has one of the files open and has written into it, as far as the watch tells.
    pub(super) async fn is_being_written(self: &Arc<Self>) -> bool {
        let book = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || {
            let open = book.open_files().clone();
            let real = |path: &PathBuf| fs::canonicalize(path).ok();
            let open: BTreeSet<PathBuf> = open.iter().filter_map(real).collect();
            !open.is_empty() && book.files().iter().filter_map(real).any(|own| open.contains(&own))
        });
        looked.await.unwrap_or(false)
    }

    /// All files that are looked at.
    fn files(&self) -> Vec<PathBuf> {
        let path = self.ground.path.as_deref().unwrap_or(Path::new(""));
        let folder = self.ground.folder.clone().unwrap_or_default();
        let mut files = listed(path).map(|(files, _)| files).unwrap_or_default();
        let book = self.book();
        files.extend(book.named.keys().chain(book.wanted.keys()).map(|name| folder.join(name)));
        files
    }

    /// What changes when one of the files does, as far as can be seen without reading them.
    async fn stamp(self: &Arc<Self>) -> Vec<(PathBuf, i64, i64, u64, u64)> {
        let book = Arc::clone(self);
        let stamp = tokio::task::spawn_blocking(move || {
            let stamp = |path: PathBuf| {
                let found = fs::metadata(&path).ok()?;
                Some((path, found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
            };
            book.files().into_iter().filter_map(stamp).collect()
        });
        stamp.await.unwrap_or_default()
    }
}

/// Whether what happened to a file is a reason to look at it.
pub(super) fn is_reason(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Watches the folders in which a file may change: its own, and that which a link leads to.
pub(super) fn watcher(
    path: Option<&Path>,
    sender: Sender<()>,
    matters: impl Fn(notify::Event) -> bool + Send + 'static,
) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<notify::Event>| {
        if event.map_or(true, &matters) {
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
