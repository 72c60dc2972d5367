//! The addresses that a server listens on.
//!
//! Invariant: administration is behind a token wherever another machine can reach it, or closed; whoever
//! asks for it to be open there is told so before anything listens.

use super::Failure;
use super::doors::{self, Which};
use super::gateway::{self, Opened};
use crate::admin::{Admin, Tokens};
use crate::app::App;
use crate::args::{LISTEN_DEFAULT, Serve};
use crate::config::{Config, Fault};
use crate::door::envoy::Rls;
use crate::door::resp::Resp;
use crate::door::{self, Doors};
use crate::life::Phase;
use crate::serve::{self, Bounds};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use tokio::net::TcpListener;

/// Connections of a listener that is for administration alone.
const ADMIN_MAX: usize = 64;

/// Listeners that are open.
pub(super) struct Listeners {
    api: TcpListener,
    /// Where the API is.
    pub(super) address: SocketAddr,
    /// Where administration is, if not there.
    pub(super) admin: Option<(TcpListener, SocketAddr)>,
    /// Who may administer.
    pub(super) access: Admin,
    /// The gateway, if there is one.
    pub(super) gateway: Option<Opened>,
    /// Where Envoy asks.
    pub(super) grpc: Option<doors::Opened>,
    /// Where Redis clients ask.
    pub(super) resp: Option<doors::Opened>,
}

impl Listeners {
    /// Opens all that the command line and the config name.
    pub(super) async fn open(
        args: &Serve,
        config: Option<&Config>,
        tokens: Option<Tokens>,
        upstreams: usize,
    ) -> Result<Listeners, Failure> {
        let said = config.map(|config| &config.file.settings.listen);
        let admin = said.and_then(|said| said.admin.as_deref());
        if let Some(fault) = config.and_then(open_admin) {
            return Err(fault.into());
        }
        let api = said.and_then(|said| said.api.as_deref());
        let api = args.listen.as_deref().or(api).unwrap_or(LISTEN_DEFAULT);
        let (api, address) = bind(api, "--listen ").await?;
        let admin = match admin {
            Some(listen) => Some(bind(listen, "listen.admin: ").await?),
            None => None,
        };
        let gateway = match config {
            Some(config) => Opened::new(config, upstreams).await?,
            None => None,
        };
        let grpc = doors::Opened::new(config, Which::Grpc).await?;
        let resp = doors::Opened::new(config, Which::Resp).await?;
        let behind = admin.as_ref().map_or(address, |(_, own)| *own);
        let access = Admin::behind(behind, tokens);
        Ok(Listeners { api, address, admin, access, gateway, grpc, resp })
    }

    /// Serves until the life of the app is at its end.
    pub(super) async fn serve(self, app: App, bounds: Bounds) -> Result<(), Failure> {
        let stops = || {
            let life = app.life.clone();
            async move { life.reaches(Phase::Stopping).await }
        };
        let limiter = app.limiter.clone();
        let is_many = |peer: IpAddr| peer.is_loopback() || limiter.trusts(peer);
        let beside = [self.gateway.is_some(), self.grpc.is_some(), self.resp.is_some()];
        let beside = beside.into_iter().filter(|is_there| *is_there).count();
        let (of_api, of_others) = bounds.shared(beside);
        let doors = if self.admin.is_some() { Doors::public } else { Doors::all };
        let api = serve::run(self.api, doors(app.clone()), of_api, is_many, stops());
        let admin = async {
            let Some((admin, _)) = self.admin else { return };
            let connections = bounds.connections.min(ADMIN_MAX);
            let own = Doors::admin(app.clone());
            let bounds = Bounds { connections, ..bounds };
            serve::run(admin, own, bounds, is_many, stops()).await;
        };
        let gateway = self.gateway.map(|own| own.open(app.clone())).transpose()?;
        let gateway = async {
            let Some((entrance, gateway)) = gateway else { return };
            serve::run(entrance, gateway, of_others, is_many, stops()).await;
        };
        let password = self.resp.as_ref().and_then(|own| own.password.clone());
        let resp = self.resp.map(|own| own.entrance(&[])).transpose()?;
        let resp = async {
            let Some(entrance) = resp else { return };
            let resp = Resp { app: app.clone(), password };
            door::resp::run(entrance, resp, of_others, is_many, stops()).await;
        };
        let grpc = self.grpc.map(|own| own.entrance(&[b"h2"])).transpose()?;
        let grpc = async {
            let Some(entrance) = grpc else { return };
            serve::run(entrance, Rls::new(app.clone()), of_others, is_many, stops()).await;
        };
        tokio::join!(api, admin, gateway, resp, grpc);
        Ok(())
    }

    /// What the operator may not expect of the gateway, and of the other listeners.
    pub(super) fn warnings(&self, config: Option<&Config>) -> Vec<String> {
        let Some(config) = config else { return Vec::new() };
        let gateway = self.gateway.iter().flat_map(|opened| gateway::warnings(config, opened));
        let doors = [(Which::Grpc, &self.grpc), (Which::Resp, &self.resp)];
        let doors = doors.into_iter().filter_map(|(which, own)| Some((which, own.as_ref()?)));
        let doors = doors.flat_map(|(which, own)| doors::warnings(config, which, own));
        let unserved = config.file.rules.rules.iter().find(|rule| rule.domain.is_some());
        let unserved = unserved.filter(|_| self.grpc.is_none()).map(|rule| {
            let text = "has a `domain`, so it serves Envoy alone, and `listen.grpc` is not set";
            format!("rule `{}` {text}", rule.id)
        });
        gateway.chain(doors).chain(unserved).collect()
    }
}

/// What is wrong with administration that others reach without a token: known before anything listens.
pub(super) fn open_admin(config: &Config) -> Option<Fault> {
    let listen = config.file.settings.listen.admin.as_deref();
    let listen = listen.filter(|_| config.token_file().is_none())?;
    let fault = "`listen.admin` would let anyone who reaches it administer";
    let repair = "set `admin.token_file`, or listen on 127.0.0.1";
    is_beyond_loopback(listen).then(|| Fault::of(&config.path, fault, repair))
}

/// Whether other machines could reach it. What cannot be found cannot be listened on, either, and is told then.
pub(super) fn is_beyond_loopback(listen: &str) -> bool {
    let mut found = listen.to_socket_addrs().into_iter().flatten();
    found.any(|address| !address.ip().is_loopback())
}

/// A listener, and the address that it has; `flag` is where another one is written.
pub(super) async fn bind(listen: &str, flag: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let repair = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "another program has this port; stop it, or choose another port with `{flag}{}`",
                next_port(listen)
            ),
            ErrorKind::PermissionDenied => format!(
                "ports below 1024 are for root; choose a higher one with `{flag}{LISTEN_DEFAULT}`"
            ),
            ErrorKind::AddrNotAvailable => format!(
                "this machine does not have that address; write one it has, such as `{flag}{LISTEN_DEFAULT}`"
            ),
            _ => format!(
                "{error}; write an address and a port, such as `{flag}{LISTEN_DEFAULT}`"
            ),
        };
        Failure::new(format!("cannot listen on `{listen}`: {repair}"))
    })?;
    let address = listener.local_addr().map_err(|error| {
        Failure::new(format!("cannot tell the address of {listen}: {error}; try again"))
    })?;
    Ok((listener, address))
}

/// The address with the port after it, or any free one.
fn next_port(listen: &str) -> String {
    let Ok(mut address) = listen.parse::<SocketAddr>() else { return "127.0.0.1:0".into() };
    address.set_port(address.port().checked_add(1).unwrap_or(0));
    address.to_string()
}
