//! A charge for somebody who does not wait for long, whatever the store does.
//!
//! Invariant: what was asked of the store goes on to its end, so that a store that hangs is noticed, and shares that
//! come with its answer are held; but only an answer that came in time decides.

use super::{Admitted, Permits, Shared, asks};
use crate::limiter::{Asked, Inner};
use crate::store::redis::Taken;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

impl Inner {
    /// Charges all rules, or none, for somebody who waits until then at most, and for no turn, and has looked already
    /// whether it is decided [here](Self::near). No rule of theirs gives permits.
    pub(in crate::limiter) async fn admit_within(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        until: Instant,
    ) -> Admitted {
        if rules.iter().any(Asked::is_local) {
            shared.nodes.keep(self);
        }
        let (limiter, owned) = (Arc::clone(self), rules.to_vec());
        let asking = tokio::spawn(async move {
            let (asks, own) = (asks(&owned, 0), limiter.shared.as_ref()?);
            let id = own.id(asks.first()?.tag(), Permits::ByName).get();
            let given = limiter.clock.now();
            let taken = Taken { id, record: None, given, hold_most: u64::MAX };
            let charged = limiter.charge_with_shares(own, (&owned, &asks), 0, taken).await;
            limiter.tell_time(given, charged.is_ok());
            Some((id, charged))
        });
        match timeout_at(until, asking).await {
            Ok(Ok(Some((id, Ok(charged))))) => self.arrived(shared, rules, id, charged),
            Ok(Ok(Some((_, Err(error))))) => {
                self.failed(shared, rules, (0, Permits::ByName), &error)
            }
            // Rules without limits ask nothing.
            Ok(Ok(None)) => Admitted::nowhere(Vec::new()),
            Ok(Err(_)) | Err(_) => self.admit_without(shared, rules, 0, Permits::ByName),
        }
    }
}
