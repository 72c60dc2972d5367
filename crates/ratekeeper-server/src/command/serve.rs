//! `ratekeeper serve`: binds the address, says what runs where, and serves until told to stop.
//!
//! Invariant: once the address is printed, connections are accepted and signals are heeded.

use super::store::Store;
use super::{Failure, banner, runtime};
use crate::args::{LISTEN_DEFAULT, Serve};
use crate::serve::Bounds;
use crate::{demo, door, serve};
use ratekeeper::decision::Wait;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

pub(super) fn run(args: &Serve) -> Result<ExitCode, Failure> {
    let build = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime(build)?.block_on(start(args))
}

async fn start(args: &Serve) -> Result<ExitCode, Failure> {
    let store = Store::open(args)?;
    let rules = demo::rules(store.builder());
    let limiter = rules.map_err(|error| Failure::new(format!("demo rules: {error}")))?.build();
    store.check(&limiter).await?;
    let bounds = Bounds::default();
    let stop = stop_signal(bounds.drain)?;
    let listener = bind(&args.listen).await?;
    let address = listener.local_addr().map_err(|error| {
        Failure::new(format!("cannot tell the address of {}: {error}; try again", args.listen))
    })?;
    // A server goes on without anyone to read what it says.
    let _ = banner::write(&mut io::stdout().lock(), address, &store.to_string());
    if !address.ip().is_loopback() {
        let text = "can be reached from other machines, in plain text and without a password";
        let _ = writeln!(io::stderr(), "warning: {address} {text}");
    }
    let app = door::router(limiter, bounds.body);
    serve::run(listener, app, bounds, stop).await;
    let _ = writeln!(io::stdout(), "stopped");
    Ok(ExitCode::SUCCESS)
}

/// Is over when the process is asked to end, by Ctrl-C or by whoever runs it.
fn stop_signal(drain: Duration) -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| Failure::new(format!("cannot listen for signals: {error}; try again")))
    };
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let left = Wait(drain);
        let _ = writeln!(io::stdout(), "stopping: requests under way have {left} to finish");
    })
}

async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(listen).await.map_err(|error| {
        let repair = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "another program has this port; stop it, or choose another port with `--listen {}`",
                next_port(listen)
            ),
            ErrorKind::PermissionDenied => format!(
                "ports below 1024 are for root; choose a higher one with `--listen {LISTEN_DEFAULT}`"
            ),
            ErrorKind::AddrNotAvailable => format!(
                "this machine does not have that address; write one it has, such as `--listen {LISTEN_DEFAULT}`"
            ),
            _ => format!(
                "{error}; write an address and a port, such as `--listen {LISTEN_DEFAULT}`"
            ),
        };
        Failure::new(format!("cannot listen on `{listen}`: {repair}"))
    })
}

/// The address with the port after it, or any free one.
fn next_port(listen: &str) -> String {
    let Ok(mut address) = listen.parse::<SocketAddr>() else { return "127.0.0.1:0".into() };
    address.set_port(address.port().checked_add(1).unwrap_or(0));
    address.to_string()
}
