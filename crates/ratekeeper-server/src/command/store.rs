//! The store of a server, as the command line or the config names it.
//!
//! Invariant: what is set up wrong is told before the server listens; a store that is only away is
//! no reason not to start, since each rule knows what to do then.

use super::Failure;
use crate::args::{STORE_DEFAULT, Serve};
use crate::config::{Config, Fault, NAME_ANOTHER, SECRET_MAX, bytes};
use crate::demo;
use crate::door::Playground;
use ratekeeper::limiter::Builder;
use ratekeeper::outage::Class;
use ratekeeper::rule::file;
use ratekeeper::{Limiter, RedisConfig, StoreError};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// In memory, with so many keys at most, or shared.
pub(super) enum Store {
    Memory(usize),
    Redis(Box<RedisConfig>),
}

impl Store {
    /// The store of the command line, or else of the config: one of them, as a whole.
    pub(super) fn open(args: &Serve, config: Option<&Config>) -> Result<Store, Failure> {
        let settings = config.map(|config| &config.file.settings);
        let keys = settings.and_then(|settings| settings.memory_keys).unwrap_or(demo::KEYS_MAX);
        let mut shared = match (&args.store, config) {
            (Some(store), _) if store == STORE_DEFAULT => return Ok(Store::Memory(keys)),
            (Some(url), _) => RedisConfig::new(url)
                .map_err(|error| Failure::new(format!("{error}, or `--store {STORE_DEFAULT}`")))?,
            (None, Some(config)) => match configured(config)? {
                Some(shared) => shared,
                None => return Ok(Store::Memory(keys)),
            },
            (None, None) => return Ok(Store::Memory(keys)),
        };
        if let Some(path) = &args.store_password_file {
            shared = shared.password(&password(path)?);
        }
        if let Some(path) = &args.store_ca {
            shared = shared.ca(&read(path)?);
        }
        if let Some(nodes) = settings.and_then(|settings| settings.nodes) {
            shared = shared.nodes(nodes);
        }
        if args.store_allow_eviction {
            shared = shared.allow_eviction();
        }
        Ok(Store::Redis(Box::new(shared)))
    }

    /// How to reach it, if it is shared.
    pub(super) fn shared(&self) -> Option<&RedisConfig> {
        match self {
            Store::Memory(_) => None,
            Store::Redis(config) => Some(config),
        }
    }

    /// A limiter in the making, on this store.
    pub(super) fn builder(&self) -> Builder {
        match self {
            Store::Memory(keys) => Limiter::memory().keys(*keys),
            Store::Redis(config) => Limiter::redis(RedisConfig::clone(config)),
        }
    }

    /// The playground: on the same store, with buckets of its own, and, in memory, a cap of its own.
    pub(super) fn playground(&self) -> Playground {
        match self {
            Store::Memory(_) => Playground::in_memory(),
            Store::Redis(config) => {
                // It is no server of the fleet.
                let config = RedisConfig::clone(config).nodes(1);
                Playground::new(Limiter::redis(config).build())
            }
        }
    }

    /// Checks how the store is set up. One that cannot be reached is a warning, with what happens
    /// `until` it is there.
    pub(super) async fn check(&self, limiter: &Limiter, until: &str) -> Result<(), Failure> {
        match limiter.verify().await {
            Ok(()) => Ok(()),
            Err(error)
                if matches!(
                    error.class(),
                    Class::Connection | Class::Timeout | Class::Unavailable
                ) =>
            {
                let _ = writeln!(io::stderr(), "warning: {error}; until it is there, {until}");
                Ok(())
            }
            Err(error) => Err(Failure::new(error.to_string())),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Memory(keys) => write!(f, "memory, {keys} keys at most"),
            Store::Redis(config) => write!(f, "{config}, shared by all servers that use it"),
        }
    }
}

/// The shared store that a config names, if it names one.
pub(super) fn configured(config: &Config) -> Result<Option<RedisConfig>, Fault> {
    let settings = &config.file.settings;
    let file::Store::Url { url, password_file, ca, prefix, deadline } = &settings.store else {
        return Ok(None);
    };
    let wrong = |error: StoreError| Fault::told(&config.path, &error.to_string());
    let mut shared = RedisConfig::new(url).map_err(wrong)?;
    if let Some(name) = password_file {
        shared = shared.password(&password(&config.named(name))?);
    }
    if let Some(name) = ca {
        shared = shared.ca(&read(&config.named(name))?);
    }
    if let Some(prefix) = prefix {
        shared = shared.prefix(prefix).map_err(wrong)?;
    }
    if let Some(deadline) = deadline {
        shared = shared.deadline(*deadline);
    }
    shared.check().map_err(wrong)?;
    Ok(Some(shared))
}

/// A password is what is in a file, without the end of its line.
fn password(path: &Path) -> Result<String, Fault> {
    let text = String::from_utf8(read(path)?);
    let text = text.map_err(|_| Fault::of(path, "is not text", "write the password in UTF-8"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let unreadable = |error| Fault::of(path, format!("cannot be read: {error}"), NAME_ANOTHER);
    bytes(path, SECRET_MAX).map_err(unreadable)
}
