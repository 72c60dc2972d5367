//! Where the rules of a release are found: by host and path, by a header field, or by descriptors.
//!
//! Invariant: what it takes to find the rules of a request does not grow with rules that it cannot match.

use super::Entry;
use crate::rule::Match;
use crate::rule::index::{Entry as Indexed, Index};
use std::collections::HashMap;
use std::sync::Arc;

/// The rules of a domain: by one of the descriptors that they ask for, if there is any.
#[derive(Default)]
pub(in crate::limiter) struct Domain {
    by_entry: HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>,
    others: Vec<u32>,
}

/// The header field by which a rule is found that has neither host nor path.
fn found_by(entry: &Entry) -> Option<(&Arc<str>, &Arc<str>)> {
    let Match { hosts, paths, headers, .. } = &entry.spec.matches;
    let anywhere = hosts.is_empty() && paths.is_empty() && entry.spec.domain.is_none();
    let mut valued = headers.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    valued.next().filter(|_| anywhere)
}

pub(super) fn by_header(entries: &[Entry]) -> HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>> {
    let mut found: HashMap<_, HashMap<_, Vec<u32>>> = HashMap::new();
    for (number, entry) in entries.iter().enumerate() {
        if let Some((name, value)) = found_by(entry) {
            let values = found.entry(Arc::clone(name)).or_default();
            values.entry(Arc::clone(value)).or_default().push(number as u32);
        }
    }
    found
}

pub(super) fn index(entries: &[Entry]) -> Index {
    let plain = entries.iter().enumerate();
    let plain = plain.filter(|(_, entry)| entry.spec.domain.is_none() && found_by(entry).is_none());
    Index::new(plain.map(|(number, entry)| Indexed {
        rule: number as u32,
        hosts: &entry.spec.matches.hosts,
        paths: &entry.spec.matches.paths,
    }))
}

pub(super) fn domains(entries: &[Entry]) -> HashMap<Arc<str>, Domain> {
    let mut domains: HashMap<Arc<str>, Domain> = HashMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let Some(name) = &entry.spec.domain else { continue };
        let domain = domains.entry(Arc::clone(name)).or_default();
        let valued = entry.spec.matches.descriptors.iter();
        let valued = valued.filter_map(|(name, value)| Some((name, value.as_ref()?))).next();
        let list = match valued {
            Some((name, value)) => {
                let values = domain.by_entry.entry(Arc::clone(name)).or_default();
                values.entry(Arc::clone(value)).or_default()
            }
            None => &mut domain.others,
        };
        list.push(number as u32);
    }
    domains
}

impl Domain {
    /// The rules that may match, in their order.
    pub(in crate::limiter) fn find(&self, descriptors: &[(&str, &str)]) -> Vec<u32> {
        let named =
            descriptors.iter().filter_map(|(name, value)| self.by_entry.get(*name)?.get(*value));
        let mut found: Vec<u32> = named.flatten().chain(&self.others).copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
