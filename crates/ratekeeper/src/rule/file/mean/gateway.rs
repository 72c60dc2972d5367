//! What a file says about the gateway.
//!
//! Invariant: a gateway that is returned can do what it says: each of its routes can match, and where
//! somebody has to be verified, somebody can be.

mod upstream;

use super::super::error::{Place, quoted};
use super::super::settings::{AccessLog, Auth, Gateway, Route, Timeouts, Upstream};
use super::super::shape;
use super::super::tree::{Node, Value};
use super::Reader;
use crate::request::path::CanonicalPath;
use crate::rule::pattern::Shadows;
use std::collections::HashMap;
use std::time::Duration;

/// Most routes.
const ROUTES_MAX: usize = 10_000;

/// Most upstreams of a route.
const UPSTREAMS_MAX: usize = 64;

/// Shortest and longest time.
const TIMEOUT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));

/// The path by which an upstream's health is known, and where that is said.
type Healths = HashMap<Upstream, (String, Place)>;

/// What is known while routes are read.
struct Known {
    timeouts: Timeouts,
    /// Whether anybody can be verified.
    verifies: bool,
    healths: Healths,
    shadows: Shadows,
    /// Where each of the paths in `shadows` is.
    places: Vec<Place>,
}

impl Reader<'_> {
    /// `gateway`, beside `identity`.
    pub(super) fn gateway(
        &mut self,
        node: &Node<'_>,
        identity: Option<&Node<'_>>,
    ) -> Option<Gateway> {
        let gateway = self.fields(node, &shape::GATEWAY)?;
        let listen = gateway.get("listen").and_then(|node| self.address(node, "listen"));
        let tls = gateway.get("tls").and_then(|node| self.tls(node));
        let ca = self.owned(gateway.get("ca"), "ca");
        let log = gateway.get("access_log");
        let log = log.and_then(|node| self.word(node, "access_log", &shape::ACCESS_LOG));
        let access_log =
            [AccessLog::None, AccessLog::Json, AccessLog::Combined][log.unwrap_or_default()];
        let mut known = Known {
            timeouts: self.timeouts(gateway.get("timeouts"), Timeouts::default()),
            verifies: verifies(identity),
            healths: Healths::new(),
            shadows: Shadows::default(),
            places: Vec::new(),
        };
        let node = gateway.get("routes")?;
        let items = self.list(node, "routes");
        if items.is_empty() || items.len() > ROUTES_MAX {
            let fault = format!("`routes` has {} routes", items.len());
            self.fault(node.at, fault, format!("write 1 to {ROUTES_MAX}, or leave out `gateway`"));
        }
        let items = items.iter().take(ROUTES_MAX);
        let routes = items.filter_map(|item| self.route(item, &mut known)).collect();
        Some(Gateway { listen: listen?, tls, ca, access_log, routes })
    }

    fn route(&mut self, node: &Node<'_>, known: &mut Known) -> Option<Route> {
        let route = self.fields(node, &shape::ROUTE)?;
        let path = route.get("path").and_then(|node| {
            let path = self.path(node, "path")?;
            match known.shadows.add(&path) {
                Some(first) => {
                    let at = known.places.get(first).map(|at| self.shown(*at));
                    let at = at.unwrap_or_default();
                    let fault = format!("the route at {at} takes every request for this one");
                    self.fault(node.at, fault, "move this one up, or take it out");
                }
                None => known.places.push(node.at),
            }
            Some(path)
        });
        let auth = route.get("auth").and_then(|node| {
            let auth = self.word(node, "auth", &shape::AUTH)?;
            if auth > 0 && !known.verifies {
                let fault =
                    "nobody can be verified, since `identity` has neither `api_key` nor `jwt`";
                let repair = "add one of them, or write `auth: none`";
                self.fault(node.at, fault, repair);
            }
            Some([Auth::None, Auth::Optional, Auth::Required][auth])
        });
        let upstreams = route.get("upstream").map(|node| self.upstreams(node)).unwrap_or_default();
        let health = route.get("health").and_then(|node| {
            let health = self.health(node)?;
            self.one_health(node.at, &health, &upstreams, &mut known.healths);
            Some(health)
        });
        let timeouts = self.timeouts(route.get("timeouts"), known.timeouts);
        Some(Route { path: path?, upstreams, auth: auth.unwrap_or_default(), health, timeouts })
    }

    fn upstreams(&mut self, node: &Node<'_>) -> Vec<Upstream> {
        if let Value::List(items) = node.value()
            && items.len() > UPSTREAMS_MAX
        {
            let fault = format!("a route has more than {UPSTREAMS_MAX} upstreams");
            self.fault(node.at, fault, "use fewer, or a balancer before them");
            return Vec::new();
        }
        let mut upstreams: Vec<Upstream> = Vec::new();
        for item in self.items(node, "upstream") {
            let Some(text) = self.text(item, "upstream") else { continue };
            match upstream::read(text) {
                Ok(upstream) if upstreams.contains(&upstream) => {
                    let fault = format!("the upstream `{upstream}` is there twice");
                    self.fault(item.at, fault, "take one of them out");
                }
                Ok(upstream) => upstreams.push(upstream),
                Err((fault, repair)) => self.fault(item.at, fault, repair),
            }
        }
        upstreams
    }

    /// A path without a query, spelled as it will be sent.
    fn health(&mut self, node: &Node<'_>) -> Option<String> {
        let text = self.text(node, "health")?;
        let like = "write one such as `/healthz`";
        match CanonicalPath::new(text) {
            Err(_) if !text.starts_with('/') => {
                self.fault(node.at, "`health` does not begin with `/`", like);
            }
            Err(error) => {
                self.passed_on(node.at, &format!("`health` {}", error.fault()), like);
            }
            Ok(path) if path.is_asterisk() => {
                self.fault(node.at, "`health` is `*`, which is no path", like);
            }
            Ok(path) if path.as_str() != text => {
                let fault = format!("`health` is {}, not a path in its plain form", quoted(text));
                self.fault(node.at, fault, format!("write {}", quoted(path.as_str())));
            }
            Ok(_) => return Some(text.to_owned()),
        }
        None
    }

    /// A fault if the health of an upstream is known by another path already.
    fn one_health(
        &mut self,
        at: Place,
        health: &str,
        upstreams: &[Upstream],
        healths: &mut Healths,
    ) {
        for upstream in upstreams {
            match healths.get(upstream) {
                None => drop(healths.insert(upstream.clone(), (health.to_owned(), at))),
                Some((other, _)) if other == health => {}
                Some((other, first)) => {
                    let (other, first) = (quoted(other), self.shown(*first));
                    let fault = format!("the `health` of `{upstream}` is {other} at {first}");
                    self.fault(at, fault, "write the same path wherever it is an upstream");
                }
            }
        }
    }

    /// Times, and others where nothing is said.
    fn timeouts(&mut self, node: Option<&Node<'_>>, others: Timeouts) -> Timeouts {
        let Some(fields) = node.and_then(|node| self.fields(node, &shape::TIMEOUTS)) else {
            return others;
        };
        let mut time = |name, other| {
            let Some(node) = fields.get(name) else { return other };
            let Some(length) = self.length(node, name) else { return other };
            if length < TIMEOUT.0 || length > TIMEOUT.1 {
                let fault = format!("`{name}` is too short or too long");
                self.fault(node.at, fault, "write a time from `1ms` to `24h`");
            }
            length
        };
        Timeouts {
            connect: time("connect", others.connect),
            first_byte: time("first_byte", others.first_byte),
            idle: time("idle", others.idle),
            total: time("total", others.total),
        }
    }
}

/// Whether `identity` says how somebody is verified, be it with a fault.
fn verifies(identity: Option<&Node<'_>>) -> bool {
    let Some(Value::Map(entries)) = identity.map(Node::value) else { return false };
    entries
        .iter()
        .any(|(name, value)| matches!(name.text(), Some("api_key" | "jwt")) && !value.is_null())
}
