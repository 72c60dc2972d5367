//! `ratekeeper serve`: binds the address, says what runs where, and serves until told to stop.
//!
//! Invariant: once the address is printed, connections are accepted and signals are heeded.

use super::banner::{self, Started};
use super::listeners::Listeners;
use super::notify::Notify;
use super::signals::{Signals, Tells};
use super::store::Store;
use super::{Failure, runtime};
use crate::admin::Tokens;
use crate::app::{App, Parts};
use crate::args::{Connections, Serve};
use crate::config::{Config, shown};
use crate::life::Phase;
use crate::memory_file::MemoryFile;
use crate::observe::{Observe, logs};
use crate::reload::{self, Opening, Rulebook};
use crate::serve::Bounds;
use crate::{demo, door};
use ratekeeper::Limiter;
use ratekeeper::diagnosis::Diagnosis;
use ratekeeper::limiter::Builder;
use ratekeeper::rule::RuleSet;
use ratekeeper::rule::file::{AccessLog, Gateway};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the end waits for a shared store to take back what was not used.
const GIVE_BACK: Duration = Duration::from_millis(500);

/// Files beside those of connections.
const FILES_BESIDE: u64 = 256;

pub(super) fn run(args: &Serve) -> Result<ExitCode, Failure> {
    // On one core a second thread could only wait for the first.
    let alone = std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
    let mut build = match alone {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    runtime(build.enable_all().build())?.block_on(start(args))
}

async fn start(args: &Serve) -> Result<ExitCode, Failure> {
    let read = |path| Config::read(path).or_else(|faults| reload::config(path, faults));
    let mut config = args.config.as_deref().map(read).transpose()?;
    let store = Store::open(args, config.as_ref())?;
    let token_file = config.as_ref().and_then(Config::token_file);
    let tokens = token_file.as_deref().map(Tokens::open).transpose()?;
    let kept = memory_file(&store, config.as_ref())?;
    let log = logs::start(args.log.format, args.log.level);
    #[cfg(feature = "otel")]
    let traces = crate::observe::traces::Traces::start().map_err(Failure::new)?;
    let observe = Arc::<Observe>::default();
    let builder = store.builder().observer(observe.observer());
    let opening = Opening::new(config.as_mut(), store.shared()).map_err(Failure::new)?;
    let limiter = limiter(builder, config.as_ref(), opening.rules(), kept.as_ref())?;
    store.check(&limiter, meanwhile(config.as_ref())).await?;
    let rulebook =
        Rulebook::open(opening, &limiter, config.as_ref()).await.map_err(Failure::new)?;
    let gateway = config.as_ref().and_then(|own| own.file.settings.gateway.as_ref());
    let tells = tells(args, gateway);
    let (bounds, upstreams) = bounds(args, gateway.is_some())?;
    let signals = Signals::new()?;
    let listeners = Listeners::open(args, config.as_ref(), tokens, upstreams).await?;
    let started = Started {
        address: listeners.address,
        admin: listeners.admin.as_ref().map(|(_, address)| *address),
        gateway: listeners.gateway.as_ref().map(|own| (own.address, own.is_secure())),
        grpc: listeners.grpc.as_ref().map(|own| (own.address, own.is_secure())),
        resp: listeners.resp.as_ref().map(|own| (own.address, own.is_secure())),
        closed: listeners.access.is_closed(),
        store: &store,
        config: config.as_ref(),
        stored: rulebook.stored(),
        limiter: &limiter,
    };
    say(&started, args.json).await;
    warn(&listeners, config.as_ref(), &limiter);
    let held = limiter.clone();
    rulebook.watch();
    token_file.map(|path| tokio::spawn(listeners.access.clone().follow(path)));
    let app = App::from(Parts {
        admin: listeners.access.clone(),
        rulebook,
        observe,
        playground: store.playground(),
        is_demo: config.is_none(),
        is_shared: store.shared().is_some(),
        ..Parts::new(limiter, bounds.body)
    });
    door::keep_time(&app);
    let life = app.life.clone();
    tokio::spawn(signals.lead(life.clone(), bounds.drain, tells));
    Notify::find().map(|notify| tokio::spawn(notify.run(app.clone())));
    kept.clone().map(|kept| tokio::spawn(kept.keep(held.clone(), life.clone())));
    let (last, code) = tokio::select! {
        served = listeners.serve(app, bounds) => served.map(|()| ("stopped", ExitCode::SUCCESS))?,
        () = life.reaches(Phase::Cut) => ("stopped at once", ExitCode::FAILURE),
    };
    if life.phase() < Phase::Cut {
        finish(kept, held, bounds.drain).await;
    }
    #[cfg(feature = "otel")]
    if let Some(traces) = traces.filter(|_| life.phase() < Phase::Cut) {
        traces.finish().await;
    }
    drop(log);
    tells.say(last);
    Ok(code)
}

/// What becomes of requests while the store is away.
fn meanwhile(config: Option<&Config>) -> &'static str {
    match config {
        Some(_) => "each rule does what its `on_store_failure` says, and answers tell it",
        None => "requests are admitted, and answers say `failed_open`",
    }
}

