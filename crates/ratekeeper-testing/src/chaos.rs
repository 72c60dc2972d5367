//! A proxy on loopback that does to connections what bad networks do: delay, a low rate, loss, cuts.
//!
//! It runs on a thread of its own and is controlled while it runs, each direction by itself. Invariant:
//! bytes keep their order, and none passes after one that was lost; it ends with its handle, and so do
//! all its connections.

mod connection;
mod pump;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From who connected to who was meant.
    ToServer,
    /// And back.
    ToClient,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::ToServer, Direction::ToClient];
}

/// What becomes of bytes that go one way. The default is that they pass at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// How long each byte takes at least, from when it was read.
    pub delay: Duration,
    /// How much longer it may take, by the seed.
    pub jitter: Duration,
    /// Bytes in a second; none is as many as can be.
    pub rate: Option<u64>,
    /// Bytes wait here until this is over.
    pub held: bool,
    /// Bytes are lost. A connection that has lost some passes none any more.
    pub black_hole: bool,
    /// A connection ends, both ways, when it has passed so many bytes this way.
    pub cut_after: Option<u64>,
}

impl Way {
    /// With this delay.
    pub fn delayed(delay: Duration) -> Way {
        Way { delay, ..Way::default() }
    }
}

/// The proxy.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the handle and the connections have in common.
#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    seed: u64,
    ways: [watch::Sender<Way>; 2],
    /// How often all connections were reset.
    resets: watch::Sender<u64>,
    accepts: AtomicU64,
    lost: AtomicU64,
}

impl Proxy {
    /// Starts one before a server; what is left to chance falls as the seed says.
    pub fn start(target: SocketAddr, seed: u64) -> Proxy {
        // Bound here, so that who has the handle can connect; whoever starts it may be in a runtime.
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be told not to block");
        let address = listener.local_addr().expect("it is bound");
        let ways = [watch::Sender::default(), watch::Sender::default()];
        let resets = watch::Sender::default();
        let (accepts, lost) = (AtomicU64::new(0), AtomicU64::new(0));
        let shared = Arc::new(Shared { target, seed, ways, resets, accepts, lost });
        let (stop, stopped) = oneshot::channel();
        let connections = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("the system gives a runtime").block_on(async {
                tokio::select! {
                    () = connection::accept(listener, connections) => {}
                    // The handle is gone.
                    _ = stopped => {}
                }
            });
        });
        Proxy { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `redis://127.0.0.1:port/0`.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address)
    }

    /// From now on bytes that go this way fare like this. The delay is that of bytes that are read from
    /// now on; all else holds for those under way, too.
    pub fn set(&self, direction: Direction, way: Way) {
        self.shared.way(direction).send_replace(way);
    }

    /// The same both ways.
    pub fn set_both(&self, way: Way) {
        Direction::ALL.into_iter().for_each(|direction| self.set(direction, way));
    }

    /// Changes what is said of one way, and leaves the rest.
    pub fn change(&self, direction: Direction, change: impl FnOnce(&mut Way)) {
        self.shared.way(direction).send_modify(change);
    }

    /// Bytes stop here, both ways, and wait: a network that is cut in two.
    pub fn hold(&self) {
        Direction::ALL
            .into_iter()
            .for_each(|direction| self.change(direction, |way| way.held = true));
    }

    /// They go on.
    pub fn release(&self) {
        Direction::ALL
            .into_iter()
            .for_each(|direction| self.change(direction, |way| way.held = false));
    }

    /// Ends all connections that there are by a reset (`SO_LINGER` 0), on both sides.
    pub fn reset(&self) {
        self.shared.resets.send_modify(|resets| *resets += 1);
    }

    /// How many connections there were.
    pub fn accepts(&self) -> u64 {
        self.shared.accepts.load(Ordering::Acquire)
    }

    /// How many bytes were lost in black holes.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn way(&self, direction: Direction) -> &watch::Sender<Way> {
        &self.ways[direction as usize]
    }
}
