//! An answer that came before all of its request was sent.
//!
//! Both go on in a task of their own: what is still to be sent goes on its way whether or not the caller takes
//! the answer. Invariant: a request that its caller leaves unfinished is cut off at the upstream, too.

use super::super::super::failure::Failure;
use super::super::UnderWay;
use super::Link;
use super::sends::Stopped;
use bytes::Bytes;
use hyper::body::Frame;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, timeout_at};

/// A piece of an answer; none at its end.
type Piece = Option<Result<Frame<Bytes>, Failure>>;

/// An answer whose connection is driven by a task of its own.
pub(in super::super) struct Apart(Receiver<Piece>);

impl Apart {
    /// Lets a connection go on by itself until then; its request is under way until both are over.
    pub(in super::super) fn new(link: Box<Link>, until: Instant, under_way: UnderWay) -> Apart {
        let (pieces, taken) = mpsc::channel(1);
        tokio::spawn(async move {
            let _ = timeout_at(until, run(link, pieces)).await;
            drop(under_way);
        });
        Apart(taken)
    }

    /// The next piece of the answer; none behind its end.
    pub(in super::super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Piece> {
        // Without an end it was cut off.
        let cut = Some(Err(Failure::Closed));
        self.0.poll_recv(context).map(|piece| piece.unwrap_or(cut))
    }
}

/// Sends the request and reads the answer, until both are over.
async fn run(link: Box<Link>, pieces: Sender<Piece>) {
    let link = Mutex::new(link);
    let sending = async {
        match poll_fn(|context| lock(&link).poll_send(context)).await {
            Err(Stopped::ByCaller) => Err(Stopped::ByCaller),
            Ok(()) | Err(Stopped::ByUpstream) => Ok(()),
        }
    };
    let reading = async {
        loop {
            let piece = poll_fn(|context| lock(&link).poll_piece(context)).await;
            let is_last = !matches!(piece, Some(Ok(_)));
            // Who does not want it leaves it; the upstream may want to be rid of it before it reads on.
            let _ = pieces.send(piece).await;
            if is_last {
                return Ok(());
            }
        }
    };
    let _ = tokio::try_join!(sending, reading);
}

fn lock(link: &Mutex<Box<Link>>) -> MutexGuard<'_, Box<Link>> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}
