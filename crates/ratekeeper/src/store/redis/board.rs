//! A board in the shared store: few texts that a fleet agrees on, each with a number.
//!
//! Invariant: a text takes the place of the one whose number its writer has seen, and of no other; the
//! numbers that a reader sees are those that were written. (This is the one key that has no end.)

use super::call::Texts;
use super::config::{RedisConfig, Servers};
use super::connect;
use super::error::{Class, StoreError};
use super::link::CONNECT;
use super::name::{self, Tag};
use super::script::Script;
use super::sentinel;
use super::topology::Topology;
use futures_util::StreamExt;
use redis::Value;
use redis::aio::PubSubStream;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long a call may take: texts are large, and nobody's request waits for them.
const CALL: Duration = Duration::from_secs(2);

/// Largest number of a text; far below 2⁵³, up to which scripts count exactly.
pub const NUMBER_MAX: u64 = 1 << 52;

/// Stands for a number that makes no sense, which none of us has written.
pub const UNREADABLE: u64 = u64::MAX;

/// What the name of the board ends in.
const NAME: &str = "board";

/// Texts that all servers on one shared store have in common, such as rules.
///
/// Each has a number, 0 while there is none. A writer says which number it has seen, so that of several
/// that write at the same time one wins, and the others are told.
pub struct Board {
    config: Arc<RedisConfig>,
    topology: Topology,
    script: Script,
    key: Vec<u8>,
    channel: Vec<u8>,
}

/// A text on a [`Board`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Its number, or [`UNREADABLE`].
    pub number: u64,
    /// What it says; `None` if it is as it was, or if there is none.
    pub text: Option<Vec<u8>>,
}

/// Hears when something is written; see [`Board::news`].
pub struct News(PubSubStream);

impl Board {
    /// The board of a store, by connections of its own. Connects when it is first asked.
    pub fn new(config: &RedisConfig) -> Board {
        let config = Arc::new(config.clone());
        let topology = Topology::new(&config, super::probe);
        let script = Script::of(include_str!("lua/board.lua"));
        let key = name::other(&config.prefix, Tag::of(0), NAME);
        let channel = format!("{}:{NAME}", config.prefix).into_bytes();
        Board { config, topology, script, key, channel }
    }

    /// The number of a text, and the text, unless it is the one that is `known`.
    pub async fn read(&self, name: &str, known: u64) -> Result<Posted, StoreError> {
        self.call(&[name.as_bytes(), b"read", written(known).as_bytes()]).await
    }

    /// Puts a text with the number `number`, at most [`NUMBER_MAX`], in the place of the one with the number
    /// `seen`. If there is another by now, nothing changes, and its number is returned.
    pub async fn write(
        &self,
        name: &str,
        seen: u64,
        number: u64,
        text: &[u8],
    ) -> Result<Result<(), u64>, StoreError> {
        let numbers = [written(seen), written(number)];
        let [seen, number] = [numbers[0].as_bytes(), numbers[1].as_bytes()];
        let args = [name.as_bytes(), b"write", seen, number, text, &self.channel];
        let posted = self.call(&args).await?;
        Ok(if posted.text.is_some() { Ok(()) } else { Err(posted.number) })
    }

    async fn call(&self, args: &[&[u8]]) -> Result<Posted, StoreError> {
        let texts = Texts { script: &self.script, keys: vec![&self.key], args: args.to_vec() };
        let answer = self.topology.run(Tag::of(0), &texts, Instant::now() + CALL).await?;
        let read = match answer {
            Value::Array(values) => <[Value; 2]>::try_from(values).ok(),
            _ => None,
        };
        let posted = read.and_then(|[number, text]| {
            let Value::Int(number) = number else { return None };
            let number = if number == -1 { UNREADABLE } else { u64::try_from(number).ok()? };
            let text = match text {
                Value::BulkString(text) => Some(text),
                Value::Nil => None,
                _ => return None,
            };
            Some(Posted { number, text })
        });
        posted.ok_or_else(|| {
            let fault = "has something else where the texts of the fleet should be; delete it, or \
                         give us a prefix of our own";
            StoreError::new(&self.config.to_string(), Class::BadValue, fault)
        })
    }

    /// Listens, by one more connection. What was written before, and while it breaks, is not heard: who
    /// listens also looks, now and then.
    pub async fn news(&self) -> Result<News, StoreError> {
        let late = |_| {
            let fault = "did not answer in time";
            Err(StoreError::new(&self.config.to_string(), Class::Timeout, fault))
        };
        timeout(CONNECT, self.listen()).await.unwrap_or_else(late)
    }

    async fn listen(&self) -> Result<News, StoreError> {
        let config = &self.config;
        let addresses = match &config.servers {
            Servers::Sentinel(name) => vec![sentinel::master(config, name).await?],
            Servers::One | Servers::Cluster => config.addresses.clone(),
        };
        let mut failed = None;
        // Every server of a cluster hears what is told on any.
        for address in &addresses {
            match connect::subscribe(config, address, &self.channel).await {
                Ok(stream) => return Ok(News(stream)),
                Err(error) => failed = Some(error),
            }
        }
        let nowhere = || StoreError::config(&config.to_string(), "has no address; write one");
        Err(failed.unwrap_or_else(nowhere))
    }
}

/// A number as the script has it.
fn written(number: u64) -> String {
    if number == UNREADABLE { "-1".into() } else { number.to_string() }
}

impl News {
    /// Waits until something is written; `false` once the connection is lost.
    pub async fn next(&mut self) -> bool {
        self.0.next().await.is_some()
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Board").field(&self.config).finish()
    }
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("News")
    }
}
