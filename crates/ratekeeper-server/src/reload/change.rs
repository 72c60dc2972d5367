//! A change: from what somebody wants to the release that decides.
//!
//! Invariant: it is made as a whole or not at all, whoever goes away meanwhile; reading and compiling hold nobody up.

use super::draft::{Draft, Read};
use super::release::{Origin, Release};
use super::{Accepted, BODY, Refused, Rulebook, TRIES, fault, fleet, tell, text};
use crate::config::Faults;
use ratekeeper::fleet::NUMBER_MAX;
use ratekeeper::rule::file::Source;
use std::sync::Arc;
use tokio::task::JoinError;

/// A release that may become the next one, with its rules, and what only a start can do.
type Made = (Release, Read, Vec<&'static str>);

/// Does what takes long where it holds nobody up.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let text = format!("reading it failed: {error}");
        Err(Refused::Faults(fault(BODY, &text, "this is a fault of ours")))
    })
}

/// What is known of a change that broke off.
pub(super) fn failed(error: &JoinError) -> Refused {
    Refused::Unsure(format!("the server failed at it: {error}"))
}

/// What is known of a change that the store did not confirm: it may have been made, and the answer lost.
pub(super) fn unsure(refused: Refused) -> Refused {
    match refused {
        Refused::Away(error) => {
            Refused::Unsure(format!("the store that the fleet shares did not confirm it: {error}"))
        }
        other => other,
    }
}

impl Rulebook {
    /// Makes a change, if the caller has `seen` what is live, or did not look. `make` says what the rules are
    /// to be, given those that are live.
    pub(crate) async fn change(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool + Send + 'static,
        make: impl Fn(&Release) -> Result<Draft, Refused> + Send + Sync + 'static,
    ) -> Result<Accepted, Refused> {
        let (book, make) = (Arc::clone(self), Arc::new(make));
        // A caller that goes away does not leave a change half made.
        let change = tokio::spawn(async move {
            let _one_at_a_time = book.changing.lock().await;
            book.make(seen, make).await
        });
        change.await.unwrap_or_else(|error| Err(failed(&error)))
    }

    async fn make(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool,
        make: Arc<impl Fn(&Release) -> Result<Draft, Refused> + Send + Sync + 'static>,
    ) -> Result<Accepted, Refused> {
        for _ in 0..TRIES {
            let live = self.live();
            if !seen(live.number) {
                return Err(Refused::Stale(live.number));
            }
            let next = (live.number, self.next_number());
            let (there, number) =
                self.fleet.as_ref().map_or(next, |fleet| fleet.numbers(live.number));
            let (book, make) = (Arc::clone(self), Arc::clone(&make));
            let (release, read, restart) = aside(move || book.made(make(&live)?, number)).await?;
            if let Some(fleet) = &self.fleet {
                let posted = fleet.post(&release, there).await;
                if !matches!(posted, Ok(Ok(()))) {
                    // Freeing many rules takes long, too.
                    drop(tokio::task::spawn_blocking(move || drop(read)));
                    let _somebody_else_was_first = posted.map_err(unsure)?;
                    self.catch_up(fleet).await?;
                    continue;
                }
                self.mended("redis");
            }
            // What was refused before is no longer waited for.
            self.book().wanted.clear();
            let left_out = read.left_out.clone();
            let release = self.settle(release, read).await;
            return Ok(Accepted { release, restart, left_out });
        }
        Err(Refused::Stale(self.live().number))
    }

