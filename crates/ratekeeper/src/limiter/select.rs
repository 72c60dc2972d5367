//! From a request to what is charged for it: which rules apply, who is counted, how much it costs.
//!
//! Invariant: a rule that cannot tell whom to count does what it was told to, and never counts nobody.

mod find;
mod parts;
mod selected;
mod unheld;
mod why;

pub(super) use selected::{Applies, Selected, Slot};
pub(super) use why::Why;

use super::Inner;
use super::release::{Entry, Release};
use crate::identity::Caller;
use crate::request::path::CanonicalPath;
use crate::request::{Rejected, Request};
use crate::rule::index::Found;
use crate::rule::key::parts_of;
use crate::rule::method::method_matches;
use crate::rule::pattern::canonical_host;
use crate::rule::{Exempt, KeyKind, Match, OnMissing, Rollout};
use std::borrow::Cow;
use std::sync::Arc;

/// A request on its way through a release.
pub(super) struct View<'r> {
    limiter: &'r Inner,
    pub(super) release: &'r Release,
    pub(super) request: &'r Request<'r>,
    pub(super) caller: Caller<'r>,
    /// The path that all agree on; `None` if no rule looks at it.
    pub(super) path: Option<CanonicalPath<'r>>,
    pub(super) host: Option<Cow<'r, str>>,
    /// What is counted by where a rule leaves it to the door.
    given: &'r [KeyKind],
    /// Whether whoever asks can give permits back.
    permits: bool,
}

