//! The listeners of Envoy and of Redis clients, from what the config says of them.
//!
//! Invariant: whatever is wrong with them is told before anything listens; a listener that lets whoever reaches it
//! change something is behind a password, or this machine's.

use super::Failure;
use super::listeners::{bind, is_beyond_loopback};
use crate::config::{Config, Fault, shown};
use crate::door::resp::Password;
use crate::serve::{Encrypts, Entrance};
use crate::tls::{self, Certificate};
use ratekeeper::rule::file::Secured;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// A listener that is open.
pub(super) struct Opened {
    listener: TcpListener,
    /// Where it is.
    pub(super) address: SocketAddr,
    certificate: Option<Certificate>,
    /// What its clients have to know.
    pub(super) password: Option<Arc<Password>>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Envoy's rate limit service.
    Grpc,
    /// Redis' protocol.
    Resp,
}

impl Which {
    const ALL: [Which; 2] = [Which::Grpc, Which::Resp];

    /// Its name in the config.
    const fn name(self) -> &'static str {
        match self {
            Which::Grpc => "grpc",
            Which::Resp => "resp",
        }
    }

    /// Where it is to listen, if anywhere, and what keeps strangers from it.
    fn said(self, config: &Config) -> (Option<&str>, &Secured) {
        let settings = &config.file.settings;
        match self {
            Which::Grpc => (settings.listen.grpc.as_deref(), &settings.grpc),
            Which::Resp => (settings.listen.resp.as_deref(), &settings.resp),
        }
    }
}

impl Opened {
    /// Opens the listener that the config describes, if it does.
    pub(super) async fn new(
        config: Option<&Config>,
        which: Which,
    ) -> Result<Option<Opened>, Failure> {
        let Some(config) = config else { return Ok(None) };
        let (Some(listen), _) = which.said(config) else { return Ok(None) };
        let (certificate, password) = set_up(config, which)?;
        let (listener, address) = bind(listen, &format!("listen.{}: ", which.name())).await?;
        Ok(Some(Opened { listener, address, certificate, password: password.map(Arc::new) }))
    }

    /// Whether nobody between can read along.
    pub(super) fn is_secure(&self) -> bool {
        self.certificate.is_some()
    }

    /// Where clients come in; the certificate is followed from now on.
    pub(super) fn entrance(self, speaks: &[&[u8]]) -> Result<Entrance, Fault> {
        let tls = encrypts(self.certificate, speaks)?;
        Ok(Entrance { listener: self.listener, tls })
    }
}

/// The certificate that the config names for a listener, if it does.
pub(super) fn certificate(
    config: &Config,
    tls: Option<&(String, String)>,
) -> Result<Option<Certificate>, Fault> {
    let open =
        |(cert, key): &(String, String)| Certificate::open(&config.named(cert), &config.named(key));
    let certificate = tls.map(open).transpose()?;
    certificate.as_ref().map(Certificate::acceptor).transpose()?;
    Ok(certificate)
}

/// What encrypts connections that speak these protocols, the best first; the certificate is followed from now on.
pub(super) fn encrypts(
    certificate: Option<Certificate>,
    speaks: &[&[u8]],
) -> Result<Option<Encrypts>, Fault> {
    let Some(certificate) = certificate else { return Ok(None) };
    let tls = certificate.acceptor_of(speaks)?;
    tokio::spawn(certificate.follow());
    Ok(Some(Encrypts(tls)))
}

/// The certificate and the password of a listener.
fn set_up(config: &Config, which: Which) -> Result<(Option<Certificate>, Option<Password>), Fault> {
    let (listen, Secured { password_file, tls }) = which.said(config);
    let certificate = certificate(config, tls.as_ref())?;
    let password =
        password_file.as_ref().map(|name| Password::open(&config.named(name))).transpose()?;
    let is_open = listen.is_some_and(is_beyond_loopback);
    if which == Which::Resp && is_open && password.is_none() {
        let fault = "`listen.resp` would let anyone who reaches it ask, and reset keys";
        let repair = "set `resp.password_file`, or listen on 127.0.0.1";
        return Err(Fault::of(&config.path, fault, repair));
    }
    Ok((certificate, password))
}

/// What is wrong with the listeners that the config describes.
pub(super) fn faults(config: &Config) -> Vec<Fault> {
    Which::ALL.into_iter().filter_map(|which| set_up(config, which).err()).collect()
}

/// What the operator may not expect of a listener.
pub(super) fn warnings(config: &Config, which: Which, opened: &Opened) -> Vec<String> {
    let (_, Secured { password_file, tls }) = which.said(config);
    let mut warnings = Vec::new();
    let secrets = tls.as_ref().map(|(_, key)| key).into_iter().chain(password_file);
    for secret in secrets.map(|name| config.named(name)) {
        if tls::is_open_to_others(&secret) {
            let path = shown(&secret);
            warnings.push(format!("{path}: anyone on this machine can read it; `chmod 600` it"));
        }
    }
    if tls.is_none() && !opened.address.ip().is_loopback() {
        let (name, address) = (which.name(), opened.address);
        let text = "can be reached from other machines, in plain text";
        warnings.push(format!("`listen.{name}` at {address} {text}; set `{name}.tls`"));
    }
    let has_rules = config.file.rules.rules.iter().any(|rule| rule.domain.is_some());
    if which == Which::Grpc && !has_rules {
        let text = "`listen.grpc` is set, and no rule has a `domain`, so Envoy is never limited";
        warnings.push(text.to_owned());
    }
    warnings
}
