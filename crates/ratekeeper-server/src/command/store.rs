//! The store of a server, as the command line names it.
//!
//! Invariant: what is set up wrong is told before the server listens; a store that is only away is
//! no reason not to start, since each rule knows what to do then.

use super::Failure;
use crate::args::{STORE_DEFAULT, Serve};
use crate::demo;
use ratekeeper::limiter::Builder;
use ratekeeper::outage::Class;
use ratekeeper::{Limiter, RedisConfig};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// In memory, or shared.
pub(super) enum Store {
    Memory,
    Redis(Box<RedisConfig>),
}

impl Store {
    pub(super) fn open(args: &Serve) -> Result<Store, Failure> {
        if args.store == STORE_DEFAULT {
            return Ok(Store::Memory);
        }
        let mut config = RedisConfig::new(&args.store)
            .map_err(|error| Failure::new(format!("{error}, or `--store {STORE_DEFAULT}`")))?;
        if let Some(path) = &args.store_password_file {
            let password = String::from_utf8(read(path)?);
            let password =
                password.map_err(|_| Failure::new(format!("{}: is not text", path.display())))?;
            config = config.password(password.trim_end_matches(['\r', '\n']));
        }
        if let Some(path) = &args.store_ca {
            config = config.ca(&read(path)?);
        }
        if args.store_allow_eviction {
            config = config.allow_eviction();
        }
        Ok(Store::Redis(Box::new(config)))
    }

    /// A limiter in the making, on this store.
    pub(super) fn builder(&self) -> Builder {
        match self {
            Store::Memory => Limiter::memory(),
            Store::Redis(config) => Limiter::redis(RedisConfig::clone(config)),
        }
    }

    /// Checks how the store is set up. One that cannot be reached is a warning.
    pub(super) async fn check(&self, limiter: &Limiter) -> Result<(), Failure> {
        match limiter.verify().await {
            Ok(()) => Ok(()),
            Err(error)
                if matches!(
                    error.class(),
                    Class::Connection | Class::Timeout | Class::Unavailable
                ) =>
            {
                let text =
                    "until it is there, requests are admitted, and answers say `failed_open`";
                let _ = writeln!(io::stderr(), "warning: {error}; {text}");
                Ok(())
            }
            Err(error) => Err(Failure::new(error.to_string())),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Memory => write!(f, "memory, {} keys at most", demo::KEYS_MAX),
            Store::Redis(config) => write!(f, "{config}, shared by all servers that use it"),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::new(format!("{}: cannot be read: {error}; name a file that can", path.display()))
    })
}
