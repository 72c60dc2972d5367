//! What became of calls, and whether that is what may be.
//!
//! The instant of a decision lies somewhere between the call and its answer, so only what must lie
//! inside of an interval is counted in it. Invariant: what is found to be too much is too much,
//! whatever the delays were.

use ratekeeper::Source;
use ratekeeper_server::audit::envelope::{Extra, Line, Spend, worst};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// One call; times are since the start of the load.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which of the limiters was asked.
    pub node: usize,
    /// Under which rule.
    pub rule: String,
    /// For which key.
    pub key: String,
    /// For how much.
    pub cost: u64,
    /// When.
    pub asked: Duration,
    /// When it was answered.
    pub answered: Duration,
    /// Whether it was admitted.
    pub allowed: bool,
    /// Where that was decided.
    pub source: Source,
    /// The limit that the answer named.
    pub limit: u64,
    /// What the answer said is left.
    pub remaining: u64,
}

impl Call {
    /// How long the answer took.
    pub fn latency(&self) -> Duration {
        self.answered.saturating_sub(self.asked)
    }

    /// Whether it was decided as the store has it.
    pub fn is_stored(&self) -> bool {
        matches!(self.source, Source::Store | Source::Lease | Source::DeniedCache)
    }

    /// Whether it was asked in this time.
    pub fn is_in(&self, time: &Range<Duration>) -> bool {
        time.contains(&self.asked)
    }
}

/// All calls, in the order in which they were made.
#[derive(Clone, Debug)]
pub struct History {
    /// The calls.
    pub calls: Vec<Call>,
    /// How long calls were made.
    pub took: Duration,
    /// The longest time for which the machine did not let a task run that was due.
    pub stall: Duration,
}

/// What may be admitted: a burst and a rate, and more if a fault lies in the interval.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Units at once.
    pub burst: u64,
    /// Units in a second.
    pub rate: u64,
    /// Units that a fault may add, and when it was.
    pub fault: Option<(u64, Range<Duration>)>,
}

impl History {
    /// The part of it for which something holds.
    pub fn only(&self, holds: impl Fn(&Call) -> bool) -> History {
        let calls = self.calls.iter().filter(|call| holds(call)).cloned().collect();
        History { calls, ..*self }
    }

    /// How many calls there are for which something holds.
    pub fn count(&self, holds: impl Fn(&Call) -> bool) -> usize {
        self.calls.iter().filter(|call| holds(call)).count()
    }

    /// The keys.
    pub fn keys(&self) -> BTreeSet<String> {
        self.calls.iter().map(|call| call.key.clone()).collect()
    }

    /// The latency that all but one in so many calls keep to.
    pub fn latency_of_all_but_one_in(&self, many: usize) -> Duration {
        let mut latencies: Vec<Duration> = self.calls.iter().map(Call::latency).collect();
        latencies.sort_unstable();
        let place = latencies.len() - latencies.len() / many;
        latencies.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The longest latency.
    pub fn longest(&self) -> Duration {
        self.calls.iter().map(Call::latency).max().unwrap_or_default()
    }

    /// By how many units more was admitted, in the worst of all intervals, than may be; for one key.
    pub fn excess(&self, envelope: &Envelope) -> i128 {
        self.worst(envelope).0
    }

    /// The same, and which interval that is.
    pub fn worst(&self, envelope: &Envelope) -> (i128, Range<Duration>) {
        let ticks = |nanos: u128| i64::try_from(nanos / 1_000).unwrap_or(i64::MAX);
        let first = |time: Duration| ticks(time.as_nanos());
        let last = |time: Duration| ticks(time.as_nanos() + 999);
        let admitted = self.calls.iter().filter(|call| call.allowed);
        let spend = |call: &Call| {
            let (asked, answered) = (first(call.asked), last(call.answered));
            Spend { asked, answered, cost: call.cost }
        };
        let spends: Vec<Spend> = admitted.map(spend).collect();
        let Envelope { burst, rate, ref fault } = *envelope;
        let line = Line { units: burst, amount: rate, period: 1_000_000, reach: None };
        let extra = fault.as_ref().map(|(units, time)| {
            let (from, to) = (first(time.start), last(time.end));
            Extra { from, to, units: *units, amount: 0 }
        });
        let found = worst(&spends, &line, extra.as_slice(), &mut 0);
        let micros = |tick: i64| Duration::from_micros(tick.unsigned_abs());
        found.map_or((i128::MIN, Duration::ZERO..Duration::ZERO), |worst| {
            (worst.excess, micros(worst.from)..micros(worst.to))
        })
    }

    /// How long after this instant the first second began in which 99 of 100 decisions came from the
    /// store; `None` if there was none.
    pub fn recovered(&self, from: Duration) -> Option<Duration> {
        let step = Duration::from_millis(10);
        let second = Duration::from_secs(1);
        let mut start = from;
        while start + second <= self.took {
            let time = start..start + second;
            let all = self.count(|call| call.is_in(&time));
            let stored = self.count(|call| call.is_in(&time) && call.is_stored());
            if all > 0 && stored * 100 >= all * 99 {
                return Some(start - from);
            }
            start += step;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(asked: u64, answered: u64, cost: u64) -> Call {
        Call {
            node: 0,
            rule: "rule".into(),
            key: "key".into(),
            cost,
            asked: Duration::from_millis(asked),
            answered: Duration::from_millis(answered),
            allowed: true,
            source: Source::Store,
            limit: 0,
            remaining: 0,
        }
    }

    fn history(calls: Vec<Call>) -> History {
        History { calls, took: Duration::from_secs(9), stall: Duration::ZERO }
    }

    /// Goal: what is within a burst and a rate is, and one unit more is not, wherever it lies.
    /// Method: a burst of 5 at 10 a second, then one unit at its time, and one before.
    #[test]
    fn one_unit_too_many_is_found() {
        let envelope = Envelope { burst: 5, rate: 10, fault: None };
        let even = vec![call(0, 1, 1), call(1_000, 1_000, 5), call(1_100, 1_100, 1)];
        assert_eq!(history(even.clone()).excess(&envelope), 0);
        let early = [&even[..], &[call(1_199, 1_199, 1)]].concat();
        assert_eq!(history(early.clone()).excess(&envelope), 1);
        let fault = Some((1, Duration::from_millis(1_150)..Duration::from_millis(1_160)));
        assert_eq!(history(early).excess(&Envelope { fault, ..envelope.clone() }), 0);
        let slow = [&even[..], &[call(1_199, 1_200, 1)]].concat();
        assert_eq!(history(slow).excess(&envelope), 0, "it may have been decided later");
    }

    /// Goal: recovery is the start of the first good second, not the first good call.
    /// Method: a call every 10 ms; those of the first half second, and one after it, are not stored.
    #[test]
    fn recovery_is_the_first_good_second() {
        let mut calls: Vec<Call> = (0..400).map(|n| call(n * 10, n * 10, 1)).collect();
        for (number, call) in calls.iter_mut().enumerate() {
            if number < 50 || number == 51 || number == 52 {
                call.source = Source::FailedOpen;
            }
        }
        let history = History { took: Duration::from_secs(4), ..history(calls) };
        assert_eq!(history.recovered(Duration::ZERO), Some(Duration::from_millis(520)));
    }
}
