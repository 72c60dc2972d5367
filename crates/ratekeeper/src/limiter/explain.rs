//! Why a request is decided as it is: what matched, what did not and why, which key, which limits, what is
//! left.
//!
//! Invariant: explaining charges nothing.

use super::release::Entry;
use super::select::{Applies, View, Why};
use super::{Asked, Limiter};
use crate::decision::Decision;
use crate::limit::Limit;
use crate::request::{Rejected, Request};
use crate::rule::Rollout;
use crate::rule::key::parts_of;
use crate::rule::kind::ANYONE;
use crate::rule::kind::KeyPart;
use std::net::IpAddr;
use std::sync::Arc;

/// Why a request is decided as it is; see [`Limiter::explain`].
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The release that decides.
    pub version: u64,
    /// The path that rules are matched against; `None` if no rule looks at it.
    pub path: Option<String>,
    /// The caller's address, if the door knows it.
    pub address: Option<IpAddr>,
    /// The user, if there is one that was verified.
    pub user: Option<String>,
    /// The tier.
    pub tier: Option<Arc<str>>,
    /// Whether it passes without being counted.
    pub exempt: bool,
    /// Every rule, in the order of the file.
    pub rules: Vec<Explained>,
}

/// One rule, as a request meets it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The rule's id.
    pub rule: Arc<str>,
    /// Why it does not apply; `None` if it does.
    pub why_not: Option<String>,
    /// The pattern that matched the path, if there is one.
    pub route: Option<String>,
    /// Who is counted: what each part is, and its value.
    pub key: Vec<(String, String)>,
    /// The limits that apply; none if the rule is closed.
    pub limits: Vec<Limit>,
    /// Units that the request takes.
    pub cost: u64,
    /// Whether it refuses, or only says what it would do.
    pub mode: Mode,
    /// What is left; `None` if it does not apply, or if the rule is closed.
    pub left: Option<Decision>,
}

/// What a rule does with what it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It refuses.
    Enforced,
    /// It says what it would do.
    Shadow,
    /// Nothing.
    Off,
}

impl Mode {
    /// The name that programs see.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Enforced => "enforced",
            Mode::Shadow => "shadow",
            Mode::Off => "off",
        }
    }
}

/// A rule that applies, to be looked at.
type Look = (usize, Asked);

impl Limiter {
    /// Why a request is decided as it is. Charges nothing.
    pub async fn explain(&self, request: &Request<'_>) -> Result<Explanation, Rejected> {
        let (mut explanation, looks) = self.explain_rules(request)?;
        for (index, asked) in looks {
            let rule = super::Rule::new(Arc::clone(&self.0), asked.rule);
            explanation.rules[index].left = Some(rule.peek_at(asked.who).await);
        }
        Ok(explanation)
    }

    /// The parts of the key under which a rule counts a request, if it is for its host and path; `None` if
    /// there is no such rule, or a part is missing.
    pub fn key_of(&self, rule: &str, request: &Request<'_>) -> Option<Vec<String>> {
        let release = self.0.rules.load();
        let view = View::new(&self.0, &release, request, ANYONE).ok()?;
        let entry = release.find(rule)?;
        let found = entry.at(0, view.host.as_deref(), view.path.as_ref())?;
        let route = found.pattern.and_then(|own| entry.spec.matches.paths.get(own as usize));
        let key = view.key(entry, route).ok()??;
        Some(parts_of(key.as_bytes()).into_iter().map(|part| part.value).collect())
    }

    fn explain_rules(&self, request: &Request<'_>) -> Result<(Explanation, Vec<Look>), Rejected> {
        let release = self.0.rules.load();
        let view = View::new(&self.0, &release, request, ANYONE)?;
        let (mut rules, mut looks) = (Vec::new(), Vec::new());
        for (number, entry) in (0_u32..).zip(&release.entries) {
            let pattern = entry.at(number, view.host.as_deref(), view.path.as_ref());
            let mut explained = Explained::new(entry);
            let met = match view.meets(entry, pattern.is_some()) {
                Ok(()) => view.apply(entry, pattern.and_then(|found| found.pattern)),
                Err(why) => Err(why),
            };
            match met {
                Err(Why::Rejected(rejected)) if view.may_refuse(entry) => return Err(rejected),
                Err(why) => explained.miss(&why),
                Ok((applies, shadow)) => {
                    let route = pattern.and_then(|found| found.pattern);
                    let route =
                        route.and_then(|number| entry.spec.matches.paths.get(number as usize));
                    explained.route = route.map(ToString::to_string);
                    let key = view.key(entry, route)?;
                    let parts = key.map_or_else(Vec::new, |key| parts_of(key.as_bytes()));
                    let told = |part: KeyPart| (part.kind.to_string(), part.value);
                    explained.key = parts.into_iter().map(told).collect();
                    explained.mode = if shadow { Mode::Shadow } else { Mode::Enforced };
                    if let Applies::Limits { rule, who, cost, .. } = applies {
                        explained.limits = rule.limits.to_vec();
                        explained.cost = cost;
                        looks.push((rules.len(), Asked { rule: Arc::clone(rule), who, cost: 0 }));
                    }
                }
            }
            rules.push(explained);
        }
        let user = view.caller.user().map_err(Rejected::clone)?.map(str::to_owned);
        let explanation = Explanation {
            version: release.version,
            path: view.path.as_ref().map(|path| path.as_str().to_owned()),
            address: view.caller.address().ok(),
            user,
            tier: release.tiers.get(view.tier()?).map(Arc::clone),
            exempt: view.is_exempt()?,
            rules,
        };
        Ok((explanation, looks))
    }
}

impl View<'_> {
    /// Whether the index can find a rule for the request: whether domain, host and path fit.
    fn meets(&self, entry: &Entry, found: bool) -> Result<(), Why> {
        let spec = &entry.spec;
        match (self.request.domain, &spec.domain) {
            (Some(domain), Some(own)) if *domain == **own => Ok(()),
            (None, None) if found => Ok(()),
            (None, None) => {
                let host = self.host.as_deref().unwrap_or_default();
                let hosts = &spec.matches.hosts;
                let on_host = hosts.is_empty() || hosts.iter().any(|own| own.matches(host));
                Err(if on_host { Why::Path } else { Why::Host })
            }
            _ => Err(Why::Domain),
        }
    }
}

impl Explained {
    fn new(entry: &Entry) -> Explained {
        let off = entry.spec.rollout == Rollout::Off;
        Explained {
            rule: Arc::clone(&entry.spec.id),
            why_not: None,
            route: None,
            key: Vec::new(),
            limits: Vec::new(),
            cost: 0,
            mode: if off { Mode::Off } else { Mode::Enforced },
            left: None,
        }
    }

    /// Notes why the rule does not apply.
    fn miss(&mut self, why: &Why) {
        self.why_not = Some(why.to_string());
        if *why == Why::Off {
            self.mode = Mode::Off;
        }
    }
}
