//! The services, each as a process on the core of servers, and the one message that each is asked.
//!
//! Invariant: a service ends with its handle; limits are so high that nothing is refused.

use super::load::PREFIX;
use crate::gateway::process::{Place, Running, free};
use crate::http::{decisions, find};
use std::net::SocketAddr;

/// A `RateLimitRequest` of the domain `demo` with one descriptor, `api_key` = `bench`.
const OURS: &[u8] = b"\x0a\x04demo\x12\x12\x0a\x10\x0a\x07api_key\x12\x05bench";

/// A `ThrottleRequest` of the key `bench`: a burst of 10 million, a billion in 3600 s, one of it.
const PEERS: &[u8] =
    b"\x0a\x05bench\x10\x80\xad\xe2\x04\x18\x80\x94\xeb\xdc\x03\x20\x90\x1c\x28\x01";

/// A service that runs, and how it is asked.
pub struct Service {
    pub running: Running,
    pub path: &'static str,
    /// A file with what is sent.
    pub body: String,
    /// Where ratekeeper tells what it has decided.
    api: Option<SocketAddr>,
}

impl Service {
    /// Does something that sends so many requests, and looks whether as many were decided.
    pub fn watch<T>(&self, work: impl FnOnce() -> (T, usize)) -> T {
        let decided = || self.api.map(|api| decisions(api, "envoy"));
        let before = decided();
        let (done, sent) = work();
        let grew = decided().zip(before).map(|(after, before)| after - before);
        assert!(grew.is_none_or(|grew| grew == sent), "{grew:?} decisions for {sent} requests");
        done
    }
}

/// Ratekeeper, with one more line in its file.
pub fn ratekeeper(line: &str) -> Option<Service> {
    let program = find("ratekeeper")?;
    let place = Place::new()?;
    let (address, api) = (place.address, free()?);
    let text = format!(
        "{line}
listen: {{grpc: '{address}'}}
rules: [{{id: edge, domain: demo, key: 'descriptor:api_key', limit: 1000000000/hour}}]
"
    );
    let file = place.file("rules.yaml", text)?;
    let body = place.file("body", framed(OURS))?;
    let own = api.to_string();
    let args = ["serve", "--config", &file, "--log-level", "off", "--listen", &own];
    let running = place.start(&program, &args, "grpc  ")?;
    let path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    Some(Service { running, path, body, api: Some(api) })
}

pub fn throttlecrab() -> Option<Service> {
    let program = find("throttlecrab-server")?;
    let place = Place::new()?;
    let body = place.file("body", framed(PEERS))?;
    let (host, port) = (place.address.ip().to_string(), place.address.port().to_string());
    let args = ["--grpc", "--grpc-host", &host, "--grpc-port", &port, "--store", "periodic"];
    let running = place.start(&program, &args, "")?;
    Some(Service { running, path: "/throttlecrab.RateLimiter/Throttle", body, api: None })
}

/// A message as gRPC sends it, not compressed.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; PREFIX];
    frame[1..].copy_from_slice(&(message.len() as u32).to_be_bytes());
    frame.extend_from_slice(message);
    frame
}
