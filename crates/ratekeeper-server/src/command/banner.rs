//! What a server says when it starts: where it listens, what it keeps, by which rules, and a line to
//! try.
//!
//! Invariant: the lines to try work as they are printed, in a shell on this machine that finds
//! `ratekeeper`.

use crate::args::URL_DEFAULT;
use crate::demo;
use crate::door::CHECK_PATH;
use ratekeeper::Limit;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) fn write(out: &mut impl Write, address: SocketAddr, store: &str) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let url = format!("http://{}", reachable(address));
    writeln!(out, "ratekeeper {version}: no config was given, so these are the demo rules")?;
    writeln!(out)?;
    writeln!(out, "listening on  http://{address}")?;
    writeln!(out, "store         {store}")?;
    let mut title = "rules";
    for (name, limit) in demo::limits() {
        let Ok(limit) = Limit::try_from(limit) else { continue };
        let algorithm = limit.algorithm().map_or("", ratekeeper::Algorithm::name);
        let mode = if limit.is_shaping() { ", shaping" } else { "" };
        let limit = limit.to_string();
        writeln!(out, "{title:<14}{name:<24}{limit:<20} {algorithm}{mode}")?;
        title = "";
    }
    writeln!(out)?;
    writeln!(out, "Try, in another terminal:")?;
    let flag = if url == URL_DEFAULT { String::new() } else { format!(" --url {url}") };
    writeln!(out, "  ratekeeper check token-bucket alice{flag}")?;
    let question = r#"{"rule":"token-bucket","key":"alice"}"#;
    writeln!(out, "  curl --json '{question}' {url}{CHECK_PATH}")?;
    out.flush()
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
