//! One way of a connection: bytes are read, wait until they are due, and pass.
//!
//! Invariant: no bytes pass before those that were read earlier, nor after some that were lost.

use super::Way;
use crate::dice::Dice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// Bytes that pass as one.
const PIECE: usize = 4_096;

/// Pieces under way. At the bound no more is read, as with a link whose buffers are full.
const PIECES_MAX: usize = 4_096;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides have said all.
    Whole,
    /// It has passed as many bytes as it may.
    Cut,
    /// One side was reset, or all were.
    Reset,
}

/// Some bytes that were read, and when they may pass; none are the end.
struct Piece {
    due: Instant,
    bytes: Vec<u8>,
}

/// Passes bytes until there are no more; an error is what else has ended it.
pub(super) async fn pump(
    (from, to): (ReadHalf<'_>, WriteHalf<'_>),
    (way, lost): (watch::Receiver<Way>, &AtomicU64),
    dice: Dice,
) -> Result<(), End> {
    let (pieces, arrived) = mpsc::channel(PIECES_MAX);
    let taken = take(from, pieces, way.clone(), dice);
    tokio::try_join!(taken, pass(to, arrived, way, lost)).map(|_| ())
}

async fn take(
    mut from: ReadHalf<'_>,
    pieces: mpsc::Sender<Piece>,
    way: watch::Receiver<Way>,
    mut dice: Dice,
) -> Result<(), End> {
    let mut last = Instant::now();
    loop {
        let mut bytes = vec![0; PIECE];
        let read = from.read(&mut bytes).await.map_err(|_| End::Reset)?;
        bytes.truncate(read);
        let Way { delay, jitter, .. } = *way.borrow();
        let jitter = u64::try_from(jitter.as_micros()).unwrap_or(u64::MAX - 1);
        let due = Instant::now() + delay + Duration::from_micros(dice.below(jitter + 1));
        // A lucky throw does not overtake.
        last = last.max(due);
        if pieces.send(Piece { due: last, bytes }).await.is_err() || read == 0 {
            return Ok(());
        }
    }
}

async fn pass(
    mut to: WriteHalf<'_>,
    mut arrived: mpsc::Receiver<Piece>,
    mut way: watch::Receiver<Way>,
    lost: &AtomicU64,
) -> Result<(), End> {
    let (mut passed, mut free, mut loses) = (0, Instant::now(), false);
    while let Some(mut piece) = arrived.recv().await {
        wait(piece.due).await;
        let rate = way.borrow().rate;
        if let Some(rate) = rate {
            free = free.max(Instant::now()) + time_of(piece.bytes.len(), rate);
        }
        wait(free).await;
        // An end of the sender means that the proxy ends.
        let now = *way.wait_for(|way| !way.held).await.map_err(|_| End::Reset)?;
        loses |= now.black_hole;
        if loses {
            lost.fetch_add(piece.bytes.len() as u64, Ordering::AcqRel);
            continue;
        }
        if piece.bytes.is_empty() {
            let _ = to.shutdown().await;
            return Ok(());
        }
        let left = now.cut_after.map(|most| usize::try_from(most.saturating_sub(passed)));
        let left = left.and_then(Result::ok).unwrap_or(usize::MAX);
        let cut = piece.bytes.len() >= left;
        piece.bytes.truncate(left);
        to.write_all(&piece.bytes).await.map_err(|_| End::Reset)?;
        passed += piece.bytes.len() as u64;
        if cut {
            return Err(End::Cut);
        }
    }
    Ok(())
}

/// Timers are a millisecond late as often as not: what is due does not wait for one.
async fn wait(until: Instant) {
    if until > Instant::now() {
        sleep_until(until).await;
    }
}

/// How long so many bytes take.
fn time_of(bytes: usize, rate: u64) -> Duration {
    let nanos = bytes as u128 * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
