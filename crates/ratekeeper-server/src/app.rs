//! What all doors share.
//!
//! Invariant: a clone shares everything; nothing in here changes what a decision is.

use crate::admin::Admin;
use crate::decisions::Refusals;
use crate::life::Life;
use crate::observe::Observe;
use crate::reload::Rulebook;
use ratekeeper::Limiter;
use std::sync::Arc;
use std::time::Duration;

/// All that the doors need to answer.
#[derive(Clone, Debug)]
pub struct App {
    /// Decides.
    pub limiter: Limiter,
    /// How far it is on its way to its end.
    pub life: Life,
    /// The last refusals.
    pub refusals: Arc<Refusals>,
    /// Who may administer.
    pub admin: Admin,
    /// How long a body may pause between two pieces.
    pub body_timeout: Duration,
    /// Counts what is decided; for metrics, logs and live figures.
    pub observe: Arc<Observe>,
    /// What is live, and the way to change it.
    pub rulebook: Arc<Rulebook>,
}

impl App {
    /// Doors to this limiter, which whoever is on this machine may administer; a body may pause for
    /// `body_timeout` between two pieces.
    pub fn new(limiter: Limiter, body_timeout: Duration) -> App {
        let (life, admin, refusals) = (Life::default(), Admin::local(), Arc::default());
        let (observe, rulebook) = (Arc::default(), Rulebook::of(limiter.clone()));
        App { limiter, life, refusals, admin, body_timeout, observe, rulebook }
    }

    /// The same, counted by whom the limiter tells.
    pub fn observed(self, observe: Arc<Observe>) -> App {
        App { observe, ..self }
    }
}
