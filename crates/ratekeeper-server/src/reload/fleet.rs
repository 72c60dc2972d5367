//! Rules that a fleet has in common: in the store that it shares, heard of at once and looked for every second.
//!
//! Invariants: the number of a release is the fleet's, the same on every server; the newest one wins, also if the
//! store has lost it; a server that cannot read it says so, once, and keeps its own.

use super::change::aside;
use super::draft::Draft;
use super::release::{Origin, Release, Text};
use super::switches::Switches;
use super::{Refused, Rulebook, fault, tell, text};
use crate::config::Faults;
use ratekeeper::fleet::{Board, News, Posted, UNREADABLE};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often everyone looks by itself.
const POLL: Duration = Duration::from_secs(1);

/// The names of the two texts.
pub(super) const RULES: &str = "rules";
pub(super) const SWITCHES: &str = "switches";

/// The store that a fleet shares, and what is known of it.
#[derive(Debug)]
pub(super) struct Fleet {
    board: Board,
    /// The number of the release there, if that makes no sense to this server; else 0.
    bad: AtomicU64,
    /// The same for the switches.
    bad_switches: AtomicU64,
    /// Whether it could not be asked when that was last tried.
    away: AtomicBool,
    /// Whether this server has seen what the fleet has.
    joined: AtomicBool,
}

impl From<ratekeeper::StoreError> for Refused {
    fn from(error: ratekeeper::StoreError) -> Refused {
        Refused::Away(error.to_string())
    }
}

/// What others may see of a release: nothing that is about this server.
pub(super) fn shareable(release: &mut Release) -> Result<(), Faults> {
    release.files = text::live(&release.sources())?.into_iter().map(Text::from).collect();
    Ok(())
}

impl Fleet {
    pub(super) fn new(board: Board) -> Fleet {
        let (away, joined) = (AtomicBool::new(false), AtomicBool::new(false));
        Fleet { board, bad: AtomicU64::new(0), bad_switches: AtomicU64::new(0), away, joined }
    }

    /// What made no sense may make sense now.
    pub(super) fn look_again(&self) {
        self.bad.store(0, Ordering::Relaxed);
    }

    /// The number that is in the store, if `live` is the newest that makes sense, and the next one.
    pub(super) fn numbers(&self, live: u64) -> (u64, u64) {
        numbers(&self.bad, live)
    }

    /// Puts a release in the place of the one with this number; the number that is there, if that is another.
    pub(super) async fn post(
        &self,
        release: &Release,
        seen: u64,
    ) -> Result<Result<(), u64>, Refused> {
        let written = release.clone();
        let text = aside(move || Ok(serde_json::to_vec(&written).unwrap_or_default())).await?;
        let posted = self.board.write(RULES, seen, release.number, &text).await?;
        if posted.is_ok() {
            self.bad.store(0, Ordering::Relaxed);
        }
        Ok(posted)
    }

    /// The same for switches, which get the next number; it is returned.
    pub(super) async fn post_switches(
        &self,
        switches: &Switches,
        live: u64,
    ) -> Result<Result<u64, u64>, Refused> {
        let (seen, number) = numbers(&self.bad_switches, live);
        let posted = self.put_switches(switches, seen, number).await?;
        if posted.is_ok() {
            self.bad_switches.store(0, Ordering::Relaxed);
        }
        Ok(posted.map(|()| number))
    }

    pub(super) async fn put_switches(
        &self,
        switches: &Switches,
        seen: u64,
        number: u64,
    ) -> Result<Result<(), u64>, Refused> {
        let text = serde_json::to_vec(switches).unwrap_or_default();
        Ok(self.board.write(SWITCHES, seen, number, &text).await?)
    }

    /// The number of the switches there and what they are, if they make sense; none if they are those that
    /// are known.
    pub(super) async fn switches(
        &self,
        live: u64,
    ) -> Result<Option<(u64, Option<Switches>)>, Refused> {
        let (known, _) = numbers(&self.bad_switches, live);
        let posted = self.board.read(SWITCHES, known).await?;
        if posted.number == known {
            return Ok(None);
        }
        let text = posted.text.filter(|_| posted.number != UNREADABLE);
        let found: Option<Switches> = text.and_then(|text| serde_json::from_slice(&text).ok());
        let bad = if found.is_none() { posted.number } else { 0 };
        self.bad_switches.store(bad, Ordering::Relaxed);
        Ok(Some((posted.number, found)))
    }

    /// Tells, once, that the store cannot be asked, or that it can be again.
    fn told(&self, failed: Option<&Refused>, number: u64) {
        let was_away = self.away.swap(failed.is_some(), Ordering::Relaxed);
        match failed {
            Some(Refused::Away(error)) if !was_away => tell(&format!(
                "warning: the rules of the fleet cannot be read: {error}; release {number} goes on deciding"
            )),
            None if was_away => tell("the rules of the fleet can be read again"),
            _ => {}
        }
    }
}

