//! Limiters of rule files.
//!
//! Invariant: a file that does not make sense changes nothing.

use super::{Builder, Limiter};
use crate::rule::file::{FileErrors, RuleFile, Settings, Store};

impl Limiter {
    /// A limiter by a whole rule file; every fault of it is told at once, with its place.
    ///
    /// ```
    /// use ratekeeper::{Limiter, Request};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::from_yaml("
    ///   rules:
    ///     - {id: writes, match: {methods: [POST], path: '/api/**'}, key: ip, limit: 2/minute}
    /// ")?;
    /// let write = Request { peer: Some("192.0.2.7".parse()?), ..Request::new("POST", "/api/notes") };
    /// assert_eq!(limiter.check(&write).await?.remaining(), 1);
    ///
    /// let error = Limiter::from_yaml("rules: [{id: api, limit: 0/minute}]").unwrap_err();
    /// assert!(error.to_string().starts_with("ratekeeper.yaml:1:"), "{error}");
    /// # Ok(()) }
    /// ```
    pub fn from_yaml(text: &str) -> Result<Limiter, FileErrors> {
        Ok(Limiter::from_file(RuleFile::parse(text)?)?.build())
    }

    /// A limiter in the making, by a rule file that was read. Files that its `store` names cannot be
    /// read here: give a [`RedisConfig`](crate::RedisConfig) to `Limiter::redis`, and the rules to
    /// [`rules`](Builder::rules).
    pub fn from_file(file: RuleFile) -> Result<Builder, FileErrors> {
        let RuleFile { rules, settings } = file;
        let builder = store(&settings)?.rules(rules);
        Ok(match settings.memory_keys {
            Some(keys) => builder.keys(keys),
            None => builder,
        })
    }

    /// Puts the rules of another file in the place of those that there are, in one step; the number of
    /// their release. What it says about the store and the server is not changed by it.
    pub fn reload(&self, text: &str) -> Result<u64, FileErrors> {
        Ok(self.replace(RuleFile::parse(text)?.rules))
    }
}

#[cfg(not(feature = "redis"))]
fn store(settings: &Settings) -> Result<Builder, FileErrors> {
    match &settings.store {
        Store::Memory => Ok(Limiter::memory()),
        Store::Url { .. } => {
            let fault = "this program was built without Redis";
            Err(FileErrors::of_store(fault, "add the feature `redis`, or write `store: memory`"))
        }
    }
}

#[cfg(feature = "redis")]
fn store(settings: &Settings) -> Result<Builder, FileErrors> {
    let Store::Url { url, password_file, ca, prefix, deadline } = &settings.store else {
        return Ok(Limiter::memory());
    };
    if password_file.is_some() || ca.is_some() {
        let fault = "a library reads no files, and `store` names some";
        return Err(FileErrors::of_store(fault, "use `Limiter::redis` and `Builder::rules`"));
    }
    let wrong =
        |error: crate::StoreError| FileErrors::of_store(&error.to_string(), "write another");
    let mut config = crate::RedisConfig::new(url).map_err(wrong)?;
    if let Some(prefix) = prefix {
        config = config.prefix(prefix).map_err(wrong)?;
    }
    if let Some(deadline) = deadline {
        config = config.deadline(*deadline);
    }
    if let Some(nodes) = settings.nodes {
        config = config.nodes(nodes);
    }
    Ok(Limiter::redis(config))
}
