//! Which requests, and which of them pass uncounted.
//!
//! Invariant: what is returned can match a request.

use super::super::error::quoted;
use super::super::shape;
use super::super::tree::{Node, Value};
use super::{Fields, Reader};
use crate::rule::pattern::{HostPattern, PathPattern};
use crate::rule::{Exempt, Match};
use ipnet::IpNet;
use std::net::IpAddr;
use std::sync::Arc;

/// Most paths of all rules together, those of `except` and `exempt` included.
const PATHS_MAX: usize = 500_000;

/// Most pairs of a path and an exception that are compared.
const PAIRS_MAX: usize = 10_000;

/// Longest method.
const METHOD_MAX: usize = 32;

/// Fields of a match that descriptors have nothing of.
const OF_HTTP: [&str; 5] = ["methods", "host", "path", "except", "headers"];

/// Names, each with the value that it must have, if that is said.
type Values = Vec<(Arc<str>, Option<Arc<str>>)>;

impl Reader<'_> {
    /// `match` of a rule; `domain` says whether it serves Envoy.
    pub(super) fn matches(&mut self, node: &Node<'_>, domain: bool) -> Option<Match> {
        let fields = self.fields(node, &shape::MATCH)?;
        if domain {
            for field in OF_HTTP {
                if let Some(value) = fields.get(field) {
                    let fault = format!("a rule with a `domain` never matches by `{field}`");
                    self.fault(value.at, fault, "write `descriptors`, or take out the `domain`");
                }
            }
        } else if let Some(value) = fields.get("descriptors") {
            let fault = "a rule without a `domain` never matches by `descriptors`";
            self.fault(value.at, fault, "add the `domain` of Envoy's that the rule serves");
        }
        Some(self.matched(&fields))
    }

    /// An entry of `exempt`.
    pub(super) fn exempt(&mut self, node: &Node<'_>) -> Option<Exempt> {
        let fields = self.fields(node, &shape::EXEMPT)?;
        if fields.entries.is_empty() {
            let repair = "write which, such as `path: /healthz`, or take out the rules";
            self.fault(fields.at, "this exempts every request", repair);
        }
        let matches = self.matched(&fields);
        let ips = fields.get("ip").map(|node| self.networks(node, "ip")).unwrap_or_default();
        Some(Exempt { matches, ips })
    }

    fn matched(&mut self, fields: &Fields<'_, '_>) -> Match {
        let methods = fields.get("methods").map(|node| self.methods(node)).unwrap_or_default();
        let mut hosts = Vec::new();
        for item in fields.get("host").map_or(&[][..], |node| self.items(node, "host")) {
            let Some(text) = self.text(item, "host") else { continue };
            match HostPattern::parse(text) {
                Ok(host) => hosts.push(host),
                Err(error) => self.passed_on(
                    item.at,
                    &error.to_string(),
                    "write a name such as `api.example.com`",
                ),
            }
        }
        let paths = fields.get("path").map(|node| self.paths(node, "path")).unwrap_or_default();
        let except = fields.get("except").map(|node| self.paths(node, "except"));
        let except = except.unwrap_or_default();
        self.leaves_some(fields, &paths, &except);
        let headers = fields.get("headers").map(|node| self.values(node, "headers"));
        let descriptors = fields.get("descriptors").map(|node| self.values(node, "descriptors"));
        let tiers = fields.get("tier").map_or(&[][..], |node| self.items(node, "tier"));
        let tiers = tiers.iter().filter_map(|item| self.tier(item)).collect();
        let (headers, descriptors) = (headers.unwrap_or_default(), descriptors.unwrap_or_default());
        Match { methods, hosts, paths, except, headers, tiers, descriptors }
    }

    fn methods(&mut self, node: &Node<'_>) -> Vec<Arc<str>> {
        let mut methods = Vec::new();
        for item in self.items(node, "methods") {
            let Some(text) = self.text(item, "methods") else { continue };
            let letter = |byte: u8| byte.is_ascii_alphabetic() || b"-_".contains(&byte);
            if text.len() <= METHOD_MAX && text.bytes().all(letter) {
                methods.push(text.to_ascii_uppercase().into());
            } else {
                let fault = format!("{} is not a method", quoted(text));
                self.fault(item.at, fault, "write one such as `GET`, or leave `methods` out");
            }
        }
        methods
    }

    /// One path or several.
    fn paths(&mut self, node: &Node<'_>, field: &str) -> Vec<PathPattern> {
        let items = self.items(node, field);
        let fits = self.paths + items.len() <= PATHS_MAX;
        if !fits && self.paths <= PATHS_MAX {
            let fault =
                format!("there are more than {PATHS_MAX} paths, each use of an alias counted");
            self.fault(node.at, fault, "use fewer, with patterns");
        }
        self.paths += items.len();
        items.iter().filter(|_| fits).filter_map(|item| self.path(item, field)).collect()
    }

    /// One path.
    pub(super) fn path(&mut self, node: &Node<'_>, field: &str) -> Option<PathPattern> {
        let text = self.text(node, field)?;
        match PathPattern::parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                self.passed_on(node.at, &error.to_string(), "write a path such as `/api/**`");
                None
            }
        }
    }

    /// A fault if `except` takes away all that `path` has.
    fn leaves_some(
        &mut self,
        fields: &Fields<'_, '_>,
        paths: &[PathPattern],
        except: &[PathPattern],
    ) {
        let few = paths.len() * except.len() <= PAIRS_MAX;
        let Some(node) = fields.get("except").filter(|_| few && !except.is_empty()) else { return };
        let gone =
            |path: &PathPattern| except.iter().any(|pattern| pattern.covers_as_written(path));
        let all = PathPattern::parse("/**");
        let nothing = match (fields.get("path"), all) {
            (None, Ok(all)) => gone(&all),
            _ => !paths.is_empty() && paths.iter().all(gone),
        };
        if nothing {
            let fault = "`except` takes away every path, so that nothing matches";
            self.fault(node.at, fault, "take out the one that covers `path`");
        }
    }

    /// Names with values; nothing, and a `*`, are any value.
    fn values(&mut self, node: &Node<'_>, field: &'static str) -> Values {
        let Value::Map(entries) = node.value() else {
            let fault = format!("`{field}` is not a map");
            self.fault(node.at, fault, "write `{name: value}`, or `{name: \"*\"}` for any value");
            return Vec::new();
        };
        if entries.is_empty() {
            let fault = format!("`{field}` is an empty map");
            self.fault(node.at, fault, "write what belongs there, or leave the field out");
        }
        let mut values = Values::with_capacity(entries.len());
        for (name, value) in entries {
            let text = name.text().unwrap_or_default();
            let name = match field {
                "headers" => self.header(name.at, field, text),
                _ => self.text(name, field).map(Arc::from),
            };
            let any = value.is_null() || matches!(value.text(), Some("" | "*"));
            let value = if any {
                Some(None)
            } else {
                self.text(value, field).map(|text| Some(text.into()))
            };
            values.extend(name.zip(value));
        }
        values
    }

    /// Addresses and networks, one or a list that may be empty.
    pub(super) fn networks(&mut self, node: &Node<'_>, field: &str) -> Vec<IpNet> {
        let items = match node.value() {
            Value::List(items) if field == "trusted_proxies" => items.as_slice(),
            _ => self.items(node, field),
        };
        let mut networks = Vec::new();
        for item in items {
            let Some(text) = self.text(item, field) else { continue };
            let network = text.parse::<IpNet>().ok();
            match network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)) {
                Some(network) => networks.push(network.trunc()),
                None => {
                    let fault = format!("{} is neither an address nor a network", quoted(text));
                    self.fault(item.at, fault, "write one such as `10.0.0.0/8` or `2001:db8::/32`");
                }
            }
        }
        networks
    }
}