    /// Reads the files again that the live release names, whoever made it. In a fleet it keeps its number, since what
    /// a file of this server holds is its own matter.
    pub(super) async fn read_again(self: &Arc<Self>) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock().await;
        let (live, wanted) = (self.live(), self.book().wanted.clone());
        let draft = Draft { by: None, change: "files that it names".into(), ..Draft::of(&live) };
        let read = self.read(draft).await;
        // It is the live release that was read, and not what was refused before.
        self.book().wanted = wanted;
        let (draft, mut read) = read?;
        // Its texts may lack what is secret: the operator's file is what it is.
        (read.digest, read.server) = (None, None);
        tell(&format!("files that release {} names have changed, and are read again", live.number));
        let release = match &self.fleet {
            Some(_) => (*live).clone(),
            None => self.release(draft, &read, self.next_number()),
        };
        self.settle(release, read).await;
        Ok(())
    }

    /// A number that no release has had, also none that was stored and then not completed.
    fn next_number(&self) -> u64 {
        let book = self.book();
        book.releases.iter().map(|release| release.number).max().unwrap_or(0).saturating_add(1)
    }

    /// A draft as the release of this number, and what only a start can do.
    fn made(&self, draft: Draft, number: u64) -> Result<Made, Refused> {
        let read = self.understood(&draft)?;
        let by_call = draft.source == Origin::Api;
        let restart = self.ground.needs_restart(&read.file.settings, by_call);
        if number > NUMBER_MAX {
            let text = format!("there is no number beyond release {NUMBER_MAX}");
            let repair = "remove it from `state_dir` and from the store of the fleet";
            return Err(Refused::Faults(fault(BODY, &text, repair)));
        }
        let mut release = self.release(draft, &read, number);
        if self.fleet.is_some() {
            fleet::shareable(&mut release).map_err(Refused::Faults)?;
        }
        Ok((release, read, restart))
    }

    /// Reads a draft. Files that it names are waited for if it makes no sense, and nobody is there to send it again.
    fn understood(&self, draft: &Draft) -> Result<Read, Refused> {
        let read = self.ground.read(draft);
        if matches!(draft.source, Origin::File | Origin::Redis) {
            let named = read.as_ref().err().map(|(_, named)| named.clone());
            self.book().wanted = named.unwrap_or_default();
        }
        read.map_err(|(faults, _)| Refused::Faults(faults))
    }

    /// Whether texts that were sent make sense: how many rules they have, and what only a start can do. It takes long.
    pub(crate) fn judge(&self, sources: Vec<Source>) -> Result<(usize, Vec<&'static str>), Faults> {
        let draft = Draft {
            source: Origin::Api,
            by: None,
            change: String::new(),
            sources,
            overrides: Vec::new(),
            trusted: false,
            needs_last: false,
        };
        let read = self.ground.read(&draft).map_err(|(faults, _)| faults)?;
        let restart = self.ground.needs_restart(&read.file.settings, true);
        Ok((read.file.rules.rules.len(), restart))
    }

    /// Reads a draft where it holds nobody up.
    pub(super) async fn read(self: &Arc<Self>, draft: Draft) -> Result<(Draft, Read), Refused> {
        let book = Arc::clone(self);
        let read = aside(move || {
            let read = book.understood(&draft)?;
            Ok((draft, read))
        });
        read.await
    }

    pub(super) fn release(&self, draft: Draft, read: &Read, number: u64) -> Release {
        Release {
            number,
            source: draft.source,
            at: self.now(),
            by: draft.by,
            change: draft.change,
            rules: read.file.rules.rules.len(),
            files: text::hidden(draft.sources, &read.file.settings),
            overrides: read.overrides.clone(),
            trusted: draft.trusted,
        }
    }

    /// Puts a release in the place of the one that is live, and keeps it.
    pub(super) async fn settle(self: &Arc<Self>, release: Release, read: Read) -> Arc<Release> {
        let (book, release) = (Arc::clone(self), Arc::new(release));
        let settled = Arc::clone(&release);
        let done = tokio::task::spawn_blocking(move || {
            book.limiter.replace_as(read.file.rules, settled.number);
            {
                let mut book = book.book();
                if read.digest.is_some() {
                    (book.file, book.server) = (read.digest, read.server);
                }
                book.named = read.named;
                book.releases.push(settled);
            }
            book.keep();
        });
        if let Err(error) = done.await {
            tell(&format!("warning: release {} was not completed: {error}", release.number));
        }
        let Release { number, source, rules, change, .. } = &*release;
        let source = source.name();
        tell(&format!("release {number}: {change}, {rules} rules, from {source}"));
        release
    }
}
