//! The operator's files: what is in them, taken up once they are whole.
//!
//! Invariant: a change is taken up only when two readings, some time apart, agree; whatever is missing or unreadable
//! changes nothing and is told once. What files hold that the live release names is taken up whoever made it.

use super::change::aside;
use super::draft::{self, Draft};
use super::release::Origin;
use super::{Refused, Rulebook, fault, tell};
use crate::config::{Config, Faults, Named, shown};
use ratekeeper::rule::file::Source;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How long files have to be as they are before they are believed: long enough for who pauses while writing, short
/// enough for a change to be taken up within a second.
const QUIET: Duration = Duration::from_millis(400);

/// Readings of files that keep changing, before they are left alone until the next event; and of those that somebody
/// holds open, before they are believed nevertheless.
const READINGS_MAX: usize = 25;

/// The source of what is wrong with files that are named.
const NAMED: &str = "named_file";

/// What was found.
#[derive(Clone, Debug)]
struct Found {
    sources: Vec<Source>,
    /// What it is, or what is wrong with it.
    what: Result<String, Faults>,
    /// Files that the live release names, and those of what was refused.
    named: Named,
    wanted: Named,
}

impl Found {
    fn is(&self, other: &Found) -> bool {
        self.what == other.what && self.named == other.named && self.wanted == other.wanted
    }
}

/// What was told of files that were refused, and is not told again.
#[derive(Debug, Default)]
pub(super) struct Told {
    file: Option<Result<String, Faults>>,
    named: Option<Named>,
}

impl Told {
    /// Told before: what the file was at the start, if that made no sense.
    pub(super) fn after_start(refused: Option<String>) -> Told {
        Told { file: refused.map(Ok), named: None }
    }
}

impl Rulebook {
    pub(super) async fn look_at_files(self: &Arc<Self>, told: &mut Told, asked: bool) {
        let Some(found) = self.at_rest().await else {
            return tell(
                "warning: the rule files keep changing; they are taken up once they are at rest",
            );
        };
        let again = {
            let book = self.book();
            !book.wanted.is_empty() && found.wanted != book.wanted
        };
        if let Some(fleet) = self.fleet.as_ref().filter(|_| again) {
            fleet.look_again();
            self.look(fleet).await;
        }
        self.look_at_rules(&found, &mut told.file, asked, again).await;
        self.look_at_named(found.named, &mut told.named).await;
    }

    /// The files, once they are at rest.
    async fn at_rest(self: &Arc<Self>) -> Option<Found> {
        let (mut seen, mut rests) = (self.found().await?, false);
        for _ in 0..READINGS_MAX {
            sleep(QUIET).await;
            let again = self.found().await?;
            rests = again.is(&seen);
            seen = again;
            if rests && !self.is_being_written().await {
                break;
            }
        }
        Some(seen).filter(|_| rests)
    }

    async fn found(self: &Arc<Self>) -> Option<Found> {
        let book = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || {
            let path = book.ground.path.as_deref()?;
            let (named, wanted) = {
                let book = book.book();
                (book.named.clone(), book.wanted.clone())
            };
            let (named, wanted) = (book.ground.named(&named), book.ground.named(&wanted));
            let (sources, what) = match Config::sources(path) {
                Ok((sources, _)) => {
                    let what = draft::of(&sources);
                    (sources, Ok(what))
                }
                Err(faults) => (Vec::new(), Err(faults)),
            };
            Some(Found { sources, what, named, wanted })
        });
        found.await.ok().flatten()
    }

    /// Takes the rules up, if they are not what they were. What was `told` of them is not told again, unless it may
    /// make sense now.
    async fn look_at_rules(
        self: &Arc<Self>,
        found: &Found,
        told: &mut Option<Result<String, Faults>>,
        asked: bool,
        again: bool,
    ) {
        let what = &found.what;
        if told.as_ref() == Some(what) && !asked && !again {
            return;
        }
        *told = Some(what.clone());
        let digest = match what {
            Ok(digest) => digest,
            Err(faults) => return self.note("file", faults),
        };
        let is_live = self.book().file.as_ref() == Some(digest);
        if is_live && (!asked || self.live().source == Origin::File) {
            return self.mended("file");
        }
        if found.sources.iter().all(|source| source.text.trim().is_empty()) {
            // Emptied to be written anew, as likely as not.
            let repair = "write `rules: []` if there are to be none";
            let name = self.ground.path.as_deref().map(shown).unwrap_or_default();
            return self.note("file", &fault(&name, "there is nothing in it", repair));
        }
        match self.fleet {
            Some(_) => self.look_at_seed(found, digest).await,
            None => self.take_up(found.sources.clone()).await,
        }
    }

    /// Says whether a file makes sense that only seeds the rules of a fleet.
    async fn look_at_seed(self: &Arc<Self>, found: &Found, digest: &str) {
        let (book, draft) = (Arc::clone(self), file_draft(found.sources.clone(), Vec::new()));
        let read = aside(move || {
            let read = book.ground.read(&draft);
            read.map(drop).map_err(|(faults, _)| Refused::Faults(faults))
        });
        match read.await {
            Ok(()) => {
                self.mended("file");
                self.book().file = Some(digest.to_owned());
                tell(
                    "the rule file has changed, and only seeds the rules of the fleet: nothing has changed",
                );
            }
            Err(Refused::Faults(faults)) => self.note("file", &faults),
            Err(_) => {}
        }
    }

    /// Reads the files again that the live release names, if they are not what they were.
    async fn look_at_named(self: &Arc<Self>, found: Named, told: &mut Option<Named>) {
        let is_live = {
            let book = self.book();
            // What has been taken up meanwhile may name others.
            book.named == found || !book.named.keys().eq(found.keys())
        };
        if is_live {
            *told = None;
            return self.mended(NAMED);
        }
        if told.as_ref() == Some(&found) {
            return;
        }
        *told = Some(found);
        match self.read_again().await {
            Ok(()) => self.mended(NAMED),
            Err(Refused::Faults(faults)) => self.note(NAMED, &faults),
            Err(_) => {}
        }
    }

    async fn take_up(self: &Arc<Self>, sources: Vec<Source>) {
        let draft =
            move |live: &super::Release| Ok(file_draft(sources.clone(), live.overrides.clone()));
        match self.change(|_| true, draft).await {
            Ok(accepted) => {
                self.mended("file");
                for rule in &accepted.left_out {
                    tell(&format!("warning: an override of {rule} no longer fits, and is gone"));
                }
                let fields = accepted.restart.join(", ");
                if !fields.is_empty() && self.book().restart != accepted.restart {
                    tell(&format!("warning: restart the server for what has changed of {fields}"));
                }
                self.book().restart = accepted.restart;
            }
            Err(Refused::Faults(faults)) => self.note("file", &faults),
            Err(_) => {}
        }
    }
}

/// What the operator's file is to become.
fn file_draft(sources: Vec<Source>, overrides: Vec<serde_json::Value>) -> Draft {
    Draft {
        source: Origin::File,
        by: None,
        change: "file".into(),
        sources,
        overrides,
        trusted: true,
        needs_last: false,
    }
}
