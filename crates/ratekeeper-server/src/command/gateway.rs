//! The gateway of a server, from what the config says of it.
//!
//! Invariant: whatever is wrong with it is told before anything listens.

use super::listeners::bind;
use super::{Failure, doors};
use crate::app::App;
use crate::config::{Config, Fault};
use crate::door::gateway::{Gateway, Sites};
use crate::serve::Entrance;
use crate::tls::{self, Certificate};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// A gateway that is set up.
pub(super) struct Opened {
    listener: TcpListener,
    /// Where it is.
    pub(super) address: SocketAddr,
    certificate: Option<Certificate>,
    sites: Sites,
}

impl Opened {
    /// Opens the gateway that the config describes, with so many connections to upstreams.
    pub(super) async fn new(
        config: &Config,
        connections: usize,
    ) -> Result<Option<Opened>, Failure> {
        let Some(parts) = set_up(config, connections)? else { return Ok(None) };
        let Some(said) = &config.file.settings.gateway else { return Ok(None) };
        let (certificate, sites) = parts;
        let (listener, address) = bind(&said.listen, "gateway.listen: ").await?;
        Ok(Some(Opened { listener, address, certificate, sites }))
    }

    /// Whether nobody between can read along.
    pub(super) fn is_secure(&self) -> bool {
        self.certificate.is_some()
    }

    /// Where callers come in, and who answers them; the certificate is followed from now on.
    pub(super) fn open(self, app: App) -> Result<(Entrance, Gateway), Fault> {
        let tls = doors::encrypts(self.certificate, &tls::PROTOCOLS)?;
        let entrance = Entrance { listener: self.listener, tls };
        Ok((entrance, self.sites.open(app)))
    }
}

/// The certificate and the routes of the gateway, if there is one.
fn set_up(
    config: &Config,
    connections: usize,
) -> Result<Option<(Option<Certificate>, Sites)>, Fault> {
    let Some(said) = &config.file.settings.gateway else { return Ok(None) };
    let certificate = doors::certificate(config, said.tls.as_ref())?;
    Ok(Some((certificate, Sites::new(config, said, connections)?)))
}

/// What is wrong with the gateway that the config describes.
pub(super) fn fault(config: &Config) -> Option<Fault> {
    set_up(config, 1).err()
}

/// What the operator may not expect of it.
pub(super) fn warnings(config: &Config, opened: &Opened) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((_, key)) = config.file.settings.gateway.as_ref().and_then(|own| own.tls.as_ref()) {
        let key = config.named(key);
        if tls::is_open_to_others(&key) {
            let key = crate::config::shown(&key);
            let text = "anyone on this machine can read the key there";
            warnings.push(format!("{key}: {text}; `chmod 600` it"));
        }
    } else if !opened.address.ip().is_loopback() {
        let address = opened.address;
        let text = "can be reached from other machines, in plain text";
        warnings.push(format!("the gateway at {address} {text}; set `gateway.tls`"));
    }
    warnings
}
