//! Numbers that nobody can foresee: for jitter, and for identities.
//!
//! Invariant: they are the process' own secret; only a simulation says what they come from.

use super::config::RedisConfig;
use std::hash::{BuildHasher, RandomState};

pub(crate) struct Random {
    secret: RandomState,
    #[cfg(feature = "sim")]
    seed: Option<u64>,
}

impl Random {
    #[cfg_attr(
        not(feature = "sim"),
        expect(unused_variables, reason = "read by simulations alone")
    )]
    pub(crate) fn new(config: &RedisConfig) -> Random {
        Random {
            secret: RandomState::new(),
            #[cfg(feature = "sim")]
            seed: config.simulated.seed,
        }
    }

    /// The number for this count.
    pub(crate) fn number(&self, count: u64) -> u64 {
        #[cfg(feature = "sim")]
        if let Some(seed) = self.seed {
            return super::config::sim::mixed(seed, count);
        }
        self.secret.hash_one(count)
    }
}
