//! The file of tokens: what is written there counts, also after the start.
//!
//! Invariant: a change is taken up only when two readings agree; a file that makes no sense changes nothing, and is
//! told once.

use super::{Access, Admin, Tokens};
use crate::config::Fault;
use crate::observe::logs::plain;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long it has to be as it is before it is believed.
const QUIET: Duration = Duration::from_millis(100);

impl Admin {
    /// Follows the file that the tokens are from, for as long as the runtime lives.
    pub async fn follow(self, path: PathBuf) {
        let Access::Tokens(live) = &self.access else { return };
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut seen = Ok(live.load_full());
        loop {
            let asked = tokio::select! {
                Some(()) = async { hangup.as_mut()?.recv().await }, if hangup.is_some() => true,
                () = sleep(LOOK) => false,
            };
            let found = read(&path).await;
            if found == seen && !asked {
                continue;
            }
            sleep(QUIET).await;
            if read(&path).await != found {
                // It is being written; the next look finds it whole.
                continue;
            }
            match &found {
                Ok(tokens) if *tokens != *live.load() => {
                    live.store(Arc::clone(tokens));
                    tracing::info!("the tokens of administrators have changed");
                }
                Ok(_) => {}
                Err(fault) => {
                    let fault = plain(&fault.to_string());
                    tracing::warn!(fault, "the tokens of administrators are as they were");
                }
            }
            seen = found;
        }
    }
}

async fn read(path: &Path) -> Result<Arc<Tokens>, Fault> {
    let (own, late) = (path.to_owned(), |_| Fault::of(path, "could not be read", "try again"));
    spawn_blocking(move || Tokens::open(&own)).await.map_err(late)?.map(Arc::new)
}
