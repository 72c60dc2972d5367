//! The start: which release a server begins with.
//!
//! Invariant: the operator's file wins if it is not what it was when its release was stored; else the stored
//! release. With rules in the store of a fleet, what is there wins over both.

use super::draft::{Draft, Ground, Read};
use super::fleet::Fleet;
use super::release::{Origin, Release};
use super::state::{State, Stored};
use super::{Book, Refused, Rulebook, switches, tell};
use crate::config::{Config, shown};
use crate::demo;
use ratekeeper::fleet::Board;
use ratekeeper::rule::file::Source;
use ratekeeper::{Limiter, RedisConfig};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

/// What a server starts with.
#[derive(Debug)]
pub struct Opening<'a> {
    /// Built by the config's rules, or by those of the demo, and asked by nobody yet.
    pub limiter: &'a Limiter,
    /// The operator's file.
    pub config: Option<&'a Config>,
    /// The store that a fleet shares, if there is one.
    pub shared: Option<&'a RedisConfig>,
}

/// The release of a limiter whose rules nobody wrote down.
pub(super) fn nothing(limiter: &Limiter) -> Release {
    Release {
        number: limiter.version(),
        source: Origin::Demo,
        at: limiter.now() / 1_000_000,
        by: None,
        change: "start".into(),
        rules: limiter.rules().len(),
        files: Vec::new(),
        overrides: Vec::new(),
        trusted: true,
    }
}

fn empty(limiter: Limiter, ground: Ground, state: Option<State>, fleet: Option<Fleet>) -> Rulebook {
    Rulebook {
        limiter,
        ground,
        book: Mutex::new(Book::default()),
        changing: tokio::sync::Mutex::new(()),
        failures: AtomicU64::new(0),
        state,
        fleet,
        stuck: AtomicBool::new(false),
    }
}

pub(super) fn unwritten(limiter: Limiter) -> Rulebook {
    let first = nothing(&limiter);
    let book = empty(limiter, Ground::default(), None, None);
    book.book().releases.push(Arc::new(first));
    book
}

impl Rulebook {
    /// Opens the book of a server before it listens.
    pub async fn open(opening: &Opening<'_>) -> Result<Arc<Rulebook>, String> {
        let Opening { limiter, config, shared } = opening;
        let ground = config.map_or_else(Ground::default, |config| Ground {
            path: Some(config.path.clone()),
            folder: Some(config.folder().to_owned()),
            settings: config.file.settings.clone(),
        });
        let settings = &ground.settings;
        let fleet = match (settings.rules_from_redis, shared) {
            (false, _) => None,
            (true, Some(shared)) => Some(Fleet::new(Board::new(shared))),
            (true, None) => {
                let repair = "write the URL of one, or leave out `rules_from`";
                return Err(format!(
                    "`rules_from: redis` needs a `store` that is shared; {repair}"
                ));
            }
        };
        let state = state(&ground)?;
        let stored = state.as_ref().map(State::load).unwrap_or_default();
        let book = Arc::new(empty(Limiter::clone(limiter), ground, state, fleet));
        book.begin(*config, stored).await?;
        if let Some(fleet) = &book.fleet {
            book.look(fleet).await;
        }
        Ok(book)
    }

