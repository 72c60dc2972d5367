//! `ratekeeper serve`: binds the address, says what runs where, and serves until told to stop.
//!
//! Invariant: once the address is printed, connections are accepted and signals are heeded.

use super::banner::{self, Started};
use super::store::Store;
use super::{Failure, runtime};
use crate::app::App;
use crate::args::{LISTEN_DEFAULT, Serve};
use crate::config::Config;
use crate::reload::{Opening, Rulebook};
use crate::serve::Bounds;
use crate::{demo, door, serve};
use ratekeeper::Limiter;
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
    let config = args.config.as_deref().map(Config::read).transpose()?;
    let store = Store::open(args, config.as_ref())?;
    let limiter = limiter(&store, config.as_ref())?;
    let until = match config {
        Some(_) => "each rule does what its `on_store_failure` says, and answers tell it",
        None => "requests are admitted, and answers say `failed_open`",
    };
    store.check(&limiter, until).await?;
    let (config_read, shared) = (config.as_ref(), store.shared());
    let opening = Opening { limiter: &limiter, config: config_read, shared };
    let rulebook = Rulebook::open(&opening).await.map_err(Failure::new)?;
    let bounds = Bounds::default();
    let stop = stop_signal(bounds.drain)?;
    let said = config.as_ref().and_then(|config| config.file.settings.listen.api.as_deref());
    let listen = args.listen.as_deref().or(said).unwrap_or(LISTEN_DEFAULT);
    let listener = bind(listen).await?;
    let address = listener.local_addr().map_err(|error| {
        Failure::new(format!("cannot tell the address of {listen}: {error}; try again"))
    })?;
    let started = Started { address, store: &store, config: config.as_ref(), limiter: &limiter };
    let text = banner::text(&started).await;
    // A server goes on without anyone to read what it says.
    let _ = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    warn(address, config.as_ref(), &limiter);
    rulebook.watch();
    let app = door::router(App { rulebook, ..App::new(limiter, bounds.body) });
    serve::run(listener, app, bounds, stop).await;
    let _ = writeln!(io::stdout(), "stopped");
    Ok(ExitCode::SUCCESS)
}

/// By the rules of the config, or those of the demo.
fn limiter(store: &Store, config: Option<&Config>) -> Result<Limiter, Failure> {
    let Some(config) = config else {
        let rules = demo::rules(store.builder());
        return Ok(rules.map_err(|error| Failure::new(format!("demo rules: {error}")))?.build());
    };
    Ok(store.builder().rules(config.file.rules.clone()).build())
}

/// Says what the operator may not expect.
fn warn(address: SocketAddr, config: Option<&Config>, limiter: &Limiter) {
    let warn = |text: String| {
        let _ = writeln!(io::stderr(), "warning: {text}");
    };
    for field in config.map(Config::unserved).unwrap_or_default() {
        let text = "is read and checked, but this version does not serve it yet";
        warn(format!("`{field}` {text}"));
    }
    // Callers of the check API say by themselves who the user is.
    limiter.doubts(true, &mut |doubt| warn(doubt.to_string()));
    if !address.ip().is_loopback() {
        let text = "can be reached from other machines, in plain text and without a password";
        warn(format!("{address} {text}"));
    }
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