/// Where people are told that the server ends.
fn tells(args: &Serve, gateway: Option<&Gateway>) -> Tells {
    match gateway.map(|gateway| gateway.access_log) {
        _ if args.json => Tells::Nobody,
        None | Some(AccessLog::None) => Tells::Output,
        Some(_) => Tells::Error,
    }
}

/// Says that it has started; it goes on without anyone to read it.
async fn say(started: &Started<'_>, json: bool) {
    let text = if json { banner::json(started).await } else { banner::text(started).await };
    let _ = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
}

/// The bounds, once as many files may be open as they need, and how many connections to upstreams there may be:
/// half as many as callers have, since few of those wait for an answer at a time.
fn bounds(args: &Serve, has_gateway: bool) -> Result<(Bounds, usize), Failure> {
    let Connections { all, per_address } = args.connections;
    let upstreams = if has_gateway { all.div_ceil(2) } else { 0 };
    let wanted = u64::from(all) + u64::from(upstreams) + FILES_BESIDE;
    match rlimit::increase_nofile_limit(wanted) {
        Ok(files) if files < wanted => {
            let fault = format!("{all} connections need {wanted} open files, and {files} may be");
            let fits = files.saturating_sub(FILES_BESIDE).max(1);
            let fits = if has_gateway { (fits * 2 / 3).max(1) } else { fits };
            let repair = format!("raise `ulimit -Hn`, or have fewer with `--connections {fits}`");
            return Err(Failure::new(format!("{fault}; {repair}")));
        }
        // What the system does not tell is found out when it matters.
        _ => {}
    }
    let (connections, per_address) = (all as usize, per_address as usize);
    Ok((Bounds { connections, per_address, ..Bounds::default() }, upstreams as usize))
}

/// Where the buckets of a memory store are kept, if anywhere.
fn memory_file(store: &Store, config: Option<&Config>) -> Result<Option<MemoryFile>, Failure> {
    let folder = config.and_then(|config| {
        let name = config.file.settings.state_dir.as_deref()?;
        Some(config.named(name))
    });
    let Some(folder) = folder.filter(|_| matches!(store, Store::Memory(_))) else {
        return Ok(None);
    };
    MemoryFile::open(&folder).map(Some).map_err(|error| {
        let fault = format!("{}: this folder cannot be made: {error}", shown(&folder));
        Failure::new(format!("{fault}; name one that can in `state_dir`"))
    })
}

/// By the rules that decided before, or else those of the config, or of the demo, going on from what was kept.
fn limiter(
    builder: Builder,
    config: Option<&Config>,
    before: Option<RuleSet>,
    kept: Option<&MemoryFile>,
) -> Result<Limiter, Failure> {
    let Some(config) = config else {
        let rules = demo::rules(builder);
        return Ok(rules.map_err(|error| Failure::new(format!("demo rules: {error}")))?.build());
    };
    let builder = builder.rules(before.unwrap_or_else(|| config.file.rules.clone()));
    Ok(match kept.and_then(MemoryFile::read) {
        Some(saved) => builder.saved(saved).build(),
        None => builder.build(),
    })
}

/// Says what the operator may not expect.
fn warn(listeners: &Listeners, config: Option<&Config>, limiter: &Limiter) {
    let warn = |text: String| {
        let _ = writeln!(io::stderr(), "warning: {text}");
    };
    if let Some(config) = config {
        let text = "a gateway that asks `/v1/authorize` does not meet its concurrency limits, since it \
                    does not say when a request has ended";
        let skipped = door::skipped(&config.file.rules);
        skipped.iter().for_each(|rule| warn(format!("rule `{rule}`: {text}")));
    }
    // Callers of the check API say by themselves who the user is.
    let only_envoy = listeners.grpc.is_some() && !limiter.rules().is_empty();
    limiter.doubts(true, &mut |doubt| match doubt {
        Diagnosis::NoRules if only_envoy => {}
        doubt => warn(doubt.to_string()),
    });
    if cfg!(not(feature = "otel")) && std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
        let text =
            "`OTEL_EXPORTER_OTLP_ENDPOINT` is set, and this program was built without traces";
        warn(format!("{text}; build it with the feature `otel`"));
    }
    listeners.warnings(config).into_iter().for_each(warn);
    let address = listeners.address;
    if !address.ip().is_loopback() {
        let text = "can be reached from other machines, in plain text and without a password";
        warn(format!("{address} {text}"));
    }
    if let Some(path) =
        config.and_then(Config::token_file).filter(|path| Tokens::is_open_to_others(path))
    {
        let path = shown(&path);
        warn(format!("{path}: anyone on this machine can read the tokens there; `chmod 600` it"));
    }
    if listeners.access.is_closed() {
        let text = "administration is closed there, since there is no token";
        warn(format!("{text}; set `admin.token_file`, or `listen.admin` on loopback"));
    }
}

/// Gives back what was taken ahead of a shared store, which is of use to others; and keeps what memory holds.
async fn finish(kept: Option<MemoryFile>, limiter: Limiter, patience: Duration) {
    let _ = timeout(GIVE_BACK, limiter.drain()).await;
    if let Some(kept) = kept {
        let _ = timeout(patience, kept.finish(limiter)).await;
    }
}