impl<'r> View<'r> {
    pub(super) fn new(
        limiter: &'r Inner,
        release: &'r Release,
        request: &'r Request<'r>,
        given: &'r [KeyKind],
    ) -> Result<View<'r>, Rejected> {
        let path = match release.looks_at_path && request.domain.is_none() {
            true => Some(CanonicalPath::new(request.path).map_err(|fault| {
                Rejected::malformed(format!("the path cannot be matched: {fault}"))
            })?),
            false => None,
        };
        let (caller, host) =
            (Caller::new(&release.identity, request), request.host.map(canonical_host));
        Ok(View { limiter, release, request, caller, path, host, given, permits: true })
    }

    /// What is charged.
    pub(super) fn select(&self) -> Result<Selected, Rejected> {
        let looks = self.request.cost == Some(0);
        let mut selected = Selected { looks, ..Selected::default() };
        if self.is_exempt()? {
            return Ok(selected);
        }
        for found in self.find() {
            self.add(&mut selected, found)?;
        }
        Ok(selected)
    }

    fn add(&self, selected: &mut Selected, found: Found) -> Result<(), Rejected> {
        let entry = &self.release.entries[found.rule as usize];
        let (applies, shadow) = match self.apply(entry, found.pattern) {
            Ok(applies) => applies,
            Err(Why::Rejected(rejected)) if self.may_refuse(entry) => return Err(rejected),
            Err(_) => return Ok(()),
        };
        let applies = if self.permits { Some(applies) } else { applies.without_permits() };
        if let Some(applies) = applies {
            selected.add(entry, applies, shadow);
        }
        Ok(())
    }

    /// How a rule whose host and path match applies, and whether in shadow; or why it does not.
    pub(super) fn apply<'e>(
        &self,
        entry: &'e Entry,
        pattern: Option<u32>,
    ) -> Result<(Applies<'e>, bool), Why> {
        let spec = &entry.spec;
        self.matches(&spec.matches)?;
        if let Some(name) = self.lacks_entry(spec) {
            return Err(Why::Descriptor(name));
        }
        let rollout = self.rollout(entry);
        if rollout == Rollout::Off {
            return Err(Why::Off);
        }
        let cost = self.cost(&spec.cost)?;
        if let Some(when) = &entry.when
            && !when.holds(&self.facts(cost)?)
        {
            return Err(Why::When);
        }
        let route = pattern.and_then(|number| spec.matches.paths.get(number as usize));
        let Some(key) = self.key(entry, route)? else {
            return match spec.on_missing {
                // Who has no key has the share of an empty one.
                OnMissing::Deny => Ok((Applies::Closed, is_shadow(rollout, &spec.id, &[]))),
                OnMissing::Ip | OnMissing::Skip => Err(Why::Missing),
            };
        };
        let shadow = is_shadow(rollout, &spec.id, key.as_bytes());
        let who = self.limiter.secret.who(key.as_bytes());
        self.limiter.meet(&spec.id, &who, &|| parts_of(key.as_bytes()));
        let tier = if entry.live.len() > 1 || entry.trial.len() > 1 { self.tier()? } else { 0 };
        // Most rules have no overrides, and need no clock for them.
        let rule = match entry.overrides.is_empty() {
            true => entry.limited(tier),
            false => entry.limits_of(&who, tier, self.limiter.clock.now()),
        };
        let Some(rule) = rule else {
            return Ok((Applies::Closed, shadow));
        };
        let trial = entry.tried(tier);
        Ok((Applies::Limits { rule, trial, who, cost }, shadow))
    }

    /// For whom a rule is enforced.
    fn rollout(&self, entry: &Entry) -> Rollout {
        self.limiter.switched(&entry.spec.id).unwrap_or(entry.spec.rollout)
    }

    /// Whether a rule is enforced for anybody; one that is not refuses nothing, whatever it is like.
    pub(super) fn may_refuse(&self, entry: &Entry) -> bool {
        self.limiter.is_enforced(&entry.spec)
    }

    /// Whether the request has all that is asked for, host and path aside.
    fn matches(&self, matches: &Match) -> Result<(), Why> {
        if !method_matches(&matches.methods, self.request.method) {
            return Err(Why::Method);
        }
        if let Some(path) = &self.path
            && let Some(number) = matches.except.iter().position(|not| not.matches_strictly(path))
        {
            return Err(Why::Except(number));
        }
        for (name, value) in &matches.headers {
            if !self.has_header(name, value.as_deref()) {
                return Err(Why::Header(Arc::clone(name)));
            }
        }
        if !matches.tiers.is_empty() && !matches.tiers.contains(&self.tier()?) {
            return Err(Why::Tier);
        }
        for (name, value) in &matches.descriptors {
            let has = |(own, given): &(&str, &str)| {
                **own == **name && value.as_deref().is_none_or(|value| *value == **given)
            };
            if !self.request.descriptors.iter().any(has) {
                return Err(Why::Descriptor(Arc::clone(name)));
            }
        }
        Ok(())
    }

    fn has_header(&self, name: &str, value: Option<&str>) -> bool {
        let mut has = false;
        self.request.headers.each(name, &mut |line| {
            has |= value.is_none_or(|value| value.as_bytes() == line);
        });
        has
    }

    /// Whether the request passes without being counted.
    pub(super) fn is_exempt(&self) -> Result<bool, Rejected> {
        if self.release.exempt.is_empty() {
            return Ok(false);
        }
        for found in self.release.exempt_index.find(self.host.as_deref(), self.path.as_ref()) {
            if self.fits(&self.release.exempt[found.rule as usize])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fits(&self, Exempt { matches, ips }: &Exempt) -> Result<bool, Rejected> {
        // What a descriptor cannot have says nothing about it.
        if self.request.domain.is_some() && matches.descriptors.is_empty() {
            return Ok(false);
        }
        let host = self.host.as_deref().unwrap_or_default();
        let on_host = matches.hosts.is_empty() || matches.hosts.iter().any(|own| own.matches(host));
        let strictly = |path: &CanonicalPath<'_>| {
            matches.paths.iter().any(|pattern| pattern.matches_strictly(path))
        };
        let on_path = matches.paths.is_empty() || self.path.as_ref().is_some_and(strictly);
        if !on_host || !on_path {
            return Ok(false);
        }
        match self.matches(matches) {
            Ok(()) => {}
            Err(Why::Rejected(rejected)) => return Err(rejected),
            Err(_) => return Ok(false),
        }
        // Without an address nobody comes from a network.
        Ok(ips.is_empty()
            || self.caller.address().is_ok_and(|own| ips.iter().any(|net| net.contains(&own))))
    }
}

/// Whether a rule is in shadow for a key.
pub(super) fn is_shadow(rollout: Rollout, rule: &str, key: &[u8]) -> bool {
    match rollout {
        Rollout::Percent(100) => false,
        Rollout::Percent(percent) => parts::stable(rule, key) >= percent.into(),
        Rollout::Off | Rollout::Shadow => true,
    }
}
