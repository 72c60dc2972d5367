//! A connection that speaks another protocol than HTTP, from the answer that says so to its end.
//!
//! Invariants: nothing that a caller sends behind its request reaches the upstream before the upstream has
//! agreed; a tunnel on which nothing moves ends, and none outlives its time.

use super::upstream::{Link, Times, UnderWay};
use crate::serve::Tunnel;
use crate::socket::Socket;
use hyper::body::Bytes;
use ratekeeper::layer::Held;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, split};
use tokio::time::{sleep, timeout_at};

/// How long one end may go on without a movement after the other has ended.
const LINGER: Duration = Duration::from_secs(5);

/// Looks in that time.
const LOOKS: u32 = 5;

/// What the upstream's end of a tunnel takes with it.
pub(super) struct Open {
    pub(super) link: Box<Link>,
    pub(super) under_way: UnderWay,
    /// What the request holds of concurrency limits.
    pub(super) held: Option<Held>,
    pub(super) times: Times,
}

/// What goes on with the caller's connection.
pub(super) fn tunnel(open: Open) -> Tunnel {
    Box::new(move |caller, read| Box::pin(run(open, caller, read)))
}

async fn run(open: Open, caller: Socket, read: Bytes) {
    let Open { link, under_way, held, times } = open;
    let between = async {
        let (upstream, first, place) = link.into_socket();
        let moves = Arc::<AtomicU64>::default();
        let mut caller = Counted { socket: caller, moves: Arc::clone(&moves) };
        let mut upstream = Counted { socket: upstream, moves: Arc::clone(&moves) };
        let ended = AtomicBool::new(false);
        let copy = async {
            upstream.write_all(&read).await?;
            caller.write_all(&first).await?;
            let (mut from_caller, mut to_caller) = split(&mut caller);
            let (mut from_upstream, mut to_upstream) = split(&mut upstream);
            let there = pass(&mut from_caller, &mut to_upstream, &ended);
            let back = pass(&mut from_upstream, &mut to_caller, &ended);
            tokio::try_join!(there, back)
        };
        tokio::select! {
            _ = copy => {}
            () = is_still(&moves, &ended, times.idle) => {}
        }
        drop(place);
    };
    let _ = timeout_at(times.until, between).await;
    drop((under_way, held));
}

/// Passes on what one end sends, and then that it has ended.
async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    ended: &AtomicBool,
) -> io::Result<()> {
    tokio::io::copy(from, to).await?;
    to.shutdown().await?;
    ended.store(true, Ordering::Relaxed);
    Ok(())
}

/// Waits until nothing has moved for long; not so long once one end has ended.
async fn is_still(moves: &AtomicU64, ended: &AtomicBool, idle: Duration) {
    let step = idle.min(LINGER) / LOOKS;
    let (mut seen, mut quiet) = (0, Duration::ZERO);
    loop {
        let patience = if ended.load(Ordering::Relaxed) { idle.min(LINGER) } else { idle };
        if quiet >= patience {
            return;
        }
        sleep(step).await;
        let now = moves.load(Ordering::Relaxed);
        quiet = if now == seen { quiet + step } else { Duration::ZERO };
        seen = now;
    }
}

/// A connection on which movements are counted.
struct Counted {
    socket: Socket,
    moves: Arc<AtomicU64>,
}

impl Counted {
    fn note<T>(&self, polled: Poll<T>) -> Poll<T> {
        if polled.is_ready() {
            self.moves.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_read(context, into);
        self.note(polled)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.note(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
