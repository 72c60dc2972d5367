//! The history of a load as the program's audit reads it.
//!
//! Invariant: every call is in it once, with its number in the order of the calls. Of the release that decided
//! and of waits nothing is known here, so neither is judged.

use super::{Call, History};
use ratekeeper::rule::file::RuleFile;
use ratekeeper_server::audit::{self, Episode, Outcome, Record, Report, Rulebook};
use std::ops::Range;
use std::time::Duration;

/// What was wrong on purpose, as the audit calls it, and when.
pub type Fault<'a> = (&'a str, Range<Duration>);

impl History {
    /// The same history, to be written to a file or judged.
    pub fn recorded(&self, faults: &[Fault<'_>]) -> audit::History {
        let mut history = audit::History::default();
        for (number, call) in self.calls.iter().enumerate() {
            let node = format!("node-{}", call.node);
            let (id, source) = (number as u64, call.source.name());
            let record = Record {
                id,
                node: &node,
                key: &call.key,
                rule: &call.rule,
                version: 1,
                cost: call.cost,
                invoke: nanos(call.asked),
                complete: nanos(call.answered),
                outcome: if call.allowed { Outcome::Allow } else { Outcome::Deny },
                source: audit::Source::read(source).expect("the audit knows every source"),
                retry: None,
                remaining: remaining(call),
            };
            history.push(&record).expect("a load is within the bounds of a history");
        }
        let episode = |(name, time): &Fault<'_>| Episode {
            name: (*name).to_owned(),
            start: nanos(time.start),
            end: nanos(time.end),
        };
        history.episodes = faults.iter().map(episode).collect();
        history.sent = Some(self.calls.len() as u64);
        history
    }

    /// Judges it by the rules of a file, for so many servers.
    pub fn audit(&self, rules: &str, nodes: u32, faults: &[Fault<'_>]) -> Report {
        let file = RuleFile::parse(rules).expect("the rule file makes sense");
        let book = Rulebook::new(&file, Some(nodes));
        audit::judge(&self.recorded(faults), &book).expect("the rules of all calls are in the file")
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Answers without a store, and without a limit, have no figures.
fn remaining(call: &Call) -> Option<u64> {
    let figures = !call.source.name().starts_with("failed") && call.remaining != u64::MAX;
    figures.then_some(call.remaining)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratekeeper::Source;

    fn history(units: usize, source: Source) -> History {
        let call = Call {
            node: 0,
            rule: "api".into(),
            key: "a key".into(),
            cost: 1,
            asked: Duration::from_millis(5),
            answered: Duration::from_millis(6),
            allowed: true,
            source,
            limit: 3,
            remaining: 0,
        };
        let (took, stall) = (Duration::from_secs(1), Duration::ZERO);
        History { calls: vec![call; units], took, stall }
    }

    /// Goal: a load is judged by its rule file, with its faults, and its text is read back.
    /// Method: three and four units of three, without a fault, with one, and by a store that failed open.
    #[test]
    fn a_load_is_judged_by_its_rule_file() {
        let rules = "rules: [{id: api, limit: 3/minute}]";
        let fault = [("state_lost", Duration::from_millis(5)..Duration::from_millis(7))];
        assert!(history(3, Source::Store).audit(rules, 1, &[]).is_kept());
        assert!(!history(4, Source::Store).audit(rules, 1, &[]).is_kept());
        assert!(history(4, Source::Store).audit(rules, 1, &fault).is_kept());
        assert!(history(4, Source::FailedOpen).audit(rules, 1, &[]).is_kept());
        let mut text = Vec::new();
        let recorded = history(4, Source::Store).recorded(&fault);
        recorded.write(&mut text).expect("memory takes it");
        let again = audit::History::read("load", &mut &text[..]).expect("it is a history");
        assert!(again.records().eq(recorded.records()));
        assert_eq!(again.episodes, recorded.episodes);
    }
}
