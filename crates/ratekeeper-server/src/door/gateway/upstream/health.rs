//! Whether an upstream is well.
//!
//! Invariants: one that cannot be reached gets no requests until a look of our own has found it well again, so
//! that no caller's request is the trial; one that only fails to answer is spared while others are well, and
//! asked where it is the last.

use super::super::failure::Failure;
use super::{Upstream, is_ours};
use axum::http::{HeaderValue, header};
use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How often an upstream is looked at that has a path for it, or is not well.
const EVERY: Duration = Duration::from_secs(1);

/// How long a look may take.
const LOOK: Duration = Duration::from_secs(2);

/// Failures in a row after which an upstream is spared.
const FAILURES_MAX: u32 = 5;

/// How often the time for which one is spared is doubled: it is 32 seconds then.
const DOUBLED_MAX: u32 = 5;

/// Looks in a row at the path that fail before an upstream is not well.
const LOOKS_MAX: u32 = 2;

/// Whether an upstream is well.
pub(in super::super) struct Health {
    is_well: AtomicBool,
    /// Whether it is not well only because it failed to answer: it is asked where no other is left.
    is_spared: AtomicBool,
    failures: AtomicU32,
    /// How often in a row it was spared, without an answer in between.
    spells: AtomicU32,
    pub(in super::super) ejections: AtomicU64,
    /// Something has happened that should be looked at.
    doubt: Notify,
}

impl Default for Health {
    fn default() -> Health {
        let (is_well, is_spared) = (AtomicBool::new(true), AtomicBool::new(false));
        let (failures, spells, ejections, doubt) = Default::default();
        Health { is_well, is_spared, failures, spells, ejections, doubt }
    }
}

impl Health {
    /// Whether requests are sent to it.
    pub(in super::super) fn is_well(&self) -> bool {
        self.is_well.load(Ordering::Relaxed)
    }

    /// Whether requests may be sent to it where no other is well.
    pub(in super::super) fn is_spared(&self) -> bool {
        !self.is_well() && self.is_spared.load(Ordering::Relaxed)
    }

    /// How long it is left alone. One that can be reached and does not answer looks well from here, so that
    /// callers have to be the trial: each time half as often.
    pub(in super::super) fn pause(&self, has_path: bool) -> Duration {
        let spells = if has_path { 0 } else { self.spells.load(Ordering::Relaxed) };
        EVERY * 2_u32.pow(spells.saturating_sub(1).min(DOUBLED_MAX))
    }

    /// Sends no more requests to it; whether some were sent before.
    fn eject(&self, name: &str, why: &str) -> bool {
        self.is_spared.store(false, Ordering::Relaxed);
        let was_well = self.is_well.swap(false, Ordering::Relaxed);
        if was_well {
            self.ejections.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(upstream = name, why, "an upstream gets no requests until it is well");
        }
        was_well
    }

