//! The flags of connections.
//!
//! Invariant: as for all flags, this only says what was written.

use crate::serve::Bounds;

/// How many connections there may be.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Connections {
    /// Connections at a time, of all callers together; each is an open file
    #[arg(
        long = "connections",
        value_name = "N",
        default_value_t = Bounds::default().connections as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub all: u32,

    /// Connections at a time of one address that is neither this machine's nor a trusted proxy's
    #[arg(
        long = "connections-per-address",
        value_name = "N",
        default_value_t = Bounds::default().per_address as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub per_address: u32,
}
