//! What a request has of what rules ask for: its tier, its cost, the parts of its key.
//!
//! Invariant: what is there twice, or is not what it should be, is an error of the caller and never a
//! way to be counted as somebody else.

use super::View;
use crate::limiter::release::Entry;
use crate::request::path::CanonicalPath;
use crate::request::{Rejected, Single, single};
use crate::rule::key::KeyBytes;
use crate::rule::method::{canonical_method, counted_method};
use crate::rule::pattern::PathPattern;
use crate::rule::when::Facts;
use crate::rule::{CostSpec, KeyKind, OnMissing, RuleSpec};
use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::Arc;

impl View<'_> {
    /// The number of the caller's tier.
    pub(in crate::limiter) fn tier(&self) -> Result<usize, Rejected> {
        Ok(self.release.tier(self.caller.tier().map_err(Rejected::clone)?))
    }

    /// Units that the request takes.
    pub(super) fn cost(&self, spec: &CostSpec) -> Result<u64, Rejected> {
        let said = self.request.cost.unwrap_or(1);
        let (name, default, max) = match spec {
            CostSpec::Fixed(units) => return Ok(units.saturating_mul(said)),
            CostSpec::Header { name, default, max } => (name, *default, *max),
        };
        let malformed = || {
            let repair = "write it once, as a whole number of at least 1";
            Rejected::malformed(format!("the header field `{name}` is not a cost; {repair}"))
        };
        let units = match single(self.request.headers, name) {
            Single::None => default,
            Single::Several => return Err(malformed()),
            Single::One(text) => {
                let digits = text.first().is_some_and(|first| *first != b'0');
                let digits = digits && text.len() <= 20 && text.iter().all(u8::is_ascii_digit);
                let text =
                    std::str::from_utf8(text).ok().filter(|_| digits).ok_or_else(malformed)?;
                // What is too long for a number is above every bound.
                text.parse::<u64>().unwrap_or(u64::MAX).min(max)
            }
        };
        Ok(if said == 0 { 0 } else { units })
    }

    pub(super) fn facts(&self, cost: u64) -> Result<Facts<'_>, Rejected> {
        let clone = Rejected::clone;
        Ok(Facts {
            method: canonical_method(self.request.method),
            path: self.path.as_ref().map_or("", CanonicalPath::as_str),
            host: self.host.as_deref().unwrap_or_default(),
            headers: self.request.headers,
            ip: self.caller.address().map_or_else(|_| String::new(), |own| own.to_string()),
            user: self.caller.user().map_err(clone)?.unwrap_or_default(),
            tier: self.release.tiers.get(self.tier()?).map_or("", |tier| &**tier),
            #[cfg(all(feature = "cel", feature = "jwt"))]
            claims: self.caller.claims().map_err(clone)?,
            cost,
        })
    }

    /// Who is counted; `None` if a part is missing, and the rule does not make do with the address.
    pub(in crate::limiter) fn key(
        &self,
        entry: &Entry,
        route: Option<&PathPattern>,
    ) -> Result<Option<KeyBytes>, Rejected> {
        let mut key = KeyBytes::new();
        for part in &entry.spec.key.parts {
            let part = if part[..] == [KeyKind::Given] { self.given } else { part };
            let mut has = false;
            for kind in part {
                if self.part(kind, route, &mut key)? {
                    has = true;
                    break;
                }
            }
            if !has {
                match entry.spec.on_missing {
                    OnMissing::Ip => key.address(self.caller.network().map_err(Rejected::clone)?),
                    OnMissing::Skip | OnMissing::Deny => return Ok(None),
                }
            }
        }
        Ok(Some(key))
    }

    /// A descriptor of a domain that the key needs, and the request lacks.
    pub(super) fn lacks_entry(&self, spec: &RuleSpec) -> Option<Arc<str>> {
        spec.domain.as_ref()?;
        let has = |name: &str| self.request.descriptors.iter().any(|(own, _)| **own == *name);
        let lacks = |part: &Vec<KeyKind>| {
            let mut first = None;
            for kind in part {
                match kind {
                    KeyKind::Descriptor(name) if !has(name) => _ = first.get_or_insert(name),
                    _ => return None,
                }
            }
            first.map(Arc::clone)
        };
        spec.key.parts.iter().find_map(lacks)
    }

    /// One part of the key, if the request has it.
    fn part(
        &self,
        kind: &KeyKind,
        route: Option<&PathPattern>,
        key: &mut KeyBytes,
    ) -> Result<bool, Rejected> {
        let clone = Rejected::clone;
        let text: Option<Cow<'_, str>> = match kind {
            KeyKind::Given => None,
            KeyKind::Ip => {
                key.address(self.caller.network().map_err(clone)?);
                return Ok(true);
            }
            KeyKind::Global => Some("".into()),
            KeyKind::User => self.caller.user().map_err(clone)?.map(Cow::from),
            KeyKind::ApiKey => self.caller.api_key().map_err(clone)?.map(Cow::from),
            KeyKind::Tier => {
                let tier = self.release.tiers.get(self.tier()?);
                Some(tier.map_or("", |tier| &**tier).into())
            }
            KeyKind::Route => Some(route.map_or(Cow::from("/**"), |own| own.to_string().into())),
            KeyKind::Path => self.path.as_ref().map(PathPattern::folded),
            KeyKind::Method => Some(counted_method(self.request.method).into()),
            KeyKind::Host => self.host.as_deref().map(Cow::from),
            KeyKind::Header(name) => return self.header_part(kind, name, key),
            KeyKind::Claim(name) => self.caller.claim(name).map_err(clone)?,
            KeyKind::Descriptor(name) => {
                let own = self.request.descriptors.iter().find(|(own, _)| **own == **name);
                own.map(|(_, value)| Cow::from(*value))
            }
        };
        // A proxy says what it found; left out, an empty entry would be a way past the rule.
        let empty_counts = matches!(kind, KeyKind::Global | KeyKind::Tier | KeyKind::Descriptor(_));
        match text.filter(|text| empty_counts || !text.is_empty()) {
            Some(text) => {
                key.part(kind, text.as_bytes());
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// A header field as a part: there once, and not empty.
    fn header_part(
        &self,
        kind: &KeyKind,
        name: &str,
        key: &mut KeyBytes,
    ) -> Result<bool, Rejected> {
        match single(self.request.headers, name) {
            Single::None => Ok(false),
            Single::One(value) if value.trim_ascii().is_empty() => Ok(false),
            Single::One(value) => {
                key.part(kind, value.trim_ascii());
                Ok(true)
            }
            Single::Several => Err(Rejected::malformed(format!(
                "the header field `{name}` is there more than once; send it once"
            ))),
        }
    }
}

/// A number below 100 that is the same for a rule and a key in every process, for years.
pub(super) fn stable(rule: &str, key: &[u8]) -> u64 {
    let mut hasher = siphasher::sip::SipHasher24::new_with_key(b"ratekeeper share");
    hasher.write(rule.as_bytes());
    hasher.write(&(rule.len() as u64).to_le_bytes());
    hasher.write(key);
    hasher.finish() % 100
}
