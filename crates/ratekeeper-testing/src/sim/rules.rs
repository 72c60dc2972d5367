//! The rules of a simulation: what the limiters are told, and what the judge holds them to, from one place.
//!
//! Invariant: a rule has the same algorithm, period and policy in all releases; its figures may differ.

use super::random::Random;
use ratekeeper::RuleSet;
use ratekeeper::rule::file::RuleFile;
use std::fmt::Write as _;

/// Nanoseconds of a period.
pub(super) const PERIOD: u64 = 1_000_000_000;

/// Nanoseconds that a permit is held at most.
pub(super) const HOLD: u64 = 500_000_000;

/// How much larger bursts are that are leased.
const BURSTS: u64 = 10;

/// How a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// By a token bucket.
    Tokens,
    /// By a leaky bucket, as a meter.
    Leaky,
    /// By aligned windows.
    Windows,
    /// By a log of the last period.
    Log,
    /// By two windows.
    Counter,
    /// By permits that are held.
    Permits,
}

impl Counts {
    /// All of them.
    pub const ALL: [Counts; 6] = [
        Counts::Tokens,
        Counts::Leaky,
        Counts::Windows,
        Counts::Log,
        Counts::Counter,
        Counts::Permits,
    ];

    /// Whether a burst and a rate are its figures.
    pub fn is_bucket(self) -> bool {
        matches!(self, Counts::Tokens | Counts::Leaky)
    }

    /// The limit of a rule that counts so, in the fields of a rule file.
    fn limit(self, Figures { amount, burst }: Figures) -> String {
        match self {
            Counts::Tokens => format!("{amount}/second burst {burst}, algorithm: token_bucket"),
            Counts::Leaky => format!("{amount}/second burst {burst}, algorithm: leaky_bucket"),
            Counts::Windows => format!("{amount}/second, algorithm: fixed_window"),
            Counts::Log => format!("{amount}/second, algorithm: sliding_window_log"),
            Counts::Counter => format!("{amount}/second, algorithm: sliding_window_counter"),
            Counts::Permits => format!("{amount} concurrent, hold: {}ms", HOLD / 1_000_000),
        }
    }
}

/// What a rule does while the store is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Admits.
    Allow,
    /// Refuses.
    Deny,
    /// Each node has its share.
    Local,
}

impl Away {
    fn name(self) -> &'static str {
        match self {
            Away::Allow => "allow",
            Away::Deny => "deny",
            Away::Local => "local",
        }
    }
}

/// Units in a period, and at once; of windows and logs these are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Units in a period.
    pub amount: u64,
    /// Units at once.
    pub burst: u64,
}

impl Figures {
    /// What one of so many nodes may admit by itself.
    pub fn share(self, nodes: u64) -> Figures {
        Figures { amount: self.amount.div_ceil(nodes), burst: self.burst.div_ceil(nodes) }
    }

    /// The larger of both in each figure.
    pub fn or_larger(self, other: Figures) -> Figures {
        Figures { amount: self.amount.max(other.amount), burst: self.burst.max(other.burst) }
    }
}

/// A rule, with its figures in each release.
#[derive(Clone, Debug)]
pub struct RulePlan {
    /// Its name.
    pub id: String,
    /// How it counts.
    pub counts: Counts,
    /// What it does while the store is away.
    pub away: Away,
    /// Whether its units are taken from the store in shares.
    pub leased: bool,
    /// The figures of each release.
    pub releases: Vec<Figures>,
}

impl RulePlan {
    /// A rule by chance. Figures of all rules and releases differ, so that answers cannot be mistaken for others'.
    pub fn by_chance(number: usize, releases: usize, random: &mut Random) -> RulePlan {
        let counts = random.one_of(&Counts::ALL);
        let away = random.one_of(&[Away::Allow, Away::Deny, Away::Local]);
        let mut figures = Vec::new();
        for release in 0..releases {
            let own = 8 + 16 * random.within(0..3) + 4 * number as u64 + release as u64;
            let amount = if counts.is_bucket() { random.within(10..60) } else { own };
            figures.push(Figures { amount, burst: own });
        }
        RulePlan { id: format!("rule-{number}"), counts, away, leased: false, releases: figures }
    }

    /// Leases its units, with bursts of which a share is several of them.
    pub fn lease_more(&mut self) {
        self.leased = true;
        for figures in &mut self.releases {
            figures.burst *= BURSTS;
            figures.amount =
                if self.counts.is_bucket() { 3 * figures.amount } else { figures.burst };
        }
    }

    /// Units that each node may hold by a lease beyond what was charged.
    pub fn lease(&self, nodes: u64) -> u64 {
        let largest = self.releases.iter().map(|figures| figures.burst).max().unwrap_or(0);
        if self.leased { (largest / 20 / nodes).max(1) } else { 0 }
    }
}

/// The rules of a release, as a rule file.
pub(super) fn text(rules: &[RulePlan], release: usize) -> String {
    let mut text = String::from("rules:\n");
    for rule in rules {
        let leased = if rule.leased { ", consistency: leased" } else { "" };
        let (id, away, limit) =
            (&rule.id, rule.away.name(), rule.counts.limit(rule.releases[release]));
        let _ = writeln!(
            text,
            "  - {{id: {id}, key: user, limit: {limit}, on_store_failure: {away}{leased}}}"
        );
    }
    text
}

/// The same, read.
pub(super) fn set(rules: &[RulePlan], release: usize) -> RuleSet {
    RuleFile::parse(&text(rules, release)).expect("rules of a simulation make sense").rules
}