    /// Sends no more requests to it while others are well. Those that were under way already may fail behind it,
    /// and are not held against it.
    fn spare(&self, name: &str) {
        if self.is_well() && self.eject(name, "it fails to answer") {
            self.is_spared.store(true, Ordering::Relaxed);
            self.spells.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(in super::super) fn restore(&self, name: &str) {
        self.failures.store(0, Ordering::Relaxed);
        if !self.is_well.swap(true, Ordering::Relaxed) {
            tracing::info!(upstream = name, "an upstream is well again");
        }
    }
}

impl Upstream {
    /// It has failed to answer; whether another one of its route is well.
    pub(in super::super) fn failed(&self, failure: Failure, others: bool) {
        let Some(kind) = failure.kind() else { return };
        self.failures[kind].fetch_add(1, Ordering::Relaxed);
        if matches!(failure, Failure::Refused | Failure::Unreachable) {
            self.health.eject(&self.name, "it cannot be reached");
            return;
        }
        let failures = self.health.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let is_trial = self.health.spells.load(Ordering::Relaxed) > 0;
        if (is_trial || failures >= FAILURES_MAX) && others {
            return self.health.spare(&self.name);
        }
        self.health.doubt.notify_one();
    }

    /// It has answered.
    pub(in super::super) fn answered(&self) {
        let Health { failures, spells, .. } = &self.health;
        if failures.load(Ordering::Relaxed) != 0 || spells.load(Ordering::Relaxed) != 0 {
            spells.store(0, Ordering::Relaxed);
            failures.store(0, Ordering::Relaxed);
        }
        if self.health.is_spared() {
            self.health.restore(&self.name);
        }
    }

    /// An answer of it broke off. That it took too long may be its caller's doing, and is only counted.
    pub(super) fn broke_off(&self, failure: Failure) {
        match failure.kind() {
            Some(kind) if failure == Failure::Late => {
                self.failures[kind].fetch_add(1, Ordering::Relaxed);
            }
            _ => self.failed(failure, false),
        }
    }

    /// Looks at it: asks for the path, or at least connects.
    async fn look(&self, path: Option<&str>) -> bool {
        let look = async {
            let socket = match self.connector.socket().await {
                Ok(socket) => socket,
                // That says nothing about the upstream; it stays as it is.
                Err(error) => return Some(is_ours(&error) && self.health.is_well()),
            };
            let Some(path) = path else { return Some(true) };
            let is_two = self.connector.speaks_two(&socket);
            let host = HeaderValue::from_str(self.connector.authority()).ok()?;
            let uri = match is_two {
                true => {
                    format!("{}://{}{path}", self.connector.scheme(), self.connector.authority())
                }
                false => path.to_owned(),
            };
            let request = Request::get(uri).header(header::USER_AGENT, "ratekeeper");
            let request = if is_two { request } else { request.header(header::HOST, host) };
            let request = request.body(Empty::<Bytes>::new()).ok()?;
            let io = TokioIo::new(socket);
            let response = match is_two {
                true => {
                    let (mut sender, connection) =
                        http2::handshake(TokioExecutor::new(), io).await.ok()?;
                    driven(connection, sender.send_request(request)).await
                }
                false => {
                    let (mut sender, connection) = http1::handshake(io).await.ok()?;
                    driven(connection, sender.send_request(request)).await
                }
            };
            let status = response.ok()?.status();
            Some(status.is_success() || status.is_redirection())
        };
        timeout(LOOK, look).await.ok().flatten().unwrap_or(false)
    }
}

/// What is asked for on a connection that has to be driven meanwhile.
async fn driven<T>(connection: impl Future, asking: impl Future<Output = T>) -> T {
    let mut asking = pin!(asking);
    tokio::select! {
        answer = &mut asking => answer,
        // It may have ended with the answer; whatever became of that is known now.
        _ = connection => asking.await,
    }
}

/// Looks at an upstream for as long as the runtime lives: at its path every second, and otherwise when there
/// is reason to.
pub(in super::super) async fn watch(upstream: Arc<Upstream>, path: Option<String>) {
    let (own, path) = (&*upstream, path.as_deref());
    let (mut failed, mut left) = (0, Duration::ZERO);
    loop {
        own.pool.sweep();
        if !own.health.is_well() {
            left = if left.is_zero() { own.health.pause(path.is_some()) } else { left };
            sleep(EVERY).await;
            left = left.saturating_sub(EVERY);
            if !left.is_zero() {
                continue;
            }
            if own.look(path).await {
                failed = 0;
                own.health.restore(&own.name);
            }
            continue;
        }
        left = Duration::ZERO;
        tokio::select! {
            () = own.health.doubt.notified() => {}
            () = sleep(EVERY) => if path.is_none() { continue },
        }
        failed = if own.look(path).await { 0 } else { failed + 1 };
        if failed >= LOOKS_MAX || failed > 0 && path.is_none() {
            own.health.eject(&own.name, "a look at it failed");
        }
        // What gives reason to look all the time is looked at now and then.
        sleep(EVERY / 4).await;
    }
}
