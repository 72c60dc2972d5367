//! Switches at work: those of the file above those of calls, turned on the limiter.
//!
//! Invariant: what is turned on the limiter is what the book says, rule by rule.

use super::change::{failed, unsure};
use super::fleet::{self, Fleet};
use super::switches::{self, ALL, Listed, SWITCHES_MAX, Switches, Turned};
use super::{Book, Refused, Rulebook, TRIES, fault, tell};
use ratekeeper::limiter::AskError;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

impl Rulebook {
    /// Turns a switch, or turns it back.
    pub(crate) async fn turn(
        self: &Arc<Self>,
        rule: String,
        turned: Option<Turned>,
    ) -> Result<(), Refused> {
        let book = Arc::clone(self);
        // A caller that goes away does not leave it half turned.
        let turning = tokio::spawn(async move {
            let _one_at_a_time = book.turning.lock().await;
            book.turn_one(&rule, turned.as_ref()).await
        });
        turning.await.unwrap_or_else(|error| Err(failed(&error)))
    }

    async fn turn_one(
        self: &Arc<Self>,
        rule: &str,
        turned: Option<&Turned>,
    ) -> Result<(), Refused> {
        if turned.is_some() && rule != ALL && !self.has(rule) {
            return Err(Refused::Unknown("there is no such rule; name one, or `*` for all".into()));
        }
        for _ in 0..TRIES {
            let (mut next, serial) = {
                let book = self.book();
                (book.switches.clone(), book.serial)
            };
            next.retain(|_, turned| !turned.is_over(self.now()));
            match turned {
                Some(turned) => drop(next.insert(rule.to_owned(), turned.clone())),
                None => drop(next.remove(rule)),
            }
            if next.len() > SWITCHES_MAX {
                let text = format!("there would be more than {SWITCHES_MAX} switches");
                return Err(Refused::Faults(fault(
                    super::BODY,
                    &text,
                    "use `*`, or turn some back",
                )));
            }
            let serial = match &self.fleet {
                None => serial,
                Some(fleet) => match fleet.post_switches(&next, serial).await.map_err(unsure)? {
                    Ok(number) => {
                        self.mended(fleet::SWITCHES);
                        number
                    }
                    Err(_) => {
                        self.catch_up_switches(fleet).await?;
                        continue;
                    }
                },
            };
            self.turned(next, serial).await;
            return Ok(());
        }
        Err(Refused::Away("others keep turning switches at the same time".into()))
    }

    /// Whether a rule is in the release that decides, closed ones included.
    fn has(&self, rule: &str) -> bool {
        !matches!(self.limiter.rule_for(rule, &[], None), Err(AskError::Unknown(_)))
    }

    /// Takes over what calls, here or elsewhere, have turned.
    pub(super) async fn turned(self: &Arc<Self>, next: Switches, serial: u64) {
        self.put(|book| {
            book.switches = next;
            book.serial = serial;
        });
        let book = Arc::clone(self);
        let _ = tokio::task::spawn_blocking(move || book.keep()).await;
    }

    /// Takes over what the switch file says, if that makes sense; what is new in it is there `since` then.
    pub(super) fn filed(&self, path: &Path, contents: Option<Vec<u8>>, since: u64) {
        let former = self.book().filed.clone();
        let read = contents.as_deref();
        let read = read.map(|bytes| switches::read_file(path, bytes, since, &former));
        self.book().switch_file = contents;
        match read.transpose() {
            Ok(found) => {
                self.mended("switch_file");
                self.put(|book| book.filed = found.unwrap_or_default());
            }
            Err(faults) => self.note("switch_file", &faults),
        }
    }

    /// Changes the book, and turns on the limiter what is not as it was.
    pub(super) fn put(&self, change: impl FnOnce(&mut Book)) {
        let mut book = self.book();
        let before = effective(&book);
        change(&mut book);
        let after = effective(&book);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names.into_iter().filter(|name| !same(before.get(*name), after.get(*name))) {
            let switch = after.get(name).and_then(Turned::switch);
            let told = switch.as_ref().map_or("turned back".to_owned(), |_| {
                after.get(name).map(|turned| turned.rollout.clone()).unwrap_or_default()
            });
            self.limiter.switch(name, switch);
            tell(&format!("switch {name}: {told}"));
        }
    }

    /// Lists what is turned, for as long as it is not over.
    pub(crate) fn list_switches<T>(&self, with: impl FnOnce(Vec<Listed<'_>>) -> T) -> T {
        let now = self.now();
        let book = self.book();
        let filed = book.filed.iter().map(|(rule, turned)| (rule, turned, "file"));
        let called = book.switches.iter().filter(|(rule, _)| !book.filed.contains_key(*rule));
        let all = filed.chain(called.map(|(rule, turned)| (rule, turned, "api")));
        let active = all.filter(|(_, turned, _)| !turned.is_over(now));
        with(active.map(|(rule, turned, from)| turned.listed(rule, from)).collect())
    }

    /// Looks, once, what others of the fleet have turned. Who looks for rules tells that the store cannot be asked.
    pub(super) async fn look_for_switches(self: &Arc<Self>, fleet: &Fleet) {
        let _one_at_a_time = self.turning.lock().await;
        let _ = self.catch_up_switches(fleet).await;
    }

    /// Takes over switches from the store that a fleet shares. Whoever calls holds the right to turn.
    pub(super) async fn catch_up_switches(self: &Arc<Self>, fleet: &Fleet) -> Result<(), Refused> {
        let (switches, serial) = {
            let book = self.book();
            (book.switches.clone(), book.serial)
        };
        let Some((number, found)) = fleet.switches(serial).await? else { return Ok(()) };
        if found.is_some() {
            self.mended(fleet::SWITCHES);
        }
        match found {
            Some(found) if number > serial => self.turned(found, number).await,
            // The store has lost what it had.
            _ if number < serial => drop(fleet.put_switches(&switches, number, serial).await?),
            None => {
                let text = "the switches of the fleet are not ones of ours";
                let repair = "turn one again, with `ratekeeper switch`, and they are replaced";
                self.note(fleet::SWITCHES, &fault("redis", text, repair));
            }
            Some(_) => {}
        }
        Ok(())
    }
}

/// Those of calls, with those of the file above them.
fn effective(book: &Book) -> Switches {
    let mut all = book.switches.clone();
    all.extend(book.filed.iter().map(|(rule, turned)| (rule.clone(), turned.clone())));
    all
}

/// Whether the limiter would see no difference.
fn same(one: Option<&Turned>, other: Option<&Turned>) -> bool {
    one.map(Turned::switch) == other.map(Turned::switch)
}
