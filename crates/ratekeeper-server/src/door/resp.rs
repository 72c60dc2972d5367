//! Redis' protocol: any Redis client is a client, in any language.
//!
//! Each connection is one task: it reads what has come, understands as many commands as there are, decides those that
//! ask for decisions together, and writes all replies at once. Invariants: replies are in the order of the commands;
//! what cannot be understood is answered by an error, and ends the connection where what follows could be anything; a
//! peer that does not read its replies is not read from.

mod args;
mod check;
mod connection;
pub mod frame;
mod greeting;
mod password;
mod pipeline;
mod reply;
mod session;
mod throttle;
mod word;

pub use password::{PASSWORD_MAX, PASSWORD_MIN, Password};

use crate::app::App;
use crate::serve::{Bounds, Encrypts, Entrance, accept, secured};
use connection::Connection;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Without a command, before a connection ends.
const IDLE: Duration = Duration::from_secs(300);

/// Commands that are decided together.
const PIPELINE_MAX: usize = 128;

/// Bytes of replies that are written together, one more reply not counted.
const OUTPUT_MAX: usize = 64 * 1024;

/// What answers Redis clients.
#[derive(Clone, Debug)]
pub struct Resp {
    /// What decides.
    pub app: App,
    /// What clients have to know, if anything.
    pub password: Option<Arc<Password>>,
}

/// Serves Redis clients until `shutdown`; see [`serve::run`](crate::serve::run).
pub async fn run(
    entrance: impl Into<Entrance>,
    resp: Resp,
    bounds: Bounds,
    is_many: impl Fn(IpAddr) -> bool,
    shutdown: impl Future<Output = ()>,
) {
    let Entrance { listener, tls } = entrance.into();
    accept(listener, bounds, is_many, shutdown, |stream, _, stopped| {
        let (resp, tls): (Resp, Option<Encrypts>) = (resp.clone(), tls.clone());
        async move {
            if let Some(socket) = secured(tls, stream).await {
                Connection::new(socket, resp, bounds).serve(stopped).await;
            }
        }
    })
    .await;
}
