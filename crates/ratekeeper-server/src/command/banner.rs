//! What a server says when it starts: where it listens, what it keeps, by which rules, and a line to
//! try.
//!
//! Invariant: the lines to try work as they are printed, in a shell on this machine that finds
//! `ratekeeper`.

mod attempt;
mod rules;

use super::store::Store;
use super::{init, plain};
use crate::args::URL_DEFAULT;
use crate::config::{Config, shown};
use crate::demo;
use crate::door::CHECK_PATH;
pub(super) use attempt::SOMEBODY;

use attempt::Attempt;
use ratekeeper::Limiter;
use ratekeeper::rule::RuleSet;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A server that has started.
pub(super) struct Started<'a> {
    pub(super) address: SocketAddr,
    /// Where administration is, if not there.
    pub(super) admin: Option<SocketAddr>,
    /// Where the gateway is, and whether nobody between can read along.
    pub(super) gateway: Option<(SocketAddr, bool)>,
    /// Where Envoy asks, and where Redis clients do; and whether nobody between can read along.
    pub(super) grpc: Option<(SocketAddr, bool)>,
    pub(super) resp: Option<(SocketAddr, bool)>,
    /// Whether nobody may administer.
    pub(super) closed: bool,
    pub(super) store: &'a Store,
    pub(super) config: Option<&'a Config>,
    /// The rules that decide, and where they came from, if not from there.
    pub(super) stored: Option<(RuleSet, String)>,
    pub(super) limiter: &'a Limiter,
}

impl Started<'_> {
    /// The address of the gateway.
    fn gateway(&self) -> Option<String> {
        let (address, is_secure) = self.gateway?;
        Some(format!("{}://{address}", if is_secure { "https" } else { "http" }))
    }

    /// Where Envoy asks.
    fn grpc(&self) -> Option<String> {
        let (address, is_secure) = self.grpc?;
        Some(format!("{}://{address}", if is_secure { "https" } else { "http" }))
    }

    /// Where Redis clients ask.
    fn resp(&self) -> Option<String> {
        let (address, is_secure) = self.resp?;
        Some(format!("{}://{address}", if is_secure { "rediss" } else { "redis" }))
    }

    /// How a Redis client on this machine asks, if that takes neither a password nor TLS.
    fn redis_cli(&self) -> Option<String> {
        let config = self.config.filter(|own| own.file.settings.resp.password_file.is_none());
        let (address, _) = self.resp.filter(|(_, is_secure)| !is_secure && config.is_some())?;
        let attempt = attempt::by_key(self.limiter, &self.set()?.rules)?;
        let (rule, key) = attempt.words()?;
        let key: Vec<String> = key.iter().map(|part| init::quoted(part)).collect();
        let (address, key) = (reachable(address), key.join(" "));
        Some(format!("redis-cli -h {} -p {} RK.CHECK {rule} {key}", address.ip(), address.port()))
    }

    /// Where a browser on this machine finds the console, if it is part of the program and anyone may see it.
    fn console(&self) -> Option<String> {
        let address = self.admin.unwrap_or(self.address);
        let shown = cfg!(feature = "console") && !self.closed;
        shown.then(|| format!("http://{}/", reachable(address)))
    }

    /// A path that the gateway has a route for.
    fn path(&self) -> String {
        let said = self.config.and_then(|config| config.file.settings.gateway.as_ref());
        let route = said.and_then(|said| said.routes.first());
        route.map_or_else(|| "/".to_owned(), |route| attempt::example(route.path.as_str()))
    }

    /// The rules that decide, unless they are the demo's.
    fn set(&self) -> Option<&RuleSet> {
        let stored = self.stored.as_ref().map(|(set, _)| set);
        stored.or(self.config.map(|config| &config.file.rules))
    }
}

