//! Rules made ready to run: a meter for each limit, each with the names of its buckets.
//!
//! Invariant: a bucket's name is its rule and its shape; two limits never share one.

use super::Compiled;
#[cfg(feature = "redis")]
use super::shared::Share;
use crate::algorithm::Algorithm;
use crate::decision::Label;
use crate::fields::Policy;
use crate::key::Secret;
use crate::limit::{Limit, Shape};
use crate::store::Meter;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What a rule does while the shared store is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// Admits: the limiter's failure is not the API's.
    #[default]
    Allow,
    /// Refuses: for what must not go unlimited, such as logins.
    Deny,
    /// Lets each server admit its share of the limit by itself.
    Local,
}

/// What is to know of a rule, besides its limits.
#[derive(Clone, Default)]
pub(super) struct Manner {
    /// The release that the rule is of.
    pub(super) version: u64,
    /// The name that callers see, if it is another than the rule's.
    pub(super) public: Option<Arc<str>>,
    pub(super) on_store_failure: OnStoreFailure,
    /// Whether each server counts by itself.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "memory is this server's alone")
    )]
    pub(super) instance: bool,
    /// Whether units are taken from a shared store in shares; and only those of hot keys.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "memory is this server's alone")
    )]
    pub(super) leases: bool,
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "memory is this server's alone")
    )]
    pub(super) leases_hot: bool,
    pub(super) after: After,
    /// Whether what a request takes is an estimate, to be settled; others are what they are.
    pub(super) metered: bool,
    /// Whether it came with the question, and is in no release.
    pub(super) given: bool,
}

/// What an answer changes about what was charged.
#[derive(Clone, Default)]
pub(super) struct After {
    /// The field of the answer that says what was really used.
    pub(super) settle: Option<Arc<str>>,
    /// Whether only answers of 401 and 403 count.
    pub(super) failures: bool,
}

impl After {
    /// Whether the answer matters.
    pub(super) fn is_needed(&self) -> bool {
        self.failures || self.settle.is_some()
    }
}

/// A rule, ready to run.
pub(super) fn compile(
    secret: &Secret,
    name: &Arc<str>,
    limits: &[Limit],
    manner: &Manner,
) -> Compiled {
    let gives_permits = |limit: &&Limit| limit.hold().is_some();
    let rates: Vec<Limit> = limits.iter().filter(|limit| !gives_permits(limit)).copied().collect();
    let some = (1..limits.len()).contains(&rates.len());
    let rates = some.then(|| Arc::new(compile(secret, name, &rates, manner)));
    let meters = match manner.given {
        // No rule has a space in its name.
        true => {
            let own = meters(secret, &format!("{name} given"), limits);
            own.into_iter().map(Meter::given).collect()
        }
        false => meters(secret, name, limits),
    };
    let plain = meters.iter().all(|meter| meter.pace().is_none() && meter.hold().is_none());
    let public = manner.public.as_ref().unwrap_or(name);
    let policies = Policy::all(public, limits);
    let label = Label { id: Arc::clone(name), name: Arc::clone(public), policies };
    Compiled {
        label: Arc::new(label),
        meters,
        plain,
        limits: limits.into(),
        manner: manner.clone(),
        rates,
        #[cfg(feature = "redis")]
        share: Share::default(),
    }
}

impl Compiled {
    /// Keeps what keys have used under the limits that the rule had until now: those of the same
    /// algorithm and period, whatever their amounts. (Windows are counted under the same name anyway.)
    pub(super) fn follow(&mut self, former: &Compiled, now: u64) {
        let (own, other) = (shapes(&self.limits), shapes(&former.limits));
        for (meter, shape) in self.meters.iter_mut().zip(own) {
            let same = shape.and_then(|_| other.iter().position(|other| *other == shape));
            if let Some(other) = same.and_then(|number| former.meters.get(number)) {
                meter.follow(other, now);
            }
        }
        if let Some(rates) = self.rates.as_mut().and_then(Arc::get_mut) {
            rates.follow(former, now);
        }
    }
}

/// For each limit that limits, and is a bucket, what has to be the same for what was used to stay; and
/// which of several that are the same in that it is.
fn shapes(limits: &[Limit]) -> Vec<Option<(Algorithm, NonZeroU64, bool, usize)>> {
    let limited = limits.iter().filter(|limit| limit.amount().is_some());
    let each = limited.map(|limit| match limit.shape() {
        Shape::Rate(rate) if rate.algorithm.is_bucket() => {
            Some((rate.algorithm, rate.period, limit.is_shaping()))
        }
        _ => None,
    });
    let each: Vec<_> = each.collect();
    let numbered = each.iter().enumerate().map(|(index, shape)| {
        let same = each[..index].iter().filter(|other| *other == shape).count();
        shape.map(|(algorithm, period, shapes)| (algorithm, period, shapes, same))
    });
    numbered.collect()
}

/// One meter for each limit that limits. A bucket's name is its rule and its shape, so that a
/// changed amount keeps what was used; the rate of a bucket is part of its shape, since its state
/// depends on it. Limits of one shape within a rule are told apart by their number.
fn meters(secret: &Secret, rule: &str, limits: &[Limit]) -> Vec<Meter> {
    let name = |limit: &Limit| match limit.shape() {
        Shape::Rate(rate) => {
            let amount = rate.algorithm.is_bucket().then_some(rate.amount);
            Some((rate.algorithm, rate.period, amount, limit.is_shaping()))
        }
        Shape::Unlimited | Shape::Concurrent(_) => None,
    };
    let limits: Vec<&Limit> = limits.iter().filter(|limit| limit.amount().is_some()).collect();
    let numbered = limits.iter().enumerate().filter_map(|(index, limit)| {
        let same = limits[..index].iter().filter(|other| name(other) == name(limit)).count();
        let name = bucket_name(rule, limit, same);
        #[cfg(feature = "redis")]
        let shared = secret.shared_name(&name);
        #[cfg(not(feature = "redis"))]
        let shared = 0;
        Meter::new(limit.shape(), secret.salt(&name), shared)
    });
    numbered.collect()
}

/// The same name as text, for what outlives this process and this version.
fn bucket_name(rule: &str, limit: &Limit, same: usize) -> String {
    match limit.shape() {
        Shape::Unlimited => String::new(),
        Shape::Concurrent(_) => format!("{rule} concurrent {same}"),
        Shape::Rate(rate) => {
            let amount = if rate.algorithm.is_bucket() { rate.amount.get() } else { 0 };
            let (algorithm, period) = (rate.algorithm, rate.period);
            let shapes = if limit.is_shaping() { "shaping" } else { "policing" };
            format!("{rule} {algorithm} {amount}/{period} {shapes} {same}")
        }
    }
}
