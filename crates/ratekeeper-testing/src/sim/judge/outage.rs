//! What may be decided without the store, and how fast.
//!
//! Invariant: without a fault that a node can see, now or a moment ago, the store decides.

use super::super::history::{Answer, Asked, Episode, Fault, History};
use super::super::scenario::MS;
use super::overlap;

/// How long after a fault the store is in use again.
const RECOVERY: u64 = 1_000 * MS;

/// The same after a pause of the node alone, which says nothing of the server.
const RECOVERY_OF_NODE: u64 = 20 * MS;

/// The same where greetings were lost: they are sent again after a second.
const RECOVERY_OF_LINE: u64 = 2_000 * MS;

/// How long an outage lasts until it is noticed, with so many requests.
const NOTICED: u64 = 300 * MS;
const ENOUGH: usize = 12;

/// How long an answer takes once it is.
const AT_ONCE: u64 = 2 * MS;

/// How long a fault may be felt after its end; `None` if it must not be felt at all.
fn felt(fault: Fault) -> Option<u64> {
    match fault {
        Fault::Cut { .. } | Fault::Loss | Fault::Slow => Some(RECOVERY_OF_LINE),
        Fault::Pause => Some(RECOVERY_OF_NODE),
        Fault::Reset | Fault::Crash | Fault::Hang | Fault::Down(_) => Some(RECOVERY),
        Fault::FlushScripts | Fault::FlushKeys | Fault::Release(_) => None,
    }
}

/// A decision without the store that no fault explains.
pub(super) fn without_reason(history: &History, asked: &Asked) -> Option<String> {
    let answer = asked.answer.filter(Answer::is_degraded)?;
    let explains = |own: &Episode| {
        felt(own.fault).is_some_and(|after| asked.at <= own.end + after && answer.at >= own.start)
    };
    let explained = history.seen_by(asked.node).any(explains);
    (!explained).then(|| "without the store, and without a reason".into())
}

/// Once an outage is noticed, nobody waits for the store any more.
pub(super) fn slow_while_open(history: &History) -> Vec<String> {
    let away =
        |own: &&Episode| matches!(own.fault, Fault::Hang | Fault::Down(_) | Fault::Cut { .. });
    let mut faults = Vec::new();
    for outage in history.episodes.iter().filter(away) {
        let nodes = history.asked.iter().map(|asked| asked.node).max().map_or(0, |most| most + 1);
        for node in (0..nodes).filter(|node| outage.node.is_none_or(|own| own == *node)) {
            let disturbed = |own: &Episode| {
                matches!(own.fault, Fault::Pause | Fault::Crash)
                    && own.end >= outage.start
                    && own.start <= outage.end
            };
            if history.of_node(node).any(disturbed) {
                continue;
            }
            let of_node = || history.asked.iter().filter(move |asked| asked.node == node);
            let noticed = outage.start + NOTICED;
            let before =
                of_node().filter(|own| (outage.start..noticed - 50 * MS).contains(&own.at));
            if before.count() < ENOUGH {
                continue;
            }
            for asked in of_node().filter(|own| (noticed..outage.end).contains(&own.at)) {
                let took = asked.answer.map_or(0, |answer| overlap(outage, asked.at, answer.at));
                if took > AT_ONCE {
                    faults.push(format!("{} ms while {:?}: {asked:?}", took / MS, outage.fault));
                }
            }
        }
    }
    faults
}
