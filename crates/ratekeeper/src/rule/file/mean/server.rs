//! What a file says about the server, besides rules.
//!
//! Invariant: a fault of a store's URL does not quote it, since it may have a password.

use super::super::error::quoted;
use super::super::settings::{Listen, Secured, Settings, Store};
use super::super::shape;
use super::super::tree::{Node, Value};
use super::Reader;
use crate::rule::FieldForms;
use std::sync::Arc;
use std::time::Duration;

/// Most tiers.
const TIERS_MAX: usize = 100;

/// Longest prefix of names in a store.
const PREFIX_MAX: usize = 32;

/// Shortest and longest time that a decision waits for the store.
const DEADLINE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));

/// How URLs of stores begin.
const SCHEMES: [&str; 6] =
    ["redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel"];

impl Reader<'_> {
    /// Everything but rules; `one` gives the value of a top-level field.
    pub(super) fn settings<'n, 't: 'n>(
        &mut self,
        one: &dyn Fn(&'static str) -> Option<&'n Node<'t>>,
    ) -> Settings {
        let memory = one("memory").and_then(|node| self.fields(node, &shape::MEMORY));
        let keys = memory.and_then(|fields| fields.get("keys"));
        let keys = keys.and_then(|node| self.whole(node, "keys", 1..=shape::KEYS_MAX));
        let nodes = one("nodes").and_then(|node| self.whole(node, "nodes", 1..=shape::NODES_MAX));
        let admin = one("admin").and_then(|node| self.fields(node, &shape::ADMIN));
        let from = one("rules_from");
        let from = from.and_then(|node| self.word(node, "rules_from", &shape::RULES_FROM));
        let region = one("region").and_then(|node| self.name(node, "region"));
        Settings {
            store: one("store").and_then(|node| self.store(node)).unwrap_or_default(),
            memory_keys: keys.and_then(|keys| usize::try_from(keys).ok()),
            listen: one("listen").and_then(|node| self.listen(node)).unwrap_or_default(),
            admin_token_file: self
                .owned(admin.and_then(|admin| admin.get("token_file")), "token_file"),
            grpc: self.secured(one("grpc"), &shape::GRPC),
            resp: self.secured(one("resp"), &shape::RESP),
            state_dir: self.owned(one("state_dir"), "state_dir"),
            nodes: nodes.and_then(|nodes| u32::try_from(nodes).ok()),
            region: region.map(|region| region.to_string()),
            rules_from_redis: from == Some(1),
            switch_file: self.owned(one("switch_file"), "switch_file"),
            gateway: one("gateway").and_then(|node| self.gateway(node, one("identity"))),
        }
    }

    /// `tiers`.
    pub(super) fn tiers(&mut self, node: &Node<'_>) -> Vec<Arc<str>> {
        let items = self.items(node, "tiers");
        let mut tiers: Vec<Arc<str>> = Vec::new();
        if items.len() > TIERS_MAX {
            let fault = format!("there are more than {TIERS_MAX} tiers");
            self.fault(node.at, fault, "use fewer, and overrides for single callers");
        }
        for item in items.iter().take(TIERS_MAX) {
            let Some(tier) = self.name(item, "tiers") else { continue };
            if tiers.contains(&tier) {
                let fault = format!("the tier `{tier}` is there twice");
                self.fault(item.at, fault, "take one of them out");
            } else {
                tiers.push(tier);
            }
        }
        tiers
    }

    /// `headers`.
    pub(super) fn forms(&mut self, node: &Node<'_>) -> FieldForms {
        let (ietf, x_ratelimit, draft_07, draft_06) = (false, false, false, false);
        let mut forms = FieldForms { ietf, x_ratelimit, draft_07, draft_06 };
        let items = self.items(node, "headers");
        for item in items {
            match self.word(item, "headers", &shape::HEADERS) {
                Some(0) => forms.ietf = true,
                Some(1) => forms.x_ratelimit = true,
                Some(2) => forms.draft_07 = true,
                Some(3) => forms.draft_06 = true,
                Some(_) if items.len() > 1 => {
                    let fault = "`headers` has `none` and others";
                    self.fault(item.at, fault, "keep `none`, or take it out");
                }
                _ => {}
            }
        }
        forms
    }

    fn store(&mut self, node: &Node<'_>) -> Option<Store> {
        let Value::Map(_) = node.value() else {
            return match self.text(node, "store")? {
                "memory" => Some(Store::Memory),
                text => {
                    let url = self.url(node, text)?;
                    let (password_file, ca, prefix, deadline) = (None, None, None, None);
                    Some(Store::Url { url, password_file, ca, prefix, deadline })
                }
            };
        };
        let store = self.fields(node, &shape::STORE)?;
        let url = store.get("url").and_then(|node| {
            let text = self.text(node, "url")?;
            self.url(node, text)
        });
        let password_file = self.owned(store.get("password_file"), "password_file");
        let ca = self.owned(store.get("ca"), "ca");
        let prefix = store.get("prefix").and_then(|node| self.prefix(node));
        let deadline = store.get("deadline").and_then(|node| {
            let deadline = self.length(node, "deadline")?;
            if deadline < DEADLINE.0 || deadline > DEADLINE.1 {
                let fault = "no decision waits so long, or so briefly, for the store";
                self.fault(node.at, fault, "write a deadline from `1ms` to `60s`");
            }
            Some(deadline)
        });
        Some(Store::Url { url: url?, password_file, ca, prefix, deadline })
    }

    fn url(&mut self, node: &Node<'_>, text: &str) -> Option<String> {
        let known = |(scheme, rest): &(&str, &str)| SCHEMES.contains(scheme) && !rest.is_empty();
        if text.split_once("://").filter(known).is_none() {
            let fault = "the store is neither `memory` nor a URL of Redis";
            let repair = "write `redis://host:6379/0`, `redis-cluster://…` or `redis-sentinel://…`";
            self.fault(node.at, fault, repair);
            return None;
        }
        #[cfg(feature = "redis")]
        if let Err(error) = crate::RedisConfig::new(text) {
            self.passed_on(node.at, &error.to_string(), "write one such as `redis://host:6379/0`");
            return None;
        }
        Some(text.to_owned())
    }

    fn prefix(&mut self, node: &Node<'_>) -> Option<String> {
        let text = self.text(node, "prefix")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if text.len() > PREFIX_MAX || !text.bytes().all(plain) {
            let repair = format!("write 1 to {PREFIX_MAX} letters, digits, `-`, `_`, `.` or `:`");
            self.fault(node.at, format!("`prefix` cannot be {}", quoted(text)), repair);
            return None;
        }
        Some(text.to_owned())
    }

    fn listen(&mut self, node: &Node<'_>) -> Option<Listen> {
        let listen = self.fields(node, &shape::LISTEN)?;
        let mut at = |field| listen.get(field).and_then(|node| self.address(node, field));
        Some(Listen { api: at("api"), admin: at("admin"), grpc: at("grpc"), resp: at("resp") })
    }

    /// `grpc` and `resp`.
    fn secured(&mut self, node: Option<&Node<'_>>, shape: &'static shape::Shape) -> Secured {
        let Some(fields) = node.and_then(|node| self.fields(node, shape)) else {
            return Secured::default();
        };
        let has_password = shape.field("password_file").is_some();
        let password_file = if has_password { fields.get("password_file") } else { None };
        let password_file = self.owned(password_file, "password_file");
        let tls = fields.get("tls").and_then(|node| self.tls(node));
        Secured { password_file, tls }
    }

    /// `tls`: a certificate, and its key.
    pub(super) fn tls(&mut self, node: &Node<'_>) -> Option<(String, String)> {
        let tls = self.fields(node, &shape::TLS)?;
        let cert = self.owned(tls.get("cert"), "cert");
        cert.zip(self.owned(tls.get("key"), "key"))
    }

    /// `address:port`.
    pub(super) fn address(&mut self, node: &Node<'_>, field: &str) -> Option<String> {
        let text = self.text(node, field)?;
        let host = |host: &str| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !host.is_empty() && host.bytes().all(letter)
        };
        let named = |(name, port): &(&str, &str)| {
            host(name)
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && port.parse::<u16>().is_ok()
        };
        let fits = text.parse::<std::net::SocketAddr>().is_ok()
            || text.rsplit_once(':').filter(named).is_some();
        if !fits {
            let fault = format!("{} is not an address with a port", quoted(text));
            self.fault(node.at, fault, "write one such as `127.0.0.1:8080` or `[::1]:8080`");
            return None;
        }
        Some(text.to_owned())
    }
}
