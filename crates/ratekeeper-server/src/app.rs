//! What all doors share.
//!
//! Invariant: a clone shares everything; nothing in here changes what a decision is.

use crate::reload::Rulebook;
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
    /// What is live, and the way to change it.
    pub rulebook: Arc<Rulebook>,
}

impl App {
    /// Doors to this limiter; a body may pause for `body_timeout` between two pieces.
    pub fn new(limiter: Limiter, body_timeout: Duration) -> App {
        let rulebook = Rulebook::of(limiter.clone());
        App { limiter, body_timeout, rulebook }
    }
}
