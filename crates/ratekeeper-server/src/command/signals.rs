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

/// Where people are told that a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// Nowhere: a program reads along.
    Nobody,
    /// Where it told that it began.
    Output,
    /// Beside the access log, which has the output for itself.
    Error,
}

impl Tells {
    /// Says a line; it goes on without anyone to read it.
    pub(super) fn say(self, line: &str) {
        let _ = match self {
            Tells::Nobody => Ok(()),
            Tells::Output => writeln!(io::stdout(), "{line}"),
            Tells::Error => writeln!(io::stderr(), "{line}"),
        };
    }
}

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

    /// Leads a server to its end, and tells so.
    pub(super) async fn lead(mut self, life: Life, drain: Duration, tells: Tells) {
        let by_hand = self.next().await;
        life.go(Phase::Leaving);
        let left = Wait(drain);
        tells.say(&format!("stopping: requests under way have {left} to finish"));
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
