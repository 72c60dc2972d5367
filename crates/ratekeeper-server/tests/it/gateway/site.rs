//! The program with a gateway, as a process with a rule file of its own.
//!
//! Invariant: it ends with its value; what is waited for is asked for again, with a deadline.

use super::message::{Message, ask};
use super::upstream::Upstream;
use crate::folder::Folder;
use crate::program::{Program, command, poll};
use crate::wire::{Reply, request, send};
use std::net::SocketAddr;

/// One rule for everything, which never refuses in a test.
pub(crate) const MANY: &str = "[{id: all, key: ip, limit: 1000000/day}]";

/// A server with a gateway.
pub(crate) struct Site {
    pub(crate) program: Program,
    /// Where the gateway listens.
    pub(crate) address: SocketAddr,
    pub(crate) folder: Folder,
}

impl Site {
    /// One route to all of these, by rules in one line.
    pub(crate) fn before(upstreams: &[&Upstream], rules: &str) -> Site {
        Site::with(upstreams, "", "", rules)
    }

    /// The same, with more about the gateway, each line ending, and more about the route.
    pub(crate) fn with(upstreams: &[&Upstream], gateway: &str, route: &str, rules: &str) -> Site {
        let urls: Vec<String> = upstreams.iter().map(|upstream| upstream.url()).collect();
        Site::to(&urls, gateway, route, rules)
    }

    pub(crate) fn to(urls: &[String], gateway: &str, route: &str, rules: &str) -> Site {
        let urls: Vec<String> = urls.iter().map(|url| format!("{url:?}")).collect();
        let route = format!("{{path: \"/**\", upstream: [{}]{route}}}", urls.join(", "));
        Site::of(&[], &format!("{}  routes: [{route}]\nrules: {rules}\n", head(gateway)))
    }

    /// By a whole rule file, beside these files.
    pub(crate) fn of(files: &[(&str, &str)], text: &str) -> Site {
        let folder = Folder::of(files);
        folder.write("ratekeeper.yaml", text);
        Site::start(folder)
    }

    /// By the file `ratekeeper.yaml` of a folder.
    pub(crate) fn start(folder: Folder) -> Site {
        let mut serve = command();
        serve.args(["serve", "--config", &folder.path("ratekeeper.yaml")]);
        let program = Program::start(serve);
        let line = program.banner.iter().find_map(|line| line.strip_prefix("gateway       http"));
        let address = line.and_then(|line| line.split("://").nth(1)?.parse().ok());
        assert!(address.is_some(), "no gateway in {:?}", program.banner);
        let address = address.expect("this was looked at");
        Site { program, address, folder }
    }

    /// Sends bytes and reads one answer.
    pub(crate) fn ask(&self, bytes: &str) -> Message {
        ask(self.address, bytes)
    }

    pub(crate) fn get(&self, target: &str) -> Message {
        self.ask(&get(target, ""))
    }

    /// A call of the API.
    pub(crate) fn api(&self, path: &str) -> Reply {
        send(self.program.address, &request(&format!("GET {path}"), "", ""))
    }

    /// The sample with exactly this name and these labels.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.api("/metrics").body;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok())
    }

    /// Waits until a sample has a value.
    pub(crate) fn becomes(&self, name: &str, value: f64) {
        let reached = poll(|| (self.metric(name) == Some(value)).then_some(()));
        let others = self.api("/metrics").body;
        let like = name.split('{').next().unwrap_or_default();
        let others: Vec<&str> = others.lines().filter(|line| line.starts_with(like)).collect();
        assert!(reached.is_some(), "{name} is not {value}: {others:?}");
    }

    /// How many requests a rule has decided so at the gateway.
    pub(crate) fn decided(&self, rule: &str, outcome: &str) -> u64 {
        let labels =
            format!("rule=\"{rule}\",outcome=\"{outcome}\",source=\"store\",door=\"gateway\"");
        self.metric(&format!("ratekeeper_decisions_total{{{labels}}}")).unwrap_or(0.0) as u64
    }

    /// What a rule by address has left for this machine, without a charge.
    pub(crate) fn left(&self, rule: &str) -> u64 {
        let body = format!(r#"{{"rule":"{rule}","key":"127.0.0.1","cost":0}}"#);
        let reply = crate::wire::check(self.program.address, &body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["remaining"].as_u64().expect("a figure")
    }

    /// Waits until a rule by address has so much left.
    pub(crate) fn has_left(&self, rule: &str, left: u64) {
        let reached = poll(|| (self.left(rule) == left).then_some(()));
        assert!(reached.is_some(), "{rule} has {} left, not {left}", self.left(rule));
    }
}

/// The beginning of a rule file with a gateway, up to its routes.
pub(crate) fn head(gateway: &str) -> String {
    format!("listen: {{api: \"127.0.0.1:0\"}}\ngateway:\n  listen: 127.0.0.1:0\n{gateway}")
}

/// A request without a body; `fields` each end in CR LF.
pub(crate) fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: api.example\r\n{fields}\r\n")
}

/// A request with a body of known length.
pub(crate) fn post(target: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {target} HTTP/1.1\r\nHost: api.example\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// The one name of an upstream's sample, with more labels behind.
pub(crate) fn of_upstream(name: &str, upstream: &Upstream, more: &str) -> String {
    format!("ratekeeper_upstream_{name}{{upstream=\"{}\"{more}}}", upstream.url())
}