/// The number that is in the store, if `live` is the newest that makes sense there, and the next one.
fn numbers(bad: &AtomicU64, live: u64) -> (u64, u64) {
    match bad.load(Ordering::Relaxed) {
        0 => (live, live.saturating_add(1)),
        UNREADABLE => (UNREADABLE, live.saturating_add(1)),
        bad => (bad, live.max(bad).saturating_add(1)),
    }
}

/// What is in the store as a release, or what is wrong with it.
fn ours(posted: &Posted) -> Result<Release, String> {
    if posted.number == UNREADABLE {
        return Err("the number of the fleet's release is not a whole one below 2^52".into());
    }
    serde_json::from_slice(posted.text.as_deref().unwrap_or_default())
        .map_err(|error| format!("release {} is not one of ours: {error}", posted.number))
}

impl Rulebook {
    /// Takes over what the fleet has, or gives it what it has lost. Whoever calls holds the right to change.
    pub(super) async fn catch_up(self: &Arc<Self>, fleet: &Fleet) -> Result<(), Refused> {
        let live = self.live();
        let joined = fleet.joined.load(Ordering::Relaxed);
        // Who joins takes what there is, whatever its own state says: that may be of another time, or fleet.
        let known = if joined { fleet.numbers(live.number).0 } else { 0 };
        let posted = fleet.board.read(RULES, known).await?;
        fleet.joined.store(true, Ordering::Relaxed);
        let was_bad = fleet.bad.load(Ordering::Relaxed);
        if was_bad != 0 && posted.number == was_bad {
            return Ok(());
        }
        if was_bad != 0 {
            fleet.bad.store(0, Ordering::Relaxed);
            self.mended("redis");
        }
        let lost = posted.number < live.number && (joined || posted.number == 0);
        if lost || live.number == 0 && posted.number == 0 {
            return self.give(fleet, &live, posted.number).await;
        }
        if posted.number == known || posted.number <= live.number && joined {
            return Ok(());
        }
        let number = posted.number;
        let bad = |faults: Faults| {
            fleet.bad.store(number, Ordering::Relaxed);
            self.note("redis", &faults);
        };
        let found = match aside(move || Ok(ours(&posted))).await? {
            Ok(found) => found,
            Err(text) => {
                bad(fault("redis", &text, "send the rules again, with `ratekeeper rules apply`"));
                return Ok(());
            }
        };
        let same = |own: &Release| {
            let texts =
                |of: &Release| of.sources().into_iter().map(|own| own.text).collect::<Vec<_>>();
            texts(own) == texts(&found) && own.overrides == found.overrides
        };
        if number == live.number && same(&live) {
            return Ok(());
        }
        let draft = Draft { source: Origin::Redis, ..Draft::of(&found) };
        match self.read(draft).await {
            Ok((draft, read)) => {
                self.mended("redis");
                // What does not fit here may fit elsewhere: the fleet has one list.
                let release = Release {
                    overrides: found.overrides,
                    at: found.at,
                    ..self.release(draft, &read, number)
                };
                self.settle(release, read).await;
            }
            Err(Refused::Faults(faults)) => bad(faults),
            Err(_) => {}
        }
        Ok(())
    }

    /// Gives the fleet the release that is live here; the first that it has is number 1.
    async fn give(
        self: &Arc<Self>,
        fleet: &Fleet,
        live: &Release,
        there: u64,
    ) -> Result<(), Refused> {
        let mut release = Release { number: live.number.max(1), ..live.clone() };
        shareable(&mut release).map_err(Refused::Faults)?;
        // If somebody else was first, the next look shows what it has.
        if fleet.post(&release, there).await?.is_err() || live.number > 0 {
            return Ok(());
        }
        let (_, mut read) = self.read(Draft::of(&release)).await?;
        // What others may see of it is not what the operator's file is.
        (read.digest, read.server) = (None, None);
        self.settle(release, read).await;
        Ok(())
    }

    /// Looks, once.
    pub(super) async fn look(self: &Arc<Self>, fleet: &Fleet) {
        let _one_at_a_time = self.changing.lock().await;
        let looked = self.catch_up(fleet).await;
        fleet.told(looked.as_ref().err(), self.live().number);
    }

    /// Follows the rules of the fleet, or its switches, for as long as the server runs.
    pub(super) async fn follow(self: Arc<Self>, name: &'static str) {
        let Some(fleet) = &self.fleet else { return };
        let mut news: Option<News> = None;
        loop {
            if news.is_none() {
                news = fleet.board.news().await.ok();
            }
            match name {
                RULES => self.look(fleet).await,
                _ => self.look_for_switches(fleet).await,
            }
            match &mut news {
                Some(heard) => {
                    if let Ok(false) = timeout(POLL, heard.next()).await {
                        news = None;
                        sleep(POLL).await;
                    }
                }
                None => sleep(POLL).await,
            }
        }
    }
}
