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
use ratekeeper::rule::{Limits, RuleSpec};
use ratekeeper::{Limit, Limiter};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A server that has started.
pub(super) struct Started<'a> {
    pub(super) address: SocketAddr,
    /// Where administration is, if not there.
    pub(super) admin: Option<SocketAddr>,
    pub(super) store: &'a Store,
    pub(super) config: Option<&'a Config>,
    pub(super) limiter: &'a Limiter,
}

/// All that is said of it.
pub(super) async fn text(started: &Started<'_>) -> String {
    let Started { address, admin, store, config, limiter } = started;
    let version = env!("CARGO_PKG_VERSION");
    let (title, lines, attempt) = match config {
        Some(config) => {
            let set = &config.file.rules;
            let title = format!("the rules of {}", plain(&shown(&config.path)));
            (title, rules::lines(set), attempt::find(limiter, &set.rules).await)
        }
        None => {
            let title = "no config was given, so these are the demo rules".to_owned();
            let attempt = Attempt::key("token-bucket", "alice");
            (title, demo_lines(), attempt)
        }
    };
    let mut out = String::new();
    // Text in memory takes whatever is written.
    let _ = writeln!(out, "ratekeeper {version}: {title}\n");
    let _ = writeln!(out, "listening on  http://{address}");
    if let Some(admin) = admin {
        let _ = writeln!(out, "admin         http://{admin}");
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
    let question = init::quoted(&attempt.json());
    let _ = writeln!(out, "  curl --json {question} {url}{CHECK_PATH}");
    out
}

fn demo_lines() -> Vec<String> {
    let each = demo::limits().into_iter().filter_map(|(name, limit)| {
        let limit = Limit::try_from(limit).ok()?;
        let spec = RuleSpec::new(name, Limits::Same(vec![limit]));
        Some(format!("{name:<24}{:<20} {}", limit.to_string(), rules::manner(&spec)))
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
