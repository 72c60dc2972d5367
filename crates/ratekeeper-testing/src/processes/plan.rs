//! What happens to the processes of a fleet, and when: all of it follows from the seed.
//!
//! Invariant: a place has one fault at a time, and every fault ends before the fleet does.

use crate::dice::Dice;
use std::time::Duration;

/// How long a process is left alone between two faults, and how long a fault takes, in milliseconds.
const CALM: (u64, u64) = (300, 1_500);
const FAULT: (u64, u64) = (100, 700);

/// The time at the end without faults, in milliseconds.
const LAST: u64 = 500;

/// What is done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `SIGKILL`; another one takes its place when the fault ends.
    Kill,
    /// `SIGSTOP`, and `SIGCONT` when the fault ends.
    Pause,
}

impl Fault {
    /// As histories call it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Pause => "pause",
        }
    }
}

/// The beginning or the end of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Duration,
    /// The place in the fleet.
    pub(super) place: usize,
    pub(super) fault: Fault,
    pub(super) begins: bool,
}

/// All events of so many places in so much time, in their order.
pub(super) fn events(seed: u64, places: usize, time: Duration) -> Vec<Event> {
    let end = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).saturating_sub(LAST);
    let mut events = Vec::new();
    for place in 0..places {
        let mut dice = Dice::new(seed.wrapping_add(1 + place as u64));
        let mut between = |(least, most): (u64, u64)| least + dice.below(most - least);
        let mut at = between(CALM);
        loop {
            let fault = if between((0, 2)) == 0 { Fault::Kill } else { Fault::Pause };
            let (start, over) = (at, at + between(FAULT));
            if over > end {
                break;
            }
            for (at, begins) in [(start, true), (over, false)] {
                events.push(Event { at: Duration::from_millis(at), place, fault, begins });
            }
            at = over + between(CALM);
        }
    }
    events.sort_by_key(|event| event.at);
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: what a test says of its faults can be said again, and each fault has an end.
    /// Method: the same seed twice, and another; the events of each place alternate.
    #[test]
    fn events_follow_from_the_seed_and_every_fault_ends() {
        let time = Duration::from_secs(8);
        let all = events(7, 4, time);
        assert_eq!(all, events(7, 4, time));
        assert_ne!(all, events(8, 4, time));
        for fault in [Fault::Kill, Fault::Pause] {
            assert!(all.iter().filter(|event| event.fault == fault).count() >= 4, "{all:?}");
        }
        for place in 0..4 {
            let own: Vec<&Event> = all.iter().filter(|event| event.place == place).collect();
            assert!(own.chunks(2).all(|pair| pair[0].begins && !pair[1].begins), "{own:?}");
            assert!(own.chunks(2).all(|pair| pair[0].fault == pair[1].fault), "{own:?}");
            assert!(own.iter().all(|event| event.at < time), "{own:?}");
        }
    }
}
