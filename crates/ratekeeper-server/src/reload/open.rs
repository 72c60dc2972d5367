//! The start: which release a server begins with.
//!
//! Invariant: the operator's file wins if it is not what it was when its release was stored; else the stored
//! release. With rules in the store of a fleet, what is there wins over both.

use super::desk::Desk;
use super::draft::{self, Draft, Ground, Read};
use super::fleet::Fleet;
use super::release::{Origin, Release};
use super::state::{State, Stored};
use super::{Book, Refused, Rulebook, switches, tell, text};
use crate::config::{Config, shown};
use crate::demo;
use ratekeeper::fleet::Board;
use ratekeeper::rule::RuleSet;
use ratekeeper::rule::file::Source;
use ratekeeper::{Limiter, RedisConfig};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

/// What a server starts with, before its limiter is there.
#[derive(Debug)]
pub struct Opening {
    ground: Ground,
    fleet: Option<Fleet>,
    state: Option<State>,
    stored: Stored,
    /// The release that decided before, if it still makes sense.
    before: Option<(Arc<Release>, Read)>,
}

impl Opening {
    /// Looks at what was stored for the config, and at the store that a fleet shares, if there is one. A config
    /// that makes no sense gets the rules that were stored.
    pub fn new(
        config: Option<&mut Config>,
        shared: Option<&RedisConfig>,
    ) -> Result<Opening, String> {
        let ground = config.as_deref().map_or_else(Ground::default, |config| Ground {
            path: Some(config.path.clone()),
            folder: Some(config.folder().to_owned()),
            settings: config.file.settings.clone(),
        });
        let fleet = match (ground.settings.rules_from_redis, shared) {
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
        let before = stored.live().and_then(|live| match ground.read(&Draft::of(live)) {
            Ok(mut read) => {
                // Its texts may lack what is secret: the operator's file is what it is.
                read.digest = None;
                Some((Arc::clone(live), read))
            }
            Err((faults, _)) => {
                faults.lines().iter().for_each(|line| tell(&format!("error: {line}")));
                tell(&format!("warning: the stored release {} cannot be used", live.number));
                None
            }
        });
        if let Some(config) = config
            && let Some(faults) = &config.fault
        {
            let (_, read) = before.as_ref().ok_or_else(|| faults.lines().join("\n"))?;
            config.file.rules = read.file.rules.clone();
        }
        Ok(Opening { ground, fleet, state, stored, before })
    }

    /// The rules that decided before, if they are known: a limiter that begins with them brings over what
    /// keys have used, whatever follows.
    pub fn rules(&self) -> Option<RuleSet> {
        self.before.as_ref().map(|(_, read)| read.file.rules.clone())
    }
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
        turning: tokio::sync::Mutex::new(()),
        desk: Desk::default(),
        failures: AtomicU64::new(0),
        state,
        fleet,
        stuck: AtomicBool::new(false),
        open_files: Mutex::default(),
    }
}

pub(super) fn unwritten(limiter: Limiter) -> Rulebook {
    let first = nothing(&limiter);
    let book = empty(limiter, Ground::default(), None, None);
    book.book().releases.push(Arc::new(first));
    book
}

impl Rulebook {
    /// Opens the book of a server before it listens. The limiter was built by the rules of the opening, or else by
    /// those of the config, or of the demo, and was asked by nobody yet.
    pub async fn open(
        opening: Opening,
        limiter: &Limiter,
        config: Option<&Config>,
    ) -> Result<Arc<Rulebook>, String> {
        let Opening { ground, fleet, state, stored, before } = opening;
        let book = Arc::new(empty(Limiter::clone(limiter), ground, state, fleet));
        book.begin(config, stored, before).await?;
        if let Some(fleet) = &book.fleet {
            // Side by side, since a store that is away is waited for.
            tokio::join!(book.look_for_switches(fleet), book.look(fleet));
        }
        Ok(book)
    }

    async fn begin(
        self: &Arc<Self>,
        config: Option<&Config>,
        stored: Stored,
        before: Option<(Arc<Release>, Read)>,
    ) -> Result<(), String> {
        let (newest, kept) = (stored.newest(), stored.live().map(Arc::clone));
        let Stored { live, releases } = stored;
        let overrides = kept.as_ref().map(|kept| kept.overrides.clone()).unwrap_or_default();
        let is_first = before.is_none();
        let file = config.map(|config| draft::of(&config.sources));
        let is_faulty = config.is_some_and(|config| config.fault.is_some());
        let goes_on = is_faulty
            || self.fleet.is_some()
            || live.as_ref().is_some_and(|live| live.file == file);
        {
            let mut book = self.book();
            for release in releases {
                book.releases.push(release);
            }
            (book.file, book.server) = match config.filter(|_| !is_faulty) {
                Some(config) => {
                    let server = || text::server(&config.sources, &config.file.settings);
                    (file.clone(), self.state.is_some().then(server))
                }
                None => live.clone().map(|live| (live.file, live.server)).unwrap_or_default(),
            };
        }
        if let Some(live) = live {
            let (switches, serial) = (live.switches, live.serial);
            self.put(|book| (book.switches, book.serial) = (switches, serial));
        }
        if let Some(path) = self.switch_file() {
            // It may have been there for long.
            let since = switches::put_there(&path).map_or(self.now(), |put| put.min(self.now()));
            self.filed(&path, switches::contents(&path), since);
        }
        if let Some((kept, read)) = before.filter(|_| goes_on) {
            self.settle((*kept).clone(), read).await;
            if let Some(faults) = config.and_then(|config| config.fault.as_ref()) {
                self.note("file", faults);
                self.book().refused = file;
            }
            return Ok(());
        }
        let draft = first(config, overrides);
        // Nobody has numbered what a fleet does not know yet.
        let number = if self.fleet.is_some() { newest } else { newest.saturating_add(1) };
        let (draft, read) = match config.filter(|_| draft.overrides.is_empty()) {
            // It was read a moment ago.
            Some(config) => (draft, known(config)),
            None => self.read(draft).await.map_err(|refused| match refused {
                Refused::Faults(faults) => faults.lines().join("\n"),
                other => format!("{other:?}"),
            })?,
        };
        let release = self.release(draft, &read, number);
        if is_first && number == self.limiter.version() && read.overrides.is_empty() {
            // The limiter was built with it.
            let mut book = self.book();
            book.named = read.named;
            book.releases.push(Arc::new(release));
            drop(book);
            self.keep();
            return Ok(());
        }
        self.settle(release, read).await;
        Ok(())
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
fn known(config: &Config) -> Read {
    Read {
        file: config.file.clone(),
        overrides: Vec::new(),
        left_out: Vec::new(),
        named: config.named.clone(),
        digest: None,
        server: None,
    }
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
