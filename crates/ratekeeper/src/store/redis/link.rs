//! The way to one server: a connection that many calls share, made anew when it is lost.
//!
//! Invariants: one attempt to connect at a time, and after failures each waits, at random, for longer;
//! no call waits beyond its deadline; a call of which a byte was written is not written again; a
//! connection that is lost is one failure, however many calls were under way on it.

mod attempt;
mod probe;
mod run;

use super::coalesce::Waiting;
use super::config::{Address, RedisConfig, Servers};
use super::connect::{self, Connection};
use super::error::{Class, StoreError};
use super::random::Random;
use super::script::SCRIPTS;
use super::sentinel;
use crate::store::guard::Breaker;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use attempt::Attempt;
pub(super) use probe::Probe;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How long an attempt to connect may take.
pub(super) const CONNECT: Duration = Duration::from_secs(1);

/// How late this process may be to notice that a call is too late.
const STALL: Duration = Duration::from_millis(10);

/// Most calls under way at one server.
pub(super) const IN_FLIGHT: usize = 1_024;

pub(super) struct Link {
    pub(super) config: Arc<RedisConfig>,
    /// Calls that are to go together.
    pub(super) waiting: Waiting,
    /// The server; where sentinels are asked, they say which.
    address: Option<Address>,
    state: Mutex<State>,
    changed: Notify,
    breaker: Breaker,
    room: Semaphore,
    /// One more than how often each script had been loaded when it was last found missing.
    missing: [AtomicU64; SCRIPTS],
    /// How often each script was loaded, and who loads it now.
    loads: [AtomicU64; SCRIPTS],
    loading: [tokio::sync::Mutex<()>; SCRIPTS],
    probe: Mutex<Option<Probe>>,
    /// Whether somebody probes the server.
    probing: AtomicBool,
    epoch: AtomicU64,
    /// One more than the latest connection that is known to be lost.
    lost: AtomicU64,
    secret: Random,
}

/// What became of a call, and whether it says something new of the server.
struct Outcome {
    answer: Result<Value, StoreError>,
    is_news: bool,
}

enum State {
    Idle,
    Connecting,
    Up(Live),
    Down { failures: u32, until: Instant, error: StoreError },
}

/// A connection, and which of this link's it is.
#[derive(Clone)]
struct Live {
    connection: Connection,
    epoch: u64,
}

impl Link {
    /// To the server at this address, or to the only one, or the master, that the config names.
    pub(super) fn new(config: &Arc<RedisConfig>, address: Option<Address>) -> Arc<Link> {
        Arc::new(Link {
            config: Arc::clone(config),
            waiting: Waiting::default(),
            address,
            state: Mutex::new(State::Idle),
            changed: Notify::new(),
            breaker: Breaker::default(),
            room: Semaphore::new(IN_FLIGHT),
            missing: [const { AtomicU64::new(0) }; SCRIPTS],
            loads: [const { AtomicU64::new(0) }; SCRIPTS],
            loading: [const { tokio::sync::Mutex::const_new(()) }; SCRIPTS],
            probe: Mutex::new(None),
            probing: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            secret: Random::new(config),
        })
    }

    /// What to probe the server with.
    pub(super) fn probe_with(&self, probe: Probe) {
        *lock(&self.probe) = Some(probe);
    }

    pub(super) fn is_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// Proves that the server does our work: it carries a probe out.
    pub(super) async fn prove(self: &Arc<Self>, deadline: Instant) -> Result<(), StoreError> {
        let probe = lock(&self.probe).clone();
        match probe {
            Some(Probe(command)) => self.call(&command, false, deadline).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Makes a call, and drops the connection if that is what its error asks for.
    pub(super) async fn call(
        self: &Arc<Self>,
        command: &Cmd,
        asking: bool,
        deadline: Instant,
    ) -> Result<Value, StoreError> {
        self.exchange(command, asking, deadline).await.answer
    }

    async fn exchange(self: &Arc<Self>, command: &Cmd, asking: bool, deadline: Instant) -> Outcome {
        let mut epoch = None;
        let answer = timeout_at(deadline, async {
            let mut again = true;
            loop {
                let mut live = self.connection().await?;
                epoch = Some(live.epoch);
                let written = live.connection.written();
                let answer = live.connection.send(command, asking).await;
                let lost = matches!(&answer, Err(error) if error.class() == Class::Connection);
                // Nothing went out since, so this did not: it goes by the next connection, once.
                if !(again && lost && live.connection.written() == written) {
                    return answer;
                }
                self.drop_connection(live.epoch);
                again = false;
            }
        });
        let answer = answer.await.unwrap_or_else(|_| Err(self.late()));
        // If we come that late, it was this process that stood still, which says nothing of the server.
        let ours = Instant::now().saturating_duration_since(deadline) > STALL;
        if ours && answer.as_ref().is_err_and(|error| error.class() == Class::Timeout) {
            return Outcome { answer, is_news: false };
        }
        let mut is_news = true;
        if let (Err(error), Some(epoch)) = (&answer, epoch) {
            if error.class() == Class::Connection {
                is_news = self.lost.fetch_max(epoch + 1, Ordering::AcqRel) <= epoch;
            }
            if error.class().policy().drops {
                self.drop_connection(epoch);
            }
        }
        Outcome { answer, is_news }
    }

    /// The connection: as it is, or as soon as it is there.
    async fn connection(self: &Arc<Self>) -> Result<Live, StoreError> {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = lock(&self.state);
                let failures = match &*state {
                    State::Up(live) if live.connection.is_alive() => return Ok(live.clone()),
                    State::Down { until, error, .. } if Instant::now() < *until => {
                        return Err(error.clone());
                    }
                    State::Connecting => None,
                    State::Idle | State::Up(_) => Some(0),
                    State::Down { failures, .. } => Some(*failures),
                };
                if let Some(failures) = failures {
                    *state = State::Connecting;
                    tokio::spawn(Attempt(Arc::clone(self)).run(failures));
                }
            }
            changed.await;
        }
    }

    fn drop_connection(&self, epoch: u64) {
        let mut state = lock(&self.state);
        if matches!(&*state, State::Up(live) if live.epoch == epoch) {
            *state = State::Idle;
        }
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let address = match (&self.address, &self.config.servers) {
            (Some(address), _) => address.clone(),
            (None, Servers::Sentinel(name)) => sentinel::master(&self.config, name).await?,
            (None, _) => self.config.addresses[0].clone(),
        };
        let connection = connect::open(&self.config, &address, true).await?;
        Ok(Live { connection, epoch: self.epoch.fetch_add(1, Ordering::Relaxed) })
    }

    /// The server, as a URL without secrets.
    pub(super) fn place(&self) -> String {
        self.address.as_ref().map_or_else(|| self.config.to_string(), |at| self.config.at(at))
    }

    pub(super) fn error(&self, class: Class, fault: impl Into<String>) -> StoreError {
        StoreError::new(&self.place(), class, fault)
    }

    /// What is told of an answer that did not come in time.
    pub(super) fn late(&self) -> StoreError {
        self.error(Class::Timeout, "did not answer in time")
    }

    /// What is told of an answer that is none of ours.
    pub(super) fn unreadable(&self) -> StoreError {
        let fault =
            "gave an answer that is none of our scripts'; is this a Redis or Valkey server?";
        self.error(Class::Alien, fault)
    }

    fn random(&self) -> u64 {
        self.secret.number(self.epoch.fetch_add(1, Ordering::Relaxed))
    }
}
