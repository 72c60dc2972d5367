//! Requests that a proxy describes by descriptors, each of which meets rules by itself: the way in which Envoy
//! asks.
//!
//! Invariants: all descriptors of a request are one decision, by one release: all are charged, or none is, and what is
//! given back is given back if the request passes. Nobody waits: what would have its turn later is refused.

mod decided;
mod several;

pub use decided::Described;

use super::compile::{Manner, compile};
use super::release::Release;
use super::select::{Selected, Slot, View, is_shadow};
use super::{Asked, Inner, Limiter};
use crate::decision::Label;
use crate::limit::Limit;
use crate::request::{Rejected, Request};
use crate::rule::Rollout;
use crate::rule::key::{KeyBytes, parts_of};
use crate::rule::kind::{ANYONE, KeyKind};
use std::fmt;
use std::sync::Arc;

/// The name of limits that come with a descriptor. No rule has a space in its name.
const OVERRIDE: &str = "envoy limit";

/// What a proxy says of a request.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor<'a> {
    /// Names and values.
    pub entries: &'a [(&'a str, &'a str)],
    /// What it takes.
    pub hits: Hits,
    /// A limit in the place of those of rules, if the proxy says one.
    pub limit: Option<OwnLimit>,
}

/// What a descriptor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// So many units. None only asks whether there is one left.
    Take(u64),
    /// Gives so many back.
    GiveBack(u64),
}

/// A limit that comes with a descriptor.
#[derive(Clone, Copy, Debug)]
pub enum OwnLimit {
    /// Nobody passes.
    Closed,
    /// So much, for those who have the same entries.
    Limit(Limit),
}

/// Descriptors of which is known what they will be asked; see [`Limiter::prepare_descriptors`].
#[must_use = "descriptors that are prepared are decided when they are checked"]
pub struct PreparedDescriptors {
    limiter: Arc<Inner>,
    release: Arc<Release>,
    parts: Vec<Part>,
}

/// One descriptor.
struct Part {
    selected: Selected,
    hits: Hits,
}

impl Limiter {
    /// Finds out which rules of a domain apply to each descriptor of a request, and charges nothing yet.
    ///
    /// ```
    /// # #[cfg(feature = "yaml")]
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::Limiter;
    /// use ratekeeper::limiter::{Descriptor, Hits};
    ///
    /// let limiter = Limiter::from_yaml(
    ///     "rules: [{id: edge, domain: envoy, key: 'descriptor:user', limit: 3/hour}]",
    /// )?;
    /// let alice = Descriptor { entries: &[("user", "alice")], hits: Hits::Take(2), limit: None };
    /// let ask = async || limiter.prepare_descriptors("envoy", &[alice]).unwrap().check().await;
    /// assert_eq!(ask().await.decisions().remaining(), 1);
    /// assert!(ask().await.decisions().is_refused());
    /// # Ok(()) }
    /// # #[cfg(not(feature = "yaml"))] fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// If a rule cannot tell whom to count.
    pub fn prepare_descriptors(
        &self,
        domain: &str,
        descriptors: &[Descriptor<'_>],
    ) -> Result<PreparedDescriptors, Rejected> {
        let release = self.0.rules.load_full();
        let part = |own: &Descriptor<'_>| {
            let selected = match own.limit.filter(|_| release.finder.domains.contains_key(domain)) {
                Some(limit) => self.0.select_own(domain, own, limit),
                None => {
                    let cost = Some(own.hits.cost());
                    let (domain, descriptors) = (Some(domain), own.entries);
                    let request = Request { cost, domain, descriptors, ..Request::new("", "") };
                    View::new(&self.0, &release, &request, ANYONE)?.select()?
                }
            };
            Ok(Part { selected, hits: own.hits })
        };
        let parts = descriptors.iter().map(part).collect::<Result<_, Rejected>>()?;
        Ok(PreparedDescriptors { limiter: Arc::clone(&self.0), release, parts })
    }
}

impl Hits {
    /// What is charged, or given back; who only asks, asks for one.
    fn cost(self) -> u64 {
        match self {
            Hits::Take(units) => units.max(1),
            Hits::GiveBack(units) => units,
        }
    }
}

impl Inner {
    /// What is charged under a limit that came with a descriptor: all its entries say who it is for.
    fn select_own(&self, domain: &str, own: &Descriptor<'_>, limit: OwnLimit) -> Selected {
        let mut selected = Selected::default();
        let rollout = self.switched(OVERRIDE).unwrap_or(Rollout::Percent(100));
        if rollout == Rollout::Off {
            return selected;
        }
        let limit = match limit {
            OwnLimit::Limit(limit) => limit,
            OwnLimit::Closed => {
                let name: Arc<str> = OVERRIDE.into();
                let label = Label { id: Arc::clone(&name), name, policies: [].into() };
                selected.shut(Arc::new(label), is_shadow(rollout, OVERRIDE, &[]));
                return selected;
            }
        };
        let mut key = KeyBytes::new();
        key.part(&KeyKind::Given, domain.as_bytes());
        for (name, value) in own.entries {
            key.part(&KeyKind::Descriptor((*name).into()), value.as_bytes());
        }
        let who = self.secret.who(key.as_bytes());
        self.meet(OVERRIDE, &who, &|| parts_of(key.as_bytes()));
        let manner = Manner { given: true, ..Manner::default() };
        let rule = Arc::new(compile(&self.secret, &OVERRIDE.into(), &[limit], &manner));
        let asked = Asked { rule, who, cost: own.hits.cost() };
        selected.ask(asked, is_shadow(rollout, OVERRIDE, key.as_bytes()));
        selected
    }
}

impl fmt::Debug for PreparedDescriptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.release.version;
        f.debug_struct("PreparedDescriptors").field("version", &version).finish_non_exhaustive()
    }
}
