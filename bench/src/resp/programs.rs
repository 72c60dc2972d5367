//! The servers that speak Redis' protocol, each as a process on the core of servers.
//!
//! Invariant: a server ends with its handle; limits are so high that hardly anything is refused.

use crate::gateway::process::{Place, Running, free};
use crate::http::{SERVER_CORE, find};
use crate::shared::Server;

/// A server that runs.
pub enum Serves {
    Program(Running),
    Redis(Server),
}

impl Serves {
    pub fn port(&self) -> u16 {
        match self {
            Serves::Program(running) => running.address().port(),
            Serves::Redis(server) => server.port(),
        }
    }

    /// Redis forgets all before it is measured: it is fastest when empty. Others keep their keys.
    pub fn empty(&self) {
        if let Serves::Redis(server) = self {
            server.forget_all();
        }
    }
}

pub fn ratekeeper() -> Option<Serves> {
    let program = find("ratekeeper")?;
    let place = Place::new()?;
    let (address, api) = (place.address, free()?.to_string());
    let text = format!(
        "memory: {{keys: 2000000}}
listen: {{resp: '{address}'}}
rules: [{{id: api, key: user, limit: 1000000/hour burst 100000}}]
"
    );
    let file = place.file("rules.yaml", text)?;
    let args = ["serve", "--config", &file, "--log-level", "off", "--listen", &api];
    place.start(&program, &args, "resp  ").map(Serves::Program)
}

pub fn throttlecrab() -> Option<Serves> {
    let program = find("throttlecrab-server")?;
    let place = Place::new()?;
    let (host, port) = (place.address.ip().to_string(), place.address.port().to_string());
    let args = ["--redis", "--redis-host", &host, "--redis-port", &port, "--store", "periodic"];
    place.start(&program, &args, "").map(Serves::Program)
}

pub fn redis() -> Option<Serves> {
    Server::start(Some(SERVER_CORE)).map(Serves::Redis)
}
