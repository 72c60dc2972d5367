//! The stream to a server, before anything is said on it.
//!
//! Invariant: what is written goes out at once.

use super::super::config::{Address, RedisConfig};
use super::super::error::StoreError;
use super::repair;
use std::io;
use tokio::net::TcpStream;

#[cfg(not(feature = "sim"))]
pub(in super::super) type Stream = TcpStream;
#[cfg(feature = "sim")]
pub(in super::super) type Stream = Box<dyn super::super::config::sim::Duplex>;

pub(super) async fn reach(
    config: &RedisConfig,
    place: &str,
    address: &Address,
) -> Result<Stream, StoreError> {
    stream(config, address).await.map_err(|error| repair::refused(place, &error))
}

#[cfg_attr(not(feature = "sim"), expect(unused_variables, reason = "read by simulations alone"))]
async fn stream(config: &RedisConfig, address: &Address) -> io::Result<Stream> {
    #[cfg(feature = "sim")]
    if let Some(connecting) = config.simulated_connection(address) {
        return connecting.await;
    }
    let stream = TcpStream::connect((&*address.host, address.port)).await?;
    stream.set_nodelay(true)?;
    #[cfg(feature = "sim")]
    let stream = Box::new(stream);
    Ok(stream)
}
