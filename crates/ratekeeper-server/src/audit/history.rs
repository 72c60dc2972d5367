//! What became of every request, as whoever sent them wrote it down.
//!
//! An operation is kept in 64 bytes: names are numbers of tables. Invariant: what is in a history is
//! within its bounds, so that no sum of costs and no product with a time overflows 128 bits.

use std::collections::HashMap;
use std::fmt;

/// Largest cost of one operation: the largest amount of a limit.
pub const COST_MAX: u64 = ratekeeper::limit::AMOUNT_MAX;

/// Most operations of a history; a longer one is refused with the advice to cut it by key.
pub const OPERATIONS_MAX: usize = 1 << 28;

/// Most rules and most nodes of a history.
pub const NAMES_MAX: usize = u16::MAX as usize;

/// Most fault episodes of a history.
pub const EPISODES_MAX: usize = 1_000;

/// Latest wall clock time of a `clock` line, in microseconds since the epoch.
pub const WALL_MAX: u64 = 1 << 53;

/// Stands for a figure that was not written down.
const NONE: u64 = u64::MAX;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $word,)+ }

        impl $name {
            /// Every one, in the order of the documentation.
            pub const ALL: &[$name] = &[$($name::$word,)+];

            /// The word in a history.
            pub const fn name(self) -> &'static str {
                match self { $($name::$word => $text,)+ }
            }

            /// What a word says.
            pub fn read(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|each| each.name() == word)
            }
        }
    };
}

words! {
    /// How an operation ended.
    Outcome {
        /// It was admitted.
        Allow = "allow",
        /// It was refused.
        Deny = "deny",
        /// It had no decision.
        Error = "error",
    }
}

words! {
    /// Where it was decided.
    Source {
        /// In the bucket of the key.
        Store = "store",
        /// By units that a server took ahead.
        Lease = "lease",
        /// By a refusal that a server remembered.
        DeniedCache = "denied_cache",
        /// By a server's own share, without the store.
        Local = "local",
        /// Without the store, by a rule that admits then.
        FailedOpen = "failed_open",
        /// Without the store, by a rule that refuses then.
        FailedClosed = "failed_closed",
        /// In the bucket that newcomers share.
        Overflow = "overflow",
    }
}

/// One operation, with its names as they are written. Times are nanoseconds of one monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number, which no other has.
    pub id: u64,
    /// The server that was asked.
    pub node: &'a str,
    /// Who was counted.
    pub key: &'a str,
    /// Under which rule.
    pub rule: &'a str,
    /// The release that decided.
    pub version: u32,
    /// Units.
    pub cost: u64,
    /// When it was asked.
    pub invoke: u64,
    /// When the answer was there.
    pub complete: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Where it was decided.
    pub source: Source,
    /// The wait that a refusal named.
    pub retry: Option<u64>,
    /// The units that the answer said are left.
    pub remaining: Option<u64>,
}

/// One operation, with its names as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) id: u64,
    pub(super) invoke: u64,
    pub(super) complete: u64,
    pub(super) cost: u64,
    retry: u64,
    remaining: u64,
    pub(super) key: u32,
    pub(super) version: u32,
    pub(super) node: u16,
    pub(super) rule: u16,
    pub(super) outcome: Outcome,
    pub(super) source: Source,
}

impl Operation {
    pub(super) fn retry(&self) -> Option<u64> {
        (self.retry != NONE).then_some(self.retry)
    }

    pub(super) fn remaining(&self) -> Option<u64> {
        (self.remaining != NONE).then_some(self.remaining)
    }

    /// Whether its times make sense, so that it can be judged.
    pub(super) fn is_sane(&self) -> bool {
        self.complete >= self.invoke
    }
}

/// A time in which something was wrong on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// What was wrong; some names have an allowance.
    pub name: String,
    /// Since when, in nanoseconds.
    pub start: u64,
    /// Until when.
    pub end: u64,
}

/// Names, each with a number.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Names {
    fn number(&mut self, name: &str, most: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = u32::try_from(self.texts.len()).ok().filter(|_| self.texts.len() < most)?;
        self.texts.push(name.into());
        self.numbers.insert(name.into(), number);
        Some(number)
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// All operations, with what else was written down.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) operations: Vec<Operation>,
    pub(super) nodes: Names,
    pub(super) keys: Names,
    pub(super) rules: Names,
    /// What was wrong on purpose, and when.
    pub episodes: Vec<Episode>,
    /// An instant on the monotonic clock, in nanoseconds, and the same on the wall clock, in microseconds
    /// since the epoch: at most [`WALL_MAX`].
    pub clock: Option<(u64, u64)>,
    /// How many requests were sent in all.
    pub sent: Option<u64>,
}

/// What does not fit into a history, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond(pub(super) &'static str, pub(super) &'static str);

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.0, self.1)
    }
}

impl std::error::Error for Beyond {}

impl History {
    /// Adds an operation.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), Beyond> {
        let many = |what| Beyond(what, "judge it in parts, each with all operations of its keys");
        if record.cost > COST_MAX {
            return Err(Beyond("a cost above 1099511627776", "write what was charged"));
        }
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(many("more than 268435456 operations"));
        }
        let key = self.keys.number(record.key, OPERATIONS_MAX).ok_or(many("too many keys"))?;
        let short = |number: Option<u32>| number.and_then(|number| u16::try_from(number).ok());
        let node = short(self.nodes.number(record.node, NAMES_MAX));
        let rule = short(self.rules.number(record.rule, NAMES_MAX));
        self.operations.push(Operation {
            id: record.id,
            invoke: record.invoke,
            complete: record.complete,
            cost: record.cost,
            retry: record.retry.unwrap_or(NONE),
            remaining: record.remaining.unwrap_or(NONE),
            key,
            version: record.version,
            node: node.ok_or(many("more than 65535 nodes"))?,
            rule: rule.ok_or(many("more than 65535 rules"))?,
            outcome: record.outcome,
            source: record.source,
        });
        Ok(())
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The operations, with their names, in the order in which they were added.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.operations.iter().map(|operation| Record {
            id: operation.id,
            node: self.nodes.text(operation.node.into()),
            key: self.keys.text(operation.key),
            rule: self.rules.text(operation.rule.into()),
            version: operation.version,
            cost: operation.cost,
            invoke: operation.invoke,
            complete: operation.complete,
            outcome: operation.outcome,
            source: operation.source,
            retry: operation.retry(),
            remaining: operation.remaining(),
        })
    }

    /// The first tick in which what happened at this instant can have been decided.
    pub(super) fn first_tick(&self, nanos: u64) -> i64 {
        self.tick(nanos, 0)
    }

    /// The last tick in which it can have been.
    pub(super) fn last_tick(&self, nanos: u64) -> i64 {
        self.tick(nanos, 999)
    }

    fn tick(&self, nanos: u64, up: i128) -> i64 {
        let (zero, wall) = self.clock.unwrap_or((0, 0));
        let passed = i128::from(nanos) - i128::from(zero) + up;
        let ticks = passed.div_euclid(1_000) + i128::from(wall.min(WALL_MAX));
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }
}
