//! The switch file: seen when it changes, in effect once it is whole.
//!
//! Invariant: it waits for nothing but itself: no rule file that is being written, and no release in the making.

use super::watch::{POLL, is_reason, watcher};
use super::{Rulebook, switches};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How long it has to be as it is before it is believed: it is short, and written in an emergency.
const QUIET: Duration = Duration::from_millis(100);

/// Readings of a file that keeps changing, before it is believed nevertheless.
const READINGS_MAX: usize = 100;

impl Rulebook {
    /// Follows the file for as long as the runtime lives.
    pub(super) async fn watch_switches(self: Arc<Self>, path: PathBuf) {
        let (sender, mut events) = mpsc::channel(1);
        // Dropped, it would watch no longer.
        let watcher = watcher(Some(&path), sender, |event| is_reason(event.kind));
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut asked = false;
        loop {
            let _alive = &watcher;
            self.look_at_switches(&path, asked).await;
            asked = tokio::select! {
                Some(()) = events.recv() => false,
                Some(()) = async { hangup.as_mut()?.recv().await }, if hangup.is_some() => true,
                // Small enough to be read each time.
                () = sleep(POLL) => false,
            };
        }
    }

    /// Takes it over, if it is not what it was, or if somebody asked for it.
    async fn look_at_switches(self: &Arc<Self>, path: &Path, asked: bool) {
        let mut seen = contents(path).await;
        if seen == self.book().switch_file && !asked {
            return;
        }
        for _ in 0..READINGS_MAX {
            sleep(QUIET).await;
            let again = contents(path).await;
            if again == seen {
                break;
            }
            seen = again;
        }
        let (book, path) = (Arc::clone(self), path.to_owned());
        let taken = spawn_blocking(move || book.filed(&path, seen, book.now()));
        // What it says of a fault is told by itself.
        let _ = taken.await;
    }
}

async fn contents(path: &Path) -> Option<Vec<u8>> {
    let path = path.to_owned();
    spawn_blocking(move || switches::contents(&path)).await.ok().flatten()
}
