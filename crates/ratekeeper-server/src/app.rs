//! What all doors share.
//!
//! Invariant: a clone shares everything; nothing in here changes what a decision is.

use crate::observe::Observe;
use ratekeeper::Limiter;
use std::sync::Arc;
use std::time::Duration;

/// All that the doors need to answer.
#[derive(Clone, Debug)]
pub struct App {
    /// Decides.
    pub limiter: Limiter,
    /// How long a body may pause between two pieces.
    pub body_timeout: Duration,
    /// Counts what is decided; for metrics, logs and live figures.
    pub observe: Arc<Observe>,
}

impl App {
    /// Doors to this limiter; a body may pause for `body_timeout` between two pieces.
    pub fn new(limiter: Limiter, body_timeout: Duration) -> App {
        App { limiter, body_timeout, observe: Arc::default() }
    }

    /// The same, counted by whom the limiter tells.
    pub fn observed(self, observe: Arc<Observe>) -> App {
        App { observe, ..self }
    }
}
