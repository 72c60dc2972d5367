//! What a bucket holds, for people who look on.
//!
//! Invariant: looking changes nothing, and no more of a log is read than was asked for.

use super::super::{Charge, Contents, Kind};
use super::ask::{self, Seen};
use super::call::{Texts, Told, read};
use super::error::StoreError;
use super::script::Scripts;
use super::state::State;
use super::{Ask, Redis, Taken};

/// Bytes of the units before an entry, and of its own.
const TOTAL: usize = 3;

/// Bytes of an entry: its time, and the units up to and with it.
const ENTRY: usize = 10;

/// Units are counted modulo this.
const UNITS: u64 = 1 << 24;

impl Redis {
    /// What a bucket holds, and when; of a log of very many entries the newest `most`.
    pub(crate) async fn look(
        &self,
        ask: &Ask<'_>,
        most: usize,
        given: u64,
    ) -> Result<(u64, Contents), StoreError> {
        if let Some(period) = ask.charge.meter.log_period() {
            let (now, entries) = self.entries(ask, period, most, given).await?;
            return Ok((now, Contents::Log(entries)));
        }
        let taken = Taken { id: 0, record: None, given, hold_most: 0 };
        let mut call = self.call(true, ask.tag(), given, self.deadline());
        let argument = ask::charge(&ask.charge, true, 0, &taken, 0);
        call.add(ask::part_of(&ask.charge.meter.kind), self.name(ask), argument);
        let Told { now, rows } = self.topology.ask(call).await?;
        let [_, seen] = &rows[..] else { return Err(self.unreadable()) };
        let held = Some(seen).filter(|seen| **seen != Seen::Alien);
        let held = held.and_then(|seen| contents(&ask.charge, seen, now));
        held.map(|held| (now, held)).ok_or_else(|| self.alien())
    }

    /// The entries of a log that count, oldest first, and when they did.
    async fn entries(
        &self,
        ask: &Ask<'_>,
        period: u64,
        most: usize,
        given: u64,
    ) -> Result<(u64, Vec<(u64, u64)>), StoreError> {
        let script = Scripts::of(self.given_time).entries();
        let (most, given, key) = (most.to_string(), given.to_string(), self.name(ask));
        let mut args = vec![most.as_bytes()];
        args.extend(self.given_time.then_some(given.as_bytes()));
        let texts = Texts { script: &script, keys: vec![&key], args };
        let answer = self.topology.run(ask.tag(), &texts, self.deadline()).await?;
        let (now, seen) = read(answer).ok_or_else(|| self.unreadable())?;
        match seen.into_iter().next() {
            Some(Seen::Nothing) => Ok((now, Vec::new())),
            Some(Seen::Text(text)) => {
                let live = live(&text, now, period).ok_or_else(|| self.alien())?;
                Ok((now, live))
            }
            Some(Seen::Alien) => Err(self.alien()),
            Some(Seen::Flags(_)) | None => Err(self.unreadable()),
        }
    }
}

/// What a bucket holds, from what the script that looks reports; of a log that is only a summary. `None` if the
/// report cannot be read.
fn contents(charge: &Charge<'_>, seen: &Seen, now: u64) -> Option<Contents> {
    let state = seen.state(&charge.meter.kind)?;
    Some(match (&charge.meter.kind, state) {
        (_, State::Arrival(arrival)) => Contents::Arrival(arrival),
        (Kind::Fixed(window), State::Window(held)) => Contents::window(window, held, now),
        (Kind::Counter(counter), State::Windows(held)) => Contents::windows(counter, held, now),
        (_, State::Permits(held)) => Contents::Permits(held),
        _ => return None,
    })
}

/// The entries that count: a clock that went back stands at the newest. `None` if this is no log.
fn live(text: &[u8], now: u64, period: u64) -> Option<Vec<(u64, u64)>> {
    let (total, entries) = text.strip_prefix(b"1")?.split_at_checked(TOTAL)?;
    let mut before = number(total);
    let mut found = Vec::with_capacity(entries.len() / ENTRY);
    for entry in entries.chunks(ENTRY) {
        let (at, total) = entry.split_at_checked(ENTRY - TOTAL).filter(|_| entry.len() == ENTRY)?;
        let total = number(total);
        found.push((number(at), (UNITS + total - before) % UNITS));
        before = total;
    }
    let now = found.last().map_or(now, |(newest, _)| now.max(*newest));
    found.retain(|(at, _)| now.saturating_sub(*at) < period);
    Some(found)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::live;

    fn log(before: u64, entries: &[(u64, u64)]) -> Vec<u8> {
        let mut text = b"1".to_vec();
        text.extend(&before.to_be_bytes()[5..]);
        for (at, total) in entries {
            text.extend(&at.to_be_bytes()[1..]);
            text.extend(&total.to_be_bytes()[5..]);
        }
        text
    }

    /// Goal: entries are those that count, with their own units, also where the sum begins anew.
    /// Method: logs by hand, at times on both sides of an entry's end, and beyond the largest sum.
    #[test]
    fn entries_are_those_that_count() {
        let text = log(0xff_fffe, &[(100, 0xff_ffff), (150, 4), (160, 5)]);
        assert_eq!(live(&text, 160, 61), Some(vec![(100, 1), (150, 5), (160, 1)]));
        assert_eq!(live(&text, 160, 60), Some(vec![(150, 5), (160, 1)]));
        assert_eq!(live(&text, 90, 60), Some(vec![(150, 5), (160, 1)]), "a clock that went back");
        assert_eq!(live(&text, 220, 60), Some(Vec::new()));
    }

    /// Goal: what is no log is not taken for one.
    /// Method: another first byte, and an entry that is cut at every place.
    #[test]
    fn what_is_no_log_is_none() {
        let text = log(0, &[(1, 1)]);
        assert!(live(&text, 1, 9).is_some());
        for end in (0..text.len()).filter(|end| *end != 4) {
            assert_eq!(live(&text[..end], 1, 9), None, "{end} bytes");
        }
        assert_eq!(live(b"2\0\0\0", 1, 9), None);
    }
}
