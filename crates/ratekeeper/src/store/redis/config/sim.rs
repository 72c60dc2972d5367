//! What a simulation puts in the place of the system: connections, and random numbers.
//!
//! Invariant: whatever was not put in place is as without a simulation.

use super::{Address, RedisConfig};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

/// A connection on its way.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Duplex>>> + Send>>;

type Connector = Arc<dyn Fn(&str, u16) -> Connecting + Send + Sync>;

#[derive(Clone, Default)]
pub(in super::super) struct Simulated {
    connector: Option<Connector>,
    pub(in super::super) seed: Option<u64>,
}

impl RedisConfig {
    /// Connections are made by this, from host and port.
    #[doc(hidden)]
    pub fn connector(
        mut self,
        connect: impl Fn(&str, u16) -> Connecting + Send + Sync + 'static,
    ) -> RedisConfig {
        self.simulated.connector = Some(Arc::new(connect));
        self
    }

    /// Jitter and identities come from this number, which is another one on each server.
    #[doc(hidden)]
    pub fn seed(mut self, seed: u64) -> RedisConfig {
        self.simulated.seed = Some(seed);
        self
    }

    /// The connection that a simulation makes, if there is one.
    pub(in super::super) fn simulated_connection(&self, address: &Address) -> Option<Connecting> {
        Some(self.simulated.connector.as_ref()?(&address.host, address.port))
    }
}

/// A number from two, by the finalizer of splitmix64.
pub(in super::super) fn mixed(seed: u64, count: u64) -> u64 {
    let mut mixed = seed.wrapping_add(count.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
