//! The buckets of the memory store in a file, so that a restart is no amnesty.
//!
//! Invariant: the file is whole or not there. Only its owner can read it, since it holds the key of the hashes
//! of keys.

use crate::config::{bytes, shown};
use crate::life::{Life, Phase};
use crate::whole;
use ratekeeper::Limiter;
use ratekeeper::limiter::Saved;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Its name in the folder of the state.
pub const NAME: &str = "memory.state";

/// Longest time between two writes: what a crash can lose.
pub const EVERY: Duration = Duration::from_secs(10);

/// Largest file that is read.
const BYTES_MAX: usize = 8 << 30;

/// The file in its folder.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    folder: PathBuf,
    /// Held while it is written, since there is one place beside it.
    writing: Arc<Mutex<()>>,
}

impl MemoryFile {
    /// In this folder, which is made if it is not there.
    pub fn open(folder: &Path) -> io::Result<MemoryFile> {
        whole::folder(folder)?;
        Ok(MemoryFile { folder: folder.to_owned(), writing: Arc::default() })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// What was saved; `None` if nothing was. What cannot be read is set aside, and told.
    pub fn read(&self) -> Option<Saved> {
        let path = self.path();
        let read = match bytes(&path, BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => Err(error.to_string()),
            Ok(bytes) => Saved::read(bytes).map_err(|error| error.to_string()),
        };
        match read {
            Ok(saved) => Some(saved),
            Err(error) => {
                let (path, aside) = (shown(&path), whole::set_aside(&path));
                let then = "every key starts with what its rule allows";
                tracing::warn!("{path}: {error}; {aside}, and {then}");
                None
            }
        }
    }

    /// Writes what the limiter holds.
    pub fn write(&self, limiter: &Limiter) -> io::Result<u64> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        whole::write(&self.path(), |out| limiter.save(out))
    }

    /// Writes from time to time, until the server stops.
    pub async fn keep(self, limiter: Limiter, life: Life) {
        let mut well = true;
        loop {
            tokio::select! {
                () = sleep(EVERY) => {}
                () = life.reaches(Phase::Stopping) => return,
            }
            well = self.write_aside(&limiter, well).await;
        }
    }

    /// Writes a last time.
    pub async fn finish(self, limiter: Limiter) {
        self.write_aside(&limiter, true).await;
    }

    /// Writes on a thread that may wait for the disk; tells of the first failure of a row.
    async fn write_aside(&self, limiter: &Limiter, was_well: bool) -> bool {
        let (file, limiter) = (self.clone(), limiter.clone());
        let done = spawn_blocking(move || file.write(&limiter)).await;
        let failed = match done {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        if was_well {
            let (path, then) = (shown(&self.path()), "a restart would forget what keys have used");
            tracing::warn!("{path}: cannot be written: {failed}; {then}");
        }
        false
    }
}
