//! An answer that came before all of its request was sent.
//!
//! Both go on in a task of their own: what is still to be sent goes on its way whether or not the caller takes
//! the answer. Invariants: a request that its caller leaves unfinished is cut off at the upstream, too; an upstream
//! that takes nothing of it, or whose answer nobody wants any more, is not waited for.

use super::super::super::body::Fate;
use super::super::super::failure::Failure;
use super::super::{Times, UnderWay};
use super::Link;
use super::sends::Stopped;
use bytes::Bytes;
use hyper::body::Frame;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{sleep, timeout_at};

/// A piece of an answer; none at its end.
type Piece = Option<Result<Frame<Bytes>, Failure>>;

/// How long an upstream may take nothing of a request once its answer is over.
const LINGER: Duration = Duration::from_secs(5);

/// An answer whose connection is driven by a task of its own.
pub(in super::super) struct Apart {
    pieces: Receiver<Piece>,
    fate: Fate,
}

impl Apart {
    /// Lets a connection go on by itself; its request is under way until both are over.
    pub(in super::super) fn new(link: Box<Link>, times: Times, under_way: UnderWay) -> Apart {
        let fate = link.request.as_ref().map_or_else(Fate::default, |own| own.body().fate());
        let (sender, pieces) = mpsc::channel(1);
        tokio::spawn(async move {
            let _ = timeout_at(times.until, run(link, sender, times.idle)).await;
            drop(under_way);
        });
        Apart { pieces, fate }
    }

    /// The next piece of the answer; none behind its end.
    pub(in super::super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Piece> {
        self.pieces.poll_recv(context).map(|piece| {
            // Without an end it was cut off, perhaps because of the request.
            piece.unwrap_or_else(|| Some(Err(self.fate.fault().unwrap_or(Failure::Closed))))
        })
    }
}

/// Sends the request and reads the answer, until both are over, or one of them is and nobody wants the other.
async fn run(link: Box<Link>, pieces: Sender<Piece>, idle: Duration) {
    let link = Mutex::new(link);
    let mut sending = pin!(poll_fn(|context| lock(&link).poll_send(context)));
    let mut reading = pin!(async {
        loop {
            let piece = poll_fn(|context| lock(&link).poll_piece(context)).await;
            let is_last = !matches!(piece, Some(Ok(_)));
            // Who does not want it leaves it; the upstream may want to be rid of it before it reads on.
            let _ = pieces.send(piece).await;
            if is_last {
                return;
            }
        }
    });
    tokio::select! {
        sent = &mut sending => if sent != Err(Stopped::ByCaller) {
            tokio::select! {
                () = &mut reading => {}
                () = pieces.closed() => {}
            }
        },
        () = &mut reading => {
            tokio::select! {
                _ = &mut sending => {}
                () = is_stuck(&link, LINGER) => {}
            }
        }
        () = is_stuck(&link, idle) => {}
    }
}

/// Waits until the upstream has taken nothing for so long of what it is to be sent.
async fn is_stuck(link: &Mutex<Box<Link>>, patience: Duration) {
    let mut before = None;
    loop {
        let now = lock(link).out.stuck_at();
        if now.is_some() && now == before {
            return;
        }
        before = now;
        sleep(patience).await;
    }
}

fn lock(link: &Mutex<Box<Link>>) -> MutexGuard<'_, Box<Link>> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}
