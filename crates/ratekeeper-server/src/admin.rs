//! Administration: who may look at a running server, and who may change it.
//!
//! Invariant: nobody changes anything without a token, except from this machine where none was set; a page
//! of another site never does. Every change, and every attempt at one, is noted in the log.

mod audit;
mod follow;
pub(crate) mod guard;
mod keys;
mod session;
mod token;
mod why;

pub(crate) use audit::about;
pub(crate) use keys::forget;
pub use token::{TOKEN_BYTES_MIN, TokenError, Tokens};

use crate::app::App;
use crate::door;
use crate::observe::logs::Sample;
use arc_swap::ArcSwap;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use ratekeeper::Limiter;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Wrong tokens from one address, before it has to wait.
const FAILURES: &str = "20/minute";

/// Addresses whose wrong tokens are remembered.
const ADDRESSES_MAX: usize = 10_000;

/// Who may administer.
#[derive(Clone, Debug)]
pub struct Admin {
    access: Access,
    /// Counts wrong tokens by address.
    failures: Option<Limiter>,
    /// What strangers tried.
    refused: Arc<Sample>,
}

#[derive(Clone, Debug)]
enum Access {
    /// Whoever is on this machine: nobody else can reach the listener.
    Local,
    /// Whoever has a token.
    Tokens(Arc<ArcSwap<Tokens>>),
    /// Nobody: the listener can be reached from elsewhere, and there is no token.
    Closed,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
        }
    }
}

impl Admin {
    /// Whoever is on this machine, without a token.
    pub fn local() -> Admin {
        Admin { access: Access::Local, failures: None, refused: Arc::default() }
    }

    /// Whoever has one of these tokens.
    pub fn by_token(tokens: Tokens) -> Admin {
        let limiter = Limiter::memory().keys(ADDRESSES_MAX).rule("admin", FAILURES);
        let failures = limiter.ok().map(ratekeeper::limiter::Builder::build);
        let access = Access::Tokens(Arc::new(ArcSwap::from_pointee(tokens)));
        Admin { access, failures, refused: Arc::default() }
    }

    /// Behind a listener: by token if there is one, else for this machine alone.
    pub fn behind(listener: SocketAddr, tokens: Option<Tokens>) -> Admin {
        match tokens {
            Some(tokens) => Admin::by_token(tokens),
            None if listener.ip().is_loopback() => Admin::local(),
            None => Admin { access: Access::Closed, ..Admin::local() },
        }
    }

    /// Counts the attempt of somebody whose token is unknown, and tells of it now and then.
    fn note_stranger(&self, app: &App, peer: Option<IpAddr>) {
        if let Some(left_out) = self.refused.take(app.observe.up()) {
            let from = peer.map(|peer| peer.to_string());
            tracing::info!(from, left_out, "sign-in with an unknown token");
        }
    }

    /// Whether nobody may administer.
    pub fn is_closed(&self) -> bool {
        matches!(self.access, Access::Closed)
    }
}

/// Every path of administration, guarded.
pub(crate) fn routes(app: &App) -> Router<App> {
    let routes = Router::new()
        .route("/v1/keys", get(keys::peek).delete(keys::reset))
        .route("/v1/decisions", get(why::list))
        .route("/v1/decisions/{id}", get(why::why))
        .merge(door::admin_routes());
    let guarded = routes.route_layer(from_fn_with_state(app.clone(), guard::guard));
    let routes = guarded.merge(session::routes());
    #[cfg(feature = "console")]
    let routes = routes.merge(crate::console::routes());
    routes
}
