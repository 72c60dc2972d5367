//! A server in this process, with a clock that the test moves.
//!
//! Invariant: it is over when the value is dropped.

use ratekeeper::limiter::{Builder, HOLD_TIME, HOLDS_MAX};
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock};
use ratekeeper_server::admin::Admin;
use ratekeeper_server::app::Parts;
use ratekeeper_server::demo;
use ratekeeper_server::door::Doors;
use ratekeeper_server::life::Phase;
use ratekeeper_server::observe::Observe;
use ratekeeper_server::serve::{Bounds, run};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How many reservations by name there may be, and for how long.
#[derive(Clone, Copy)]
pub(crate) struct Holds(usize, Duration);

impl Default for Holds {
    fn default() -> Holds {
        Holds(HOLDS_MAX, HOLD_TIME)
    }
}

impl Holds {
    pub(crate) fn new(most: usize, time: Duration) -> Holds {
        Holds(most, time)
    }
}

/// A server with the demo rules, or more.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) clock: ManualClock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with(Bounds::default())
    }

    pub(crate) fn with(bounds: Bounds) -> Server {
        Server::of(
            demo::rules(Limiter::memory()).expect("the demo rules are rules"),
            Holds::default(),
            bounds,
        )
    }

    /// With rules beside those of the demo: `exports`, 4 at a time, each for a minute, and `tokens`,
    /// 100 in a minute.
    pub(crate) fn more(holds: Holds) -> Server {
        let window = Limit::per_minute(100).algorithm(Algorithm::FixedWindow);
        let builder = demo::rules(Limiter::memory())
            .and_then(|builder| builder.rule("exports", Limit::concurrent(4)))
            .and_then(|builder| builder.rule("tokens", window));
        Server::of(builder.expect("these are rules"), holds, Bounds::default())
    }

    /// By the rules of a file that names no others.
    pub(crate) fn by(text: &str) -> Server {
        let file = RuleFile::parse(text).expect("the file is fine");
        let builder = Limiter::from_file(file).expect("its store is memory");
        Server::of(builder, Holds::default(), Bounds::default())
    }

    /// With the demo rules, administered by these.
    pub(crate) fn administered(admin: Admin) -> Server {
        let rules = demo::rules(Limiter::memory()).expect("the demo rules are rules");
        Server::set_up(rules, Holds::default(), Bounds::default(), |parts| Parts { admin, ..parts })
    }

    /// With rules of its own.
    pub(crate) fn of(builder: Builder, holds: Holds, bounds: Bounds) -> Server {
        Server::set_up(builder, holds, bounds, |parts| parts)
    }

    /// With rules of its own, and whatever else is set up.
    pub(crate) fn set_up(
        builder: Builder,
        holds: Holds,
        bounds: Bounds,
        set_up: impl FnOnce(Parts) -> Parts,
    ) -> Server {
        Server::on_threads(2, builder, holds, bounds, set_up)
    }

    /// With one thread to answer all: whoever holds it up holds everybody up.
    pub(crate) fn on_one_thread(text: &str) -> Server {
        let file = RuleFile::parse(text).expect("the file is fine");
        let builder = Limiter::from_file(file).expect("its store is memory");
        Server::on_threads(1, builder, Holds::default(), Bounds::default(), |parts| parts)
    }

    fn on_threads(
        threads: usize,
        builder: Builder,
        holds: Holds,
        bounds: Bounds,
        set_up: impl FnOnce(Parts) -> Parts,
    ) -> Server {
        let clock = ManualClock::new();
        let observe = Arc::<Observe>::default();
        let builder = builder.clock(&clock).holds(holds.0, holds.1);
        let limiter = builder.observer(observe.observer()).build();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let parts = Parts { observe, ..Parts::new(limiter, bounds.body) };
        let life = parts.life.clone();
        let doors = Doors::all(set_up(parts).into());
        let thread = std::thread::spawn(move || {
            runtime.block_on(run(listener, doors, bounds, |_| false, async {
                let _ = stopped.await;
                life.go(Phase::Stopping);
            }));
        });
        Server { address, clock, stop: Some(stop), thread: Some(thread) }
    }

    /// The address as `--url` takes it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks it to stop; returns at once.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
    }

    /// Whether it is over before the deadline.
    pub(crate) fn is_over(&self) -> bool {
        crate::program::poll(|| {
            self.thread.as_ref().is_none_or(JoinHandle::is_finished).then_some(())
        })
        .is_some()
    }

    /// Waits until nobody listens any more.
    pub(crate) fn closes(&self) -> bool {
        crate::program::closes(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A server that does not stop is reported by `is_over`, not by a test that hangs.
            for _ in 0..1_500 {
                if thread.is_finished() {
                    break;
                }
                sleep(Duration::from_millis(10));
            }
        }
    }
}
