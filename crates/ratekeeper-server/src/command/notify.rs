//! Tells the service manager how a server is, where there is one that asks (systemd's `Type=notify`).
//!
//! Invariant: telling it never keeps the server from anything; the watchdog is fed by real decisions alone.

use crate::app::App;
use crate::life::Phase;
use std::env;
use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Whom to tell.
pub(super) struct Notify {
    socket: UnixDatagram,
    address: SocketAddr,
    /// How often it wants to hear that all is well.
    watchdog: Option<Duration>,
}

impl Notify {
    /// Whoever the environment names.
    pub(super) fn find() -> Option<Notify> {
        let name: OsString = env::var_os("NOTIFY_SOCKET")?;
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(own) => SocketAddr::from_abstract_name(own).ok()?,
            None => SocketAddr::from_pathname(&name).ok()?,
        };
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        let watchdog = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        Some(Notify { socket, address, watchdog: watchdog.map(Duration::from_micros) })
    }

    fn tell(&self, text: &str) {
        let _ = self.socket.send_to_addr(text.as_bytes(), &self.address);
    }

    /// Says that the server is ready, feeds the watchdog, and says when it stops.
    pub(super) async fn run(self, app: App) {
        self.tell("READY=1");
        tokio::select! {
            () = app.life.reaches(Phase::Leaving) => {}
            () = self.feed(&app) => {}
        }
        self.tell("STOPPING=1");
    }

    /// Feeds the watchdog for ever, each time after a decision that was made in time.
    async fn feed(&self, app: &App) {
        let Some(every) = self.watchdog.map(|limit| limit / 2) else {
            return std::future::pending().await;
        };
        loop {
            let canary = app.limiter.rules();
            let decides = async {
                if let Some(rule) = canary.first() {
                    let _ = rule.peek("ratekeeper watchdog").await;
                }
            };
            if timeout(every, decides).await.is_ok() {
                self.tell("WATCHDOG=1");
            }
            sleep(every).await;
        }
    }
}
