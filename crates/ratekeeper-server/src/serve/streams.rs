//! Requests of a connection that has many at a time, each in a task of its own.
//!
//! On such a connection a peer can take nothing of one answer, and of the others all that it likes, so that the
//! connection itself never stands still. Invariant: an answer of which nobody has taken a piece for so long is
//! given up, and with it what it holds.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;
use tokio::time::sleep;

tokio::task_local! {
    static TAKEN: Taken;
}

/// How an answer is taken.
#[derive(Default)]
struct Taken {
    /// Whether a piece was handed over, or the header, and the next has not been asked for.
    waits: Cell<bool>,
    pieces: Cell<u64>,
}

/// Something of an answer was handed over.
pub(super) fn handed() {
    let _ = TAKEN.try_with(|taken| {
        taken.waits.set(true);
        taken.pieces.set(taken.pieces.get() + 1);
    });
}

/// The next piece of an answer is asked for.
pub(super) fn asked() {
    let _ = TAKEN.try_with(|taken| taken.waits.set(false));
}

/// Runs requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    /// For the peer to make room for more of an answer, and at most as much again.
    pub(super) write: Duration,
}

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, request: F) {
        tokio::spawn(TAKEN.scope(Taken::default(), bounded(request, self.write)));
    }
}

async fn bounded(request: impl Future, write: Duration) {
    let mut request = pin!(request);
    let mut before = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut request => return,
            () = sleep(write) => {}
        }
        let (waits, pieces) = TAKEN.with(|taken| (taken.waits.get(), taken.pieces.get()));
        if waits && pieces == before {
            return;
        }
        before = pieces;
    }
}
