//! Where the rules of a release are found: by host and path, by a header field, a method or a tier, or by
//! descriptors.
//!
//! Each rule is found by what it shares with the fewest others. Invariant: what it takes to find the rules
//! of a request does not grow with rules that it cannot match.

use super::Entry;
use crate::few::Few;
use crate::request::path::CanonicalPath;
use crate::rule::index::{Entry as Indexed, Found, Index};
use crate::rule::method::canonical_method;
use crate::rule::pattern::{HostPattern, PathPattern};
use crate::rule::{Exempt, Match};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// Rules that share something, at most, for which a rule with a place is found by that instead.
const FEW: u32 = 8;

/// Names of header fields, at most, by which rules are found: each is looked for in every request.
const NAMES_MAX: usize = 16;

/// Rules by the name of something and its value.
type Named = HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>;

/// Finds the rules of a request.
pub(in crate::limiter) struct Finder {
    /// By host and path.
    pub(in crate::limiter) places: Index,
    /// By the value of a header field.
    pub(in crate::limiter) headers: Named,
    /// By method, in upper case; those for `GET` are for `HEAD`, too.
    methods: HashMap<Arc<str>, Vec<u32>>,
    /// By the number of a tier.
    pub(in crate::limiter) tiers: HashMap<usize, Vec<u32>>,
    /// By descriptors of a domain.
    pub(in crate::limiter) domains: HashMap<Arc<str>, Domain>,
}

/// The rules of a domain: by one of the descriptors that they ask for, if there is any.
#[derive(Default)]
pub(in crate::limiter) struct Domain {
    by_entry: Named,
    others: Vec<u32>,
}

/// What a rule is found by.
enum By<'e> {
    Place,
    Header(&'e Arc<str>, &'e Arc<str>),
    Methods,
    Tiers,
}

/// How many rules have the same.
#[derive(Default)]
struct Counts<'e> {
    places: HashMap<(&'e [HostPattern], &'e [PathPattern]), u32>,
    headers: HashMap<(&'e Arc<str>, &'e Arc<str>), u32>,
    /// Names of header fields that must have a value.
    names: HashSet<&'e Arc<str>>,
    methods: HashMap<&'e Arc<str>, u32>,
    tiers: HashMap<usize, u32>,
}

/// Header fields that must have a value.
fn valued(matches: &Match) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
    matches.headers.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
}

fn place(matches: &Match) -> (&[HostPattern], &[PathPattern]) {
    (&matches.hosts, &matches.paths)
}

impl<'e> Counts<'e> {
    fn add(&mut self, matches: &'e Match) {
        fn more<K: Eq + Hash>(counts: &mut HashMap<K, u32>, key: K) {
            *counts.entry(key).or_default() += 1;
        }
        more(&mut self.places, place(matches));
        valued(matches).for_each(|header| more(&mut self.headers, header));
        self.names.extend(valued(matches).map(|(name, _)| name));
        matches.methods.iter().for_each(|method| more(&mut self.methods, method));
        matches.tiers.iter().for_each(|tier| more(&mut self.tiers, *tier));
    }

    /// What the fewest other rules have; of equals, the place. What is found by something else is looked at
    /// wherever the request goes, so a rule that has a place leaves it only for what few have.
    fn rarest(&self, matches: &'e Match) -> By<'e> {
        let most = |counts: &mut dyn Iterator<Item = u32>| counts.max().unwrap_or(u32::MAX);
        let methods = &mut matches.methods.iter().map(|method| self.methods[method]);
        let tiers = &mut matches.tiers.iter().map(|tier| self.tiers[tier]);
        let known = self.names.len() <= NAMES_MAX;
        let headers = valued(matches)
            .filter(|_| known)
            .map(|(name, value)| (self.headers[&(name, value)], By::Header(name, value)));
        let others = [(most(methods), By::Methods), (most(tiers), By::Tiers)];
        let most =
            if matches.hosts.is_empty() && matches.paths.is_empty() { u32::MAX } else { FEW };
        let others = headers.chain(others).filter(|(count, _)| *count <= most);
        let all = [(self.places[&place(matches)], By::Place)].into_iter().chain(others);
        let rarest = all.min_by_key(|(count, _)| *count);
        rarest.map_or(By::Place, |(_, by)| by)
    }
}

impl Finder {
    pub(super) fn new(entries: &[Entry]) -> Finder {
        let plain = || {
            let numbered = (0_u32..).zip(entries);
            numbered.filter(|(_, entry)| entry.spec.domain.is_none())
        };
        let mut counts = Counts::default();
        plain().for_each(|(_, entry)| counts.add(&entry.spec.matches));
        let mut finder = Finder {
            places: Index::new([]),
            headers: Named::new(),
            methods: HashMap::new(),
            tiers: HashMap::new(),
            domains: domains(entries),
        };
        for (rule, entry) in plain() {
            let matches = &entry.spec.matches;
            match counts.rarest(matches) {
                By::Place => finder.places.add(&indexed(rule, matches)),
                By::Header(name, value) => file(&mut finder.headers, name, value, rule),
                By::Methods => finder.file_by_method(rule, &matches.methods),
                By::Tiers => matches.tiers.iter().for_each(|tier| {
                    finder.tiers.entry(*tier).or_default().push(rule);
                }),
            }
        }
        finder
    }

