//! One server behind the gateway: its connections, what is under way with it, and whether it is well.
//!
//! Invariants: a request is sent at most once; what has not been sent comes back to whoever may try another.
//! There is a bound on connections, and each is either busy with one request, kept for the next, or closed.

mod connect;
mod health;
mod link;
mod pool;
mod streamed;
mod two;

pub(super) use health::watch;
pub(super) use link::Link;
use streamed::Source;
pub(super) use streamed::Streamed;

use super::body::Outgoing;
use super::failure::{Failed, Failure, KINDS};
use connect::Connected;
pub(super) use connect::Connector;
pub(super) use health::Health;
use hyper::{Request, Response};
use link::Apart;
use pool::Pool;
use ratekeeper::rule::file::{Timeouts, Upstream as Place};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use two::Shared;

/// Most requests that are under way with one upstream. Beyond it: 503.
const IN_FLIGHT_MAX: usize = 10_000;

/// A server behind the gateway.
pub(super) struct Upstream {
    /// Where it is, as metrics and logs name it.
    pub(super) name: Box<str>,
    connector: Connector,
    pub(super) health: Health,
    pool: Pool,
    /// The connections that many requests share, where both speak HTTP/2.
    shared: Shared,
    in_flight: AtomicUsize,
    pub(super) failures: [AtomicU64; KINDS.len()],
    pub(super) retries: AtomicU64,
}

/// When a request began, and how long it may take.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) begun: Instant,
    /// Since when an upstream is asked that can answer.
    pub(super) asked: Instant,
    /// When all of it has to be over.
    pub(super) until: Instant,
    connect: Duration,
    pub(super) first_byte: Duration,
    pub(super) idle: Duration,
}

impl Times {
    /// Of a request that begins now.
    pub(super) fn new(timeouts: &Timeouts) -> Times {
        let begun = Instant::now();
        let Timeouts { connect, first_byte, idle, total } = *timeouts;
        Times { begun, asked: begun, until: begun + total, connect, first_byte, idle }
    }

    /// The same, of which an upstream is asked now.
    pub(super) fn asked_now(self) -> Times {
        Times { asked: Instant::now(), ..self }
    }
}

/// The answer to a request, or the connection that it has become.
pub(super) enum Answered {
    Streams(Response<Box<Streamed>>),
    /// After 101: the answer, and the connection with what was read of it.
    Upgraded(Response<()>, Box<Link>, UnderWay),
}

/// A request that is under way with an upstream.
pub(super) struct UnderWay {
    upstream: Arc<Upstream>,
    /// Whether it is counted by this.
    counts: bool,
    /// Its place on a connection that is shared; only kept.
    _token: Option<Arc<()>>,
}

impl UnderWay {
    /// The same, on a connection that is shared.
    fn with(mut self, token: Arc<()>) -> UnderWay {
        self._token = Some(token);
        self
    }

    /// What follows its answer; the request counts until this is gone.
    fn follow(&mut self) -> UnderWay {
        let counts = std::mem::take(&mut self.counts);
        UnderWay { upstream: Arc::clone(&self.upstream), counts, _token: None }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.counts {
            self.upstream.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Upstream {
    /// One that has not been asked yet. All of them share `places` for connections.
    pub(super) fn new(place: &Place, connector: Connector, places: &Arc<Semaphore>) -> Upstream {
        Upstream {
            name: place.to_string().into(),
            connector,
            health: Health::default(),
            pool: Pool::new(places),
            shared: Shared::default(),
            in_flight: AtomicUsize::new(0),
            failures: Default::default(),
            retries: AtomicU64::new(0),
        }
    }

    /// Requests that are under way with it.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// A request is under way from now on.
    pub(super) fn enter(self: &Arc<Self>) -> UnderWay {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay { upstream: Arc::clone(self), counts: true, _token: None }
    }

    /// Connections that are kept for the next request, and those that are there at all.
    pub(super) fn connections(&self) -> (usize, usize) {
        self.pool.counts()
    }

    /// Asks it, once.
    pub(super) async fn ask(
        self: &Arc<Self>,
        mut request: Box<Request<Outgoing>>,
        times: Times,
    ) -> Result<Answered, Failed> {
        if self.in_flight() >= IN_FLIGHT_MAX {
            let unsent = Some(request);
            return Err(Failed { failure: Failure::Crowded, unsent });
        }
        // A connection that was kept may have been closed meanwhile: then nothing of the request is out, and
        // it goes on the next.
        if let Some(seat) = self.shared.get() {
            two::address(&mut request, self.connector.scheme(), self.connector.authority());
            match two::ask(seat, request, times, self.enter()).await {
                Err(Failed { failure: Failure::Closed, unsent: Some(unsent) }) => request = unsent,
                answered => return answered,
            }
        }
        let under_way = self.enter();
        link::address(&mut request, self.connector.authority());
        while let Some(link) = self.pool.take(times.begun) {
            match link.ask(request, times).await {
                Ok((response, link)) => {
                    return Ok(answered(response, link, times, under_way));
                }
                Err(Failed { failure: Failure::Closed, unsent: Some(unsent) }) => request = unsent,
                Err(failed) => return Err(failed),
            }
        }
        match self.connect(times).await {
            Ok(Connected::One(link)) => {
                let (response, link) = link.ask(request, times.asked_now()).await?;
                Ok(answered(response, link, times, under_way))
            }
            Ok(Connected::Two(sender)) => {
                two::address(&mut request, self.connector.scheme(), self.connector.authority());
                two::ask(self.shared.set(sender), request, times.asked_now(), under_way).await
            }
            Err(failure) => Err(Failed { failure, unsent: Some(request) }),
        }
    }

    /// A connection that is new.
    async fn connect(&self, times: Times) -> Result<Connected, Failure> {
        let place = self.pool.place().ok_or(Failure::Crowded)?;
        let until = times.until.min(Instant::now() + times.connect);
        let connected = timeout_at(until, self.connector.connect(place)).await;
        let refused = |error: io::Error| match is_ours(&error) {
            true => Failure::Crowded,
            false => Failure::Refused,
        };
        connected.map_err(|_| Failure::Unreachable)?.map_err(refused)
    }
}

/// Whether there is no connection because of this machine: too many open files, or no port left.
fn is_ours(error: &io::Error) -> bool {
    // As Linux numbers them: ENFILE, EMFILE, EADDRNOTAVAIL.
    matches!(error.raw_os_error(), Some(23 | 24 | 99))
}

/// What became of a request that was answered on a connection of its own.
fn answered(
    response: Response<()>,
    link: Box<Link>,
    times: Times,
    mut under_way: UnderWay,
) -> Answered {
    if link::is_switching(&response) {
        return Answered::Upgraded(response, link, under_way);
    }
    let source = match link.is_sending() {
        true => Source::Apart(Apart::new(link, times, under_way.follow())),
        false => Source::One(link),
    };
    Answered::Streams(response.map(|()| Streamed::new(source, times, under_way)))
}
