//! A change: from what somebody wants to the release that decides.
//!
//! Invariant: it is made as a whole or not at all, whoever goes away meanwhile; reading and compiling hold nobody up.

use super::draft::{Draft, Read};
use super::release::{Origin, Release};
use super::{Accepted, BODY, Refused, Rulebook, TRIES, fault, fleet, tell, text};
use ratekeeper::fleet::NUMBER_MAX;
use ratekeeper::rule::file::Source;
use std::sync::Arc;

impl Rulebook {
    /// Makes a change, if the caller has `seen` what is live, or did not look. `make` says what the rules are
    /// to be, given those that are live.
    pub(crate) async fn change(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool + Send + 'static,
        make: impl Fn(&Release) -> Result<Draft, Refused> + Send + 'static,
    ) -> Result<Accepted, Refused> {
        let book = Arc::clone(self);
        // A caller that goes away does not leave a change half made.
        let change = tokio::spawn(async move {
            let _one_at_a_time = book.changing.lock().await;
            book.make(seen, make).await
        });
        change.await.unwrap_or_else(|error| Err(Refused::Away(error.to_string())))
    }

    async fn make(
        self: &Arc<Self>,
        seen: impl Fn(u64) -> bool,
        make: impl Fn(&Release) -> Result<Draft, Refused>,
    ) -> Result<Accepted, Refused> {
        for _ in 0..TRIES {
            let live = self.live();
            if !seen(live.number) {
                return Err(Refused::Stale(live.number));
            }
            let (draft, read) = self.read(make(&live)?).await?;
            let restart =
                self.ground.needs_restart(&read.file.settings, draft.source == Origin::Api);
            let left_out = read.left_out.clone();
            let next = (live.number, live.number.saturating_add(1));
            let (there, number) =
                self.fleet.as_ref().map_or(next, |fleet| fleet.numbers(live.number));
            if number > NUMBER_MAX {
                let text = format!("there is no number beyond release {NUMBER_MAX}");
                let repair = "remove it from `state_dir` and from the store of the fleet";
                return Err(Refused::Faults(fault(BODY, &text, repair)));
            }
            let mut release = self.release(draft, &read, number);
            if let Some(fleet) = &self.fleet {
                fleet::shareable(&mut release).map_err(Refused::Faults)?;
                if fleet.post(&release, there).await?.is_err() {
                    // Somebody else was first.
                    self.catch_up(fleet).await?;
                    continue;
                }
                self.mended("redis");
            }
            // What was refused before is no longer waited for.
            self.book().wanted.clear();
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
            None => self.release(draft, &read, live.number.saturating_add(1)),
        };
        self.settle(release, read).await;
        Ok(())
    }

    /// Whether texts that were sent make sense: how many rules they have, and what only a start can do.
    pub(crate) async fn judge(
        self: &Arc<Self>,
        sources: Vec<Source>,
    ) -> Result<(usize, Vec<&'static str>), Refused> {
        let draft = Draft {
            source: Origin::Api,
            by: None,
            change: String::new(),
            sources,
            overrides: Vec::new(),
            trusted: false,
            needs_last: false,
        };
        let (_, read) = self.read(draft).await?;
        let restart = self.ground.needs_restart(&read.file.settings, true);
        Ok((read.file.rules.rules.len(), restart))
    }

    /// Reads a draft where it holds nobody up.
    pub(super) async fn read(self: &Arc<Self>, draft: Draft) -> Result<(Draft, Read), Refused> {
        let book = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let read = book.ground.read(&draft);
            let wanted = read.as_ref().err().map(|(_, named)| named.clone()).unwrap_or_default();
            if matches!(draft.source, Origin::File | Origin::Redis) {
                book.book().wanted = wanted;
            }
            Ok((draft, read.map_err(|(faults, _)| faults)?))
        });
        let read = read.await.unwrap_or_else(|error| {
            Err(fault(BODY, &format!("reading it failed: {error}"), "this is a fault of ours"))
        });
        read.map_err(Refused::Faults)
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
