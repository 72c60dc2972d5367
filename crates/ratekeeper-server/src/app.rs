//! What all doors share.
//!
//! Invariant: a clone shares everything, and costs one counter, since each request has its own; nothing in
//! here changes what a decision is.

use crate::admin::Admin;
use crate::decisions::Refusals;
use crate::door::Playground;
use crate::life::Life;
use crate::observe::Observe;
use crate::reload::Rulebook;
use ratekeeper::Limiter;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// All that the doors need to answer.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// Decides.
    pub limiter: Limiter,
    /// How far it is on its way to its end.
    pub life: Life,
    /// The last refusals.
    pub refusals: Refusals,
    /// Who may administer.
    pub admin: Admin,
    /// How long a body may pause between two pieces.
    pub body_timeout: Duration,
    /// Counts what is decided; for metrics, logs and live figures.
    pub observe: Arc<Observe>,
    /// What is live, and the way to change it.
    pub rulebook: Arc<Rulebook>,
    /// Decides what is tried in the playground, and nothing else.
    pub playground: Playground,
    /// What this server is called.
    pub node: Arc<str>,
    /// Whether it has the demo rules, for want of others.
    pub is_demo: bool,
    /// Whether its state is shared with others.
    pub is_shared: bool,
}

impl Parts {
    /// Doors to this limiter, which whoever is on this machine may administer; a body may pause for
    /// `body_timeout` between two pieces.
    pub fn new(limiter: Limiter, body_timeout: Duration) -> Parts {
        let rulebook = Rulebook::of(limiter.clone());
        let (life, admin, refusals) = (Life::default(), Admin::local(), Refusals::default());
        Parts {
            limiter,
            life,
            refusals,
            admin,
            body_timeout,
            observe: Arc::default(),
            rulebook,
            playground: Playground::in_memory(),
            node: crate::node::name(),
            is_demo: false,
            is_shared: false,
        }
    }

    /// The kind of store, as callers are told it.
    pub(crate) fn store_kind(&self) -> &'static str {
        if self.is_shared { "redis" } else { "memory" }
    }
}

impl From<Parts> for App {
    fn from(parts: Parts) -> App {
        App(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
