//! What rules say: which requests, who is counted, how much.
//!
//! These are the meanings of a rule file, whoever wrote it: YAML is read into them
//! (feature `yaml`), and a [release](crate::limiter) is compiled from them. Invariant: a [`RuleSet`] that was
//! read from a file makes sense as a whole; what does not was refused with its place.

#[cfg(feature = "yaml")]
pub mod file;
pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod kind;
pub mod method;
pub mod pattern;
pub(crate) mod when;

pub use kind::{KeyKind, KeyPart, KeySpec, UnknownKind};

use crate::identity::Identity;
use crate::limit::Limit;
use crate::limiter::OnStoreFailure;
use pattern::{HostPattern, PathPattern};
use std::fmt;
use std::sync::Arc;

/// A whole set of rules.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// The tiers that a caller can have; the first is that of who has none, or an unknown one.
    pub tiers: Vec<Arc<str>>,
    /// What passes without being counted.
    pub exempt: Vec<Exempt>,
    /// The rules, in the order of the file.
    pub rules: Vec<RuleSpec>,
    /// Other limits for single keys.
    pub overrides: Vec<Override>,
    /// How callers are recognised.
    pub identity: Identity,
    /// Which header fields answers carry.
    pub fields: FieldForms,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct RuleSpec {
    /// The name by which it is known.
    pub id: Arc<str>,
    /// The name that callers are shown; the `id` unless said.
    pub name: Option<Arc<str>>,
    /// The domain of descriptors that it serves; a rule without one serves none.
    pub domain: Option<Arc<str>>,
    /// Which requests.
    pub matches: Match,
    /// A further condition, in CEL.
    pub when: Option<Arc<str>>,
    /// Who is counted.
    pub key: KeySpec,
    /// What to do where a part of the key is missing.
    pub on_missing: OnMissing,
    /// How much.
    pub limits: Limits,
    /// Limits beside the live ones that never refuse.
    pub trial: Option<Limits>,
    /// Units that a request takes.
    pub cost: CostSpec,
    /// Where the answer says what was really used.
    pub settle: Option<Arc<str>>,
    /// Which requests count.
    pub count: Count,
    /// For whom it is enforced.
    pub rollout: Rollout,
    /// Whether the fleet counts together.
    pub scope: Scope,
    /// What becomes of requests while the store is away.
    pub on_store_failure: OnStoreFailure,
    /// How exactly a fleet counts.
    pub consistency: Consistency,
}

impl RuleSpec {
    /// A rule for all requests, counted by the key that is given.
    pub fn new(id: impl Into<Arc<str>>, limits: Limits) -> RuleSpec {
        RuleSpec {
            id: id.into(),
            name: None,
            domain: None,
            matches: Match::default(),
            when: None,
            key: KeySpec::default(),
            on_missing: OnMissing::default(),
            limits,
            trial: None,
            cost: CostSpec::Fixed(1),
            settle: None,
            count: Count::default(),
            rollout: Rollout::default(),
            scope: Scope::default(),
            on_store_failure: OnStoreFailure::default(),
            consistency: Consistency::default(),
        }
    }
}

/// Which requests a rule is for: those that have all of this.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// One of these methods, in upper case; empty for any.
    pub methods: Vec<Arc<str>>,
    /// One of these hosts; empty for any.
    pub hosts: Vec<HostPattern>,
    /// One of these paths; empty for any.
    pub paths: Vec<PathPattern>,
    /// None of these paths.
    pub except: Vec<PathPattern>,
    /// Header fields by name in lower case: with this value on one of their lines, or any.
    pub headers: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// One of these tiers, by number; empty for any.
    pub tiers: Vec<usize>,
    /// Descriptors: with this value, or any.
    pub descriptors: Vec<(Arc<str>, Option<Arc<str>>)>,
}

/// What passes without being counted.
#[derive(Clone, Debug, Default)]
pub struct Exempt {
    /// Requests that have all of this,
    pub matches: Match,
    /// and come from one of these networks, if there are any.
    pub ips: Vec<ipnet::IpNet>,
}

/// What to do where a request lacks a part of the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// Its address stands in.
    #[default]
    Ip,
    /// The rule does not apply.
    Skip,
    /// The request is refused.
    Deny,
}

/// How much a rule admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limits {
    /// Nothing: the route is closed.
    Closed,
    /// The same for every tier; all of them apply.
    Same(Vec<Limit>),
    /// For each tier, in their order.
    ByTier(Vec<Vec<Limit>>),
}

/// Units that a request takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSpec {
    /// Always so many.
    Fixed(u64),
    /// As a header field says, at least 1 and at most `max`; where it is absent, `default`.
    Header {
        /// The field's name, in lower case.
        name: Arc<str>,
        /// Units if it is absent.
        default: u64,
        /// Most units that are believed.
        max: u64,
    },
}

/// Which requests count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// All that pass.
    #[default]
    All,
    /// Those that were answered with 401 or 403; others are given back.
    Failures,
}

/// For whom a rule is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// For nobody; it does not even count.
    Off,
    /// For nobody; it counts, and says what it would do.
    Shadow,
    /// For so many of a hundred keys; the others are in its shadow.
    Percent(u8),
}

impl Default for Rollout {
    fn default() -> Rollout {
        Rollout::Percent(100)
    }
}

/// As rule files have it.
impl fmt::Display for Rollout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rollout::Off => f.write_str("off"),
            Rollout::Shadow => f.write_str("shadow"),
            Rollout::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Whether a fleet counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All servers together.
    #[default]
    Fleet,
    /// Each server by itself.
    Instance,
}

/// How exactly a fleet counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each request asks the store.
    #[default]
    Exact,
    /// Servers take units ahead.
    Leased,
    /// Servers take units ahead for keys that are asked for all the time.
    Auto,
}

/// Another limit for one key.
#[derive(Clone, Debug)]
pub struct Override {
    /// The rule's id.
    pub rule: Arc<str>,
    /// The key: a value for each part, and which alternative it is, if that is said.
    pub key: Vec<(Option<KeyKind>, Arc<str>)>,
    /// How much instead.
    pub limits: Vec<Limit>,
    /// Until when, in seconds since the epoch; for good, unless said.
    pub until: Option<u64>,
    /// Why, for people.
    pub reason: Option<Arc<str>>,
}

/// Which header fields answers carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldForms {
    /// `RateLimit-Policy` and `RateLimit`, as the current draft has them.
    pub ietf: bool,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
    pub x_ratelimit: bool,
    /// As draft 07 had them.
    pub draft_07: bool,
    /// As draft 06 had them.
    pub draft_06: bool,
}

impl Default for FieldForms {
    fn default() -> FieldForms {
        FieldForms { ietf: true, x_ratelimit: true, draft_07: false, draft_06: false }
    }
}