    async fn begin(
        self: &Arc<Self>,
        config: Option<&Config>,
        stored: Stored,
    ) -> Result<(), String> {
        let Stored { live, releases } = stored;
        let newest = releases.iter().map(|release| release.number).max().unwrap_or(0);
        let newest = live.as_ref().map_or(newest, |live| newest.max(live.number));
        let digest = config.map(|config| self.ground.digest(&config.sources, &config.names));
        if let Some(config) = config {
            let mut book = self.book();
            (book.file, book.names) = (digest.clone(), config.names.clone());
        }
        let number = live.as_ref().map_or(newest, |live| live.number);
        let (kept, former): (Vec<_>, Vec<_>) =
            releases.into_iter().partition(|release| release.number == number);
        for release in former {
            self.book().releases.push(Arc::new(release));
        }
        let kept = kept.into_iter().next();
        let overrides = kept.as_ref().map(|kept| kept.overrides.clone()).unwrap_or_default();
        let is_same = self.fleet.is_some() || live.as_ref().is_some_and(|live| live.file == digest);
        if let Some(live) = live {
            let (switches, serial) = (live.switches, live.serial);
            self.put(|book| (book.switches, book.serial) = (switches, serial));
        }
        if let Some(path) = self.switch_file() {
            self.filed(&path, switches::contents(&path));
        }
        if let Some(kept) = kept.filter(|_| is_same)
            && self.resume(kept).await
        {
            return Ok(());
        }
        let draft = first(config, overrides);
        // Nobody has numbered what a fleet does not know yet.
        let number = if self.fleet.is_some() { newest } else { newest.saturating_add(1) };
        let (draft, read) = match config.filter(|_| draft.overrides.is_empty()) {
            // It was read a moment ago.
            Some(config) => (draft, known(config, digest)),
            None => self.read(draft).await.map_err(|refused| match refused {
                Refused::Faults(faults) => faults.lines().join("\n"),
                other => format!("{other:?}"),
            })?,
        };
        let release = self.release(draft, &read, number);
        if number == self.limiter.version() && read.overrides.is_empty() {
            // The limiter was built with it.
            let gone = self.book().releases.push(Arc::new(release.clone()));
            self.keep(Some((&release, &gone)));
            return Ok(());
        }
        self.settle(release, read).await;
        Ok(())
    }

    /// Goes on with a release that was stored; whether it still makes sense.
    async fn resume(self: &Arc<Self>, kept: Release) -> bool {
        let draft = Draft {
            source: kept.source,
            by: kept.by.clone(),
            change: kept.change.clone(),
            sources: kept.sources(),
            overrides: kept.overrides.clone(),
            trusted: kept.trusted,
            needs_last: false,
        };
        match self.read(draft).await {
            Ok((_, mut read)) => {
                // Its texts may lack what is secret: the operator's file is what it is.
                read.digest = None;
                self.settle(kept, read).await;
                true
            }
            Err(refused) => {
                if let Refused::Faults(faults) = refused {
                    faults.lines().iter().for_each(|line| tell(&format!("error: {line}")));
                }
                tell(&format!(
                    "warning: the stored release {} cannot be used; the file is",
                    kept.number
                ));
                false
            }
        }
    }

    /// Where the switch file is, if there is one.
    pub(super) fn switch_file(&self) -> Option<PathBuf> {
        let name = self.ground.settings.switch_file.as_deref()?;
        Some(self.ground.folder.as_deref()?.join(name))
    }
}

/// What the file says, or the demo.
fn first(config: Option<&Config>, overrides: Vec<serde_json::Value>) -> Draft {
    let source = if config.is_some() { Origin::File } else { Origin::Demo };
    let demo = || vec![Source { name: super::WHOLE.into(), text: demo::text() }];
    Draft {
        source,
        by: None,
        change: "start".into(),
        sources: config.map_or_else(demo, |config| config.sources.clone()),
        overrides,
        trusted: true,
        needs_last: false,
    }
}

/// What a config says, which makes sense.
fn known(config: &Config, digest: Option<String>) -> Read {
    let (file, names) = (config.file.clone(), config.names.clone());
    Read { file, overrides: Vec::new(), left_out: Vec::new(), names, digest }
}

fn state(ground: &Ground) -> Result<Option<State>, String> {
    let (Some(name), Some(folder)) = (&ground.settings.state_dir, &ground.folder) else {
        return Ok(None);
    };
    let path = folder.join(name);
    State::open(&path).map(Some).map_err(|error| {
        let repair = "name a folder that this process can write";
        format!("`state_dir` {} cannot be used: {error}; {repair}", shown(&path))
    })
}
