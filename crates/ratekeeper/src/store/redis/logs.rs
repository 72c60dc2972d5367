//! What a sliding log holds, for people who ask.
//!
//! Invariant: looking changes nothing, and no more of a log is read than was asked for.

use super::ask::Seen;
use super::error::StoreError;
use super::{Ask, Redis, read};

/// Bytes of the units before an entry, and of its own.
const TOTAL: usize = 3;

/// Bytes of an entry: its time, and the units up to and with it.
const ENTRY: usize = 10;

/// Units are counted modulo this.
const UNITS: u64 = 1 << 24;

impl Redis {
    /// The entries of a log that count, oldest first; of very many the newest `most`.
    pub(crate) async fn entries(
        &self,
        ask: &Ask<'_>,
        most: usize,
        given: u64,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let script = self.scripts.entries();
        let mut args = vec![most.to_string().into_bytes()];
        if self.given_time {
            args.push(given.to_string().into_bytes());
        }
        let keys = [self.name(ask)];
        let answer = self.topology.run(ask.tag(), &script, (&keys, &args), self.deadline()).await?;
        let (now, seen) = read(answer).ok_or_else(|| self.unreadable())?;
        match seen.into_iter().next() {
            Some(Seen::Nothing) => Ok(Vec::new()),
            Some(Seen::Text(text)) => {
                let period = ask.charge.meter.log_period().unwrap_or(0);
                live(&text, now, period).ok_or_else(|| self.alien())
            }
            Some(Seen::Alien) => Err(self.alien()),
            None => Err(self.unreadable()),
        }
    }
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