    fn file_by_method(&mut self, rule: u32, methods: &[Arc<str>]) {
        let mut file = |method: Arc<str>| self.methods.entry(method).or_default().push(rule);
        for method in methods {
            let method = canonical_method(method);
            if method == "GET" {
                file("HEAD".into());
            }
            file(method.into());
        }
    }

    /// Rules by method.
    pub(in crate::limiter) fn by_method(&self, method: &str) -> &[u32] {
        if self.methods.is_empty() {
            return &[];
        }
        self.methods.get(&*canonical_method(method)).map_or(&[], |rules| rules)
    }
}

fn file(named: &mut Named, name: &Arc<str>, value: &Arc<str>, rule: u32) {
    let values = named.entry(Arc::clone(name)).or_default();
    values.entry(Arc::clone(value)).or_default().push(rule);
}

fn indexed(rule: u32, matches: &Match) -> Indexed<'_> {
    Indexed { rule, hosts: &matches.hosts, paths: &matches.paths }
}

/// Which entries of `exempt` may be for a host and a path.
pub(super) fn exempt_index(exempt: &[Exempt]) -> Index {
    let numbered = (0_u32..).zip(exempt);
    Index::new(numbered.map(|(number, own)| indexed(number, &own.matches)))
}

impl Entry {
    /// The rule as it is found at a host and a path, if it is for them.
    pub(in crate::limiter) fn at(
        &self,
        rule: u32,
        host: Option<&str>,
        path: Option<&CanonicalPath<'_>>,
    ) -> Option<Found> {
        let Match { hosts, paths, .. } = &self.spec.matches;
        let host = host.unwrap_or_default();
        if !hosts.is_empty() && !hosts.iter().any(|own| own.matches(host)) {
            return None;
        }
        if paths.is_empty() {
            return Some(Found { rule, pattern: None });
        }
        let first = paths.iter().position(|own| path.is_some_and(|path| own.matches(path)))?;
        Some(Found { rule, pattern: Some(first as u32) })
    }
}

fn domains(entries: &[Entry]) -> HashMap<Arc<str>, Domain> {
    let mut domains: HashMap<Arc<str>, Domain> = HashMap::new();
    for (rule, entry) in (0_u32..).zip(entries) {
        let Some(name) = &entry.spec.domain else { continue };
        let domain = domains.entry(Arc::clone(name)).or_default();
        let valued = entry.spec.matches.descriptors.iter();
        let valued = valued.filter_map(|(name, value)| Some((name, value.as_ref()?))).next();
        match valued {
            Some((name, value)) => file(&mut domain.by_entry, name, value, rule),
            None => domain.others.push(rule),
        }
    }
    domains
}

impl Domain {
    /// The rules that may match, in their order.
    pub(in crate::limiter) fn find(&self, descriptors: &[(&str, &str)]) -> Few<Found> {
        let named =
            descriptors.iter().filter_map(|(name, value)| self.by_entry.get(*name)?.get(*value));
        let all = named.flatten().chain(&self.others);
        let mut found: Few<Found> = all.map(|rule| Found { rule: *rule, pattern: None }).collect();
        found.sort_once(|found| found.rule);
        found
    }
}