/// The same for programs, as one line.
pub(super) async fn json(started: &Started<'_>) -> String {
    let Started { address, admin, store, config, limiter, .. } = started;
    let set = started.set();
    let specs = set.map_or_else(demo::specs, |set| set.rules.clone());
    let tiers = set.map_or(&[][..], |set| &set.tiers);
    let rules = specs.iter().take(rules::RULES_SHOWN).map(|rule| {
        let limits = rules::limits(rule, tiers);
        serde_json::json!({ "id": rule.id, "limits": limits })
    });
    let said = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "listen": {
            "api": format!("http://{address}"),
            "admin": admin.map(|admin| format!("http://{admin}")),
            "gateway": started.gateway(),
            "grpc": started.grpc(),
            "resp": started.resp(),
            "console": started.console(),
        },
        "store": store.to_string(),
        "config": config.map(|config| shown(&config.path)),
        "rules": rules.collect::<Vec<_>>(),
        "more_rules": specs.len().saturating_sub(rules::RULES_SHOWN),
        "try": attempt(set, limiter).await,
    });
    format!("{said}\n")
}

/// Something to try.
async fn attempt(set: Option<&RuleSet>, limiter: &Limiter) -> Attempt {
    match set {
        Some(set) => attempt::find(limiter, &set.rules).await,
        None => Attempt::key("token-bucket", "alice"),
    }
}

/// All that is said of it.
pub(super) async fn text(started: &Started<'_>) -> String {
    let Started { address, admin, store, config, stored, limiter, .. } = started;
    let version = env!("CARGO_PKG_VERSION");
    let title = match (stored, config) {
        (Some((_, origin)), _) => format!("the rules of {}", plain(origin)),
        (_, Some(config)) => format!("the rules of {}", plain(&shown(&config.path))),
        _ => "no config was given, so these are the demo rules".to_owned(),
    };
    let lines = started.set().map_or_else(demo_lines, rules::lines);
    let attempt = attempt(started.set(), limiter).await;
    let mut out = String::new();
    // Text in memory takes whatever is written.
    let _ = writeln!(out, "ratekeeper {version}: {title}\n");
    let _ = writeln!(out, "listening on  http://{address}");
    if let Some(admin) = admin {
        let _ = writeln!(out, "admin         http://{admin}");
    }
    if let Some(gateway) = started.gateway() {
        let _ = writeln!(out, "gateway       {gateway}");
    }
    if let Some(grpc) = started.grpc() {
        let _ = writeln!(out, "grpc          {grpc}");
    }
    if let Some(resp) = started.resp() {
        let _ = writeln!(out, "resp          {resp}");
    }
    if let Some(console) = started.console() {
        let _ = writeln!(out, "console       {console}");
    }
    let _ = writeln!(out, "store         {store}");
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { "rules" } else { "" };
        let _ = writeln!(out, "{}", format!("{title:<14}{line}").trim_end());
    }
    let url = format!("http://{}", reachable(*address));
    let _ = writeln!(out, "\nTry, in another terminal:");
    if let Some((rule, key)) = attempt.words() {
        let flag = if url == URL_DEFAULT { String::new() } else { format!(" --url {url}") };
        let key: Vec<String> = key.iter().map(|part| init::quoted(part)).collect();
        let _ = writeln!(out, "  ratekeeper check {rule} {}{flag}", key.join(" "));
    }
    if let Some(line) = started.redis_cli() {
        let _ = writeln!(out, "  {line}");
    }
    let question = init::quoted(&attempt.json());
    let _ = writeln!(out, "  curl --json {question} {url}{CHECK_PATH}");
    if let Some((address, is_secure)) = started.gateway {
        let scheme = if is_secure { "https" } else { "http" };
        let path = started.path();
        let _ = writeln!(out, "  curl -i {scheme}://{}{path}", reachable(address));
    }
    out
}

fn demo_lines() -> Vec<String> {
    let each = demo::specs().into_iter().map(|rule| {
        let limits = rules::limits(&rule, &[]).join(", ");
        format!("{:<24}{limits:<20} {}", rule.id, rules::manner(&rule))
    });
    each.collect()
}

/// Where this machine reaches a server that listens on every address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}
