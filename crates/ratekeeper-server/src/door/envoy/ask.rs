//! What Envoy asks, as the limiter is asked it.
//!
//! Invariant: a question that exists is within every bound; what is wrong with one is told with its place, and
//! without the values, which may name somebody.

use super::proto::rate_limit_descriptor::RateLimitOverride;
use super::proto::{RateLimitDescriptor, RateLimitRequest, RateLimitUnit};
use crate::door::COST_MAX;
use ratekeeper::limiter::{Descriptor, Hits, OwnLimit, PreparedDescriptors};
use ratekeeper::{Limit, Limiter, Request};
use std::time::Duration;

/// Most bytes of a message. Beyond it: `INVALID_ARGUMENT`, as for all that follow.
pub const MESSAGE_MAX: usize = 64 * 1024;

/// Most descriptors of a request.
pub const DESCRIPTORS_MAX: usize = 32;

/// Most entries of a descriptor.
pub const ENTRIES_MAX: usize = 16;

/// Most bytes of a domain, and of the key or the value of an entry.
pub const VALUE_MAX: usize = 1024;

/// Names and values of a descriptor.
type Entries<'a> = Vec<(&'a str, &'a str)>;

/// A question.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) domain: &'a str,
    parts: Vec<(Entries<'a>, Hits, Option<OwnLimit>)>,
}

impl<'a> Asked<'a> {
    pub(super) fn read(request: &'a RateLimitRequest) -> Result<Asked<'a>, String> {
        let RateLimitRequest { domain, descriptors, hits_addend } = request;
        bounded("domain", domain, 1)?;
        if descriptors.is_empty() || descriptors.len() > DESCRIPTORS_MAX {
            let count = descriptors.len();
            return Err(format!("descriptors: there are {count}; send 1 to {DESCRIPTORS_MAX}"));
        }
        // Nothing is how one is written.
        let hits = u64::from(*hits_addend).max(1);
        let numbered = descriptors.iter().enumerate();
        let parts = numbered.map(|(number, own)| {
            part(own, hits).map_err(|fault| format!("descriptors[{number}].{fault}"))
        });
        Ok(Asked { domain, parts: parts.collect::<Result<_, _>>()? })
    }

    pub(super) fn descriptors(&self) -> Vec<Descriptor<'_>> {
        let each = self.parts.iter();
        each.map(|(entries, hits, limit)| Descriptor { entries, hits: *hits, limit: *limit })
            .collect()
    }

    /// One descriptor as a request of its own.
    pub(super) fn request(&self, number: usize) -> Request<'_> {
        let descriptors = &self.parts[number].0;
        Request { domain: Some(self.domain), descriptors, ..Request::new("", "") }
    }
}

fn part(
    own: &RateLimitDescriptor,
    all: u64,
) -> Result<(Entries<'_>, Hits, Option<OwnLimit>), String> {
    let RateLimitDescriptor { entries, limit, hits_addend, is_negative_hits } = own;
    if entries.is_empty() || entries.len() > ENTRIES_MAX {
        return Err(format!("entries: there are {}; send 1 to {ENTRIES_MAX}", entries.len()));
    }
    for (number, entry) in entries.iter().enumerate() {
        bounded("key", &entry.key, 1).map_err(|fault| format!("entries[{number}].{fault}"))?;
        bounded("value", &entry.value, 0).map_err(|fault| format!("entries[{number}].{fault}"))?;
    }
    let units = hits_addend.unwrap_or(all);
    if units > COST_MAX {
        return Err(format!("hits_addend: is too large; send at most {COST_MAX}"));
    }
    let hits = if *is_negative_hits { Hits::GiveBack(units) } else { Hits::Take(units) };
    let limit = limit.as_ref().map(override_limit).transpose()?;
    let entries = entries.iter().map(|entry| (&*entry.key, &*entry.value)).collect();
    Ok((entries, hits, limit))
}

fn bounded(what: &str, text: &str, least: usize) -> Result<(), String> {
    match text.len() {
        0 if least > 0 => Err(format!("{what}: is empty; send one")),
        length if length > VALUE_MAX => {
            Err(format!("{what}: has {length} bytes; send at most {VALUE_MAX}"))
        }
        _ => Ok(()),
    }
}

/// A limit of the caller's own: so many in a unit of time, none of which closes it.
fn override_limit(own: &RateLimitOverride) -> Result<OwnLimit, String> {
    let period = match RateLimitUnit::try_from(own.unit) {
        Ok(RateLimitUnit::Second) => 1,
        Ok(RateLimitUnit::Minute) => 60,
        Ok(RateLimitUnit::Hour) => 3_600,
        Ok(RateLimitUnit::Day) => DAY,
        Ok(RateLimitUnit::Month) => 30 * DAY,
        Ok(RateLimitUnit::Year) => 365 * DAY,
        Ok(RateLimitUnit::UnknownUnit) | Err(_) => {
            return Err("limit.unit: is none; send one from SECOND to YEAR".into());
        }
    };
    if own.requests_per_unit == 0 {
        return Ok(OwnLimit::Closed);
    }
    let limit = Limit::per(own.requests_per_unit.into(), Duration::from_secs(period)).build();
    limit.map(OwnLimit::Limit).map_err(|error| format!("limit: {error}"))
}

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Reads a message, and asks a limiter about it, as the service does: for who bends its bytes. Whether it could
/// be asked.
pub fn fuzz(message: &[u8], limiter: &Limiter) -> bool {
    let read: Result<RateLimitRequest, _> = prost::Message::decode(message);
    let Ok(request) = read else { return false };
    let Ok(asked) = Asked::read(&request) else { return false };
    let prepared = limiter.prepare_descriptors(asked.domain, &asked.descriptors());
    let Ok(Ok(described)) = prepared.map(PreparedDescriptors::try_now) else { return false };
    let answer = super::reply::of(&described, None, limiter.now());
    assert_eq!(described.parts().len(), request.descriptors.len());
    answer.status().is_success()
}
