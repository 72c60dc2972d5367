//! Probes: while the breaker is open, one call at a time finds out whether the server works again.
//!
//! Invariant: there is at most one task that probes; should it end early, as with its runtime, the next
//! call that finds the breaker open starts another.

use super::{CONNECT, Link};
use crate::store::guard::until_probe;
use crate::sync::{Ordering, lock};
use redis::Cmd;
use std::sync::{Arc, Weak};
use tokio::time::{Instant, sleep, timeout};

/// A call that shows whether the server works: a charge of a bucket of its own.
#[derive(Clone)]
pub(in super::super) struct Probe(pub(in super::super) Cmd);

/// The right to probe a server.
pub(super) struct Probing(Weak<Link>);

impl Probing {
    /// Sees to it that somebody probes the server.
    pub(super) fn start(link: &Arc<Link>) {
        if !link.probing.swap(true, Ordering::AcqRel) {
            tokio::spawn(Probing(Arc::downgrade(link)).run());
        }
    }

    /// Probes the server until it works again, and closes the breaker.
    async fn run(self) {
        loop {
            let Some(wait) = self.0.upgrade().map(|link| until_probe(link.random())) else {
                return;
            };
            sleep(wait).await;
            let Some(link) = self.0.upgrade() else { return };
            if !link.breaker.is_open() {
                return;
            }
            let Some(Probe(command)) = lock(&link.probe).clone() else {
                return link.breaker.close();
            };
            // To connect may take its time; the call has to be as quick as any.
            if let Ok(Ok(_)) = timeout(CONNECT, link.connection()).await
                && link.call(&command, false, Instant::now() + link.config.deadline).await.is_ok()
            {
                return link.breaker.close();
            }
        }
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            link.probing.store(false, Ordering::Release);
        }
    }
}
