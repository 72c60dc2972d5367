//! Which rules may apply to a request: those whose host and path fit.
//!
//! Invariant: they come in the order of the file, each once, whatever they were found by.

use super::View;
use crate::few::Few;
use crate::rule::index::Found;

impl View<'_> {
    /// Every rule whose host and path fit; other conditions may not.
    pub(super) fn find(&self) -> Few<Found> {
        let finder = &self.release.finder;
        if let Some(domain) = self.request.domain {
            let domain = finder.domains.get(domain);
            return domain.map(|own| own.find(self.request.descriptors)).unwrap_or_default();
        }
        let mut found = finder.places.find(self.host.as_deref(), self.path.as_ref());
        let before = found.len();
        for (name, values) in &finder.headers {
            self.request.headers.each(name, &mut |line| {
                let rules = str::from_utf8(line).ok().and_then(|line| values.get(line));
                self.add_fitting(rules.map_or(&[], |rules| rules), &mut found);
            });
        }
        self.add_fitting(finder.by_method(self.request.method), &mut found);
        if !finder.tiers.is_empty() {
            match self.tier() {
                Ok(tier) => {
                    let rules = finder.tiers.get(&tier);
                    self.add_fitting(rules.map_or(&[], |rules| rules), &mut found);
                }
                // Each of them says what it does about a tier that nobody can tell.
                Err(_) => {
                    finder.tiers.values().for_each(|rules| self.add_fitting(rules, &mut found));
                }
            }
        }
        if found.len() > before {
            found.sort_once(|found| found.rule);
        }
        found
    }

    /// Adds those of the rules that are for the host and the path.
    fn add_fitting(&self, rules: &[u32], found: &mut Few<Found>) {
        let (host, path) = (self.host.as_deref(), self.path.as_ref());
        let entry = |rule: u32| &self.release.entries[rule as usize];
        found.extend(rules.iter().filter_map(|rule| entry(*rule).at(*rule, host, path)));
    }
}

#[cfg(test)]
mod tests {
    use super::View;
    use crate::rule::kind::ANYONE;
    use crate::rule::pattern::PathPattern;
    use crate::rule::{Limits, Match, RuleSet, RuleSpec};
    use crate::{Limiter, Request};
    use std::sync::Arc;

    /// Goal: what is looked at does not grow with rules that are told apart by something else than path.
    /// Method: a hundred rules, on one path or on none, of which a request meets one by a header field, a
    /// method or a tier.
    #[test]
    fn rules_are_found_by_what_tells_them_apart() {
        let name = |kind: &str, number: usize| -> Arc<str> { format!("{kind}{number}").into() };
        let kinds: [fn(usize, Arc<str>) -> Match; 3] = [
            |_, own| Match { headers: vec![("h".into(), Some(own))], ..Match::default() },
            |_, own| Match { methods: vec![own], ..Match::default() },
            |number, _| Match { tiers: vec![number], ..Match::default() },
        ];
        for paths in [&[][..], &["/api/**"]] {
            for kind in kinds {
                let rules = (0..100).map(|number| {
                    let paths =
                        paths.iter().map(|path| PathPattern::parse(path).unwrap()).collect();
                    let matches = Match { paths, ..kind(number, name("M", number)) };
                    let limits = Limits::Same(vec!["1/day".parse().unwrap()]);
                    RuleSpec { matches, ..RuleSpec::new(format!("r{number}"), limits) }
                });
                let tiers = (0..100).map(|number| name("T", number)).collect();
                let set = RuleSet { rules: rules.collect(), tiers, ..RuleSet::default() };
                let limiter = Limiter::memory().rules(set).build();
                let release = limiter.0.rules.load();
                let fields = [("h", "M7")];
                let request =
                    Request { headers: &fields, tier: Some("T7"), ..Request::new("M7", "/api/x") };
                let view = View::new(&limiter.0, &release, &request, ANYONE).unwrap();
                let found: Vec<u32> = view.find().iter().map(|found| found.rule).collect();
                assert_eq!(found, [7]);
                let away = Request { path: "/static/x", ..request };
                let view = View::new(&limiter.0, &release, &away, ANYONE).unwrap();
                assert_eq!(view.find().len(), usize::from(paths.is_empty()));
            }
        }
    }
}
