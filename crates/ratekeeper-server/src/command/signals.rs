//! What the system tells a server to do.
//!
//! Invariant: the first signal ends it in order, the second at once.

use super::Failure;
use crate::life::{Life, Phase};
use ratekeeper::decision::Wait;
use std::io::{self, Write};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// How long a server that was told to end goes on answering, so that whoever sends it traffic sees that it
/// is no longer ready.
pub(super) const LEAVE: Duration = Duration::from_secs(2);

/// Signals that end a server.
pub(super) struct Signals {
    /// From whoever sits before it: nobody has to be told.
    interrupt: Signal,
    /// From whoever runs it.
    terminate: Signal,
    /// Listened for from the start, so that it never ends the server; what reads files has its own.
    _hangup: Signal,
}

impl Signals {
    /// Listens from now on.
    pub(super) fn new() -> Result<Signals, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(format!("cannot listen for signals: {error}; try again"))
            })
        };
        let interrupt = listen(SignalKind::interrupt())?;
        let (terminate, _hangup) =
            (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        Ok(Signals { interrupt, terminate, _hangup })
    }

    /// Leads a server to its end, and tells so, if there are people to tell.
    pub(super) async fn lead(mut self, life: Life, drain: Duration, tells: bool) {
        let by_hand = self.next().await;
        life.go(Phase::Leaving);
        if tells {
            let left = Wait(drain);
            let _ = writeln!(io::stdout(), "stopping: requests under way have {left} to finish");
        }
        let leave = if by_hand { Duration::ZERO } else { LEAVE };
        tokio::select! {
            () = sleep(leave) => {}
            _ = self.next() => life.go(Phase::Cut),
        }
        life.go(Phase::Stopping);
        self.next().await;
        life.go(Phase::Cut);
    }

    /// Whether the next one came by hand.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
        }
    }
}
