//! Every decision and every turn of a shaping limit, against the oracle's queue.
//!
//! Invariant: library and oracle see the same calls at the same ticks; time goes forward. Units are
//! not given back while a turn that was told outside of a line is to come, and no key is reset while
//! any is: what becomes of it then is not the line's.

use super::crowd::{Crowd, Passed};
use super::shaped::{Shaped, shaped};
use crate::laws::{MINUTE, cases};
use crate::limiter::same;
use crate::one_key::micros;
use proptest::prelude::*;
use ratekeeper::{Decision, Limiter, ManualClock, Rule};
use ratekeeper_testing::oracle::{Entry, Queue, Retry};
use std::collections::BTreeMap;

/// Long enough for any line here to be done.
const FAR: u64 = 1_000 * MINUTE;

#[derive(Clone, Debug)]
enum Move {
    Stay,
    Ticks(u64),
    /// So many 65536th parts of a full queue; or there with a stop at each turn and the tick before.
    Share(u16),
    Walk(u16),
    /// To the turn of one of those who wait, and some ticks beside.
    Turn(u8, i64),
    /// To when the last refusal said, and some ticks beside.
    Retry(i64),
}

#[derive(Clone, Debug)]
enum Act {
    /// With no patience of its own, or for so many 65536th parts of a full queue.
    Wait(u64, Option<u16>),
    Check(u64),
    Leave(u8),
    GiveBack(u64),
    Reset,
}

type Step = (Move, Act);

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let moves = prop_oneof![
        6 => Just(Move::Stay),
        2 => (1..3_u64).prop_map(Move::Ticks),
        2 => any::<u16>().prop_map(Move::Share),
        2 => any::<u16>().prop_map(Move::Walk),
        3 => (any::<u8>(), -1..2_i64).prop_map(|(which, off)| Move::Turn(which, off)),
        3 => (-1..2_i64).prop_map(Move::Retry),
    ];
    let cost = || prop_oneof![6 => Just(1_u64), 3 => 2..5_u64, 1 => 0..14_u64];
    let patience = prop_oneof![3 => Just(None), 1 => any::<u16>().prop_map(Some)];
    let acts = prop_oneof![
        9 => (cost(), patience).prop_map(|(cost, patience)| Act::Wait(cost, patience)),
        2 => cost().prop_map(Act::Check),
        5 => any::<u8>().prop_map(Act::Leave),
        2 => cost().prop_map(Act::GiveBack),
        1 => Just(Act::Reset),
    ];
    proptest::collection::vec((moves, acts), 1..=most)
}

/// One key and its oracle.
struct Key {
    name: String,
    oracle: Queue,
    /// Numbers of those who wait, by the oracle's, with what it said to each.
    waiting: BTreeMap<u64, (usize, Entry)>,
    /// The latest turn that was told; and until when one is to come that is in no line.
    told: u64,
    loose: u64,
}

struct Run<'a> {
    shaped: Shaped,
    rule: &'a Rule,
    crowd: Crowd<'a>,
    keys: Vec<Key>,
    retry: u64,
}

impl<'a> Run<'a> {
    fn new(shaped: Shaped, rule: &'a Rule, clock: &'a ManualClock, keys: usize) -> Run<'a> {
        let oracle = shaped.oracle();
        let key = |number| {
            let (name, oracle) = (format!("key {number}"), oracle.clone());
            Key { name, oracle, waiting: BTreeMap::new(), told: 0, loose: 0 }
        };
        let keys = (0..keys).map(key).collect();
        Run { shaped, rule, crowd: Crowd::new(clock), keys, retry: 0 }
    }

    /// Moves the clock, and sees who passes on the way.
    fn go(&mut self, which: usize, step: &Move) -> Result<(), TestCaseError> {
        let now = self.crowd.now();
        let to = match step {
            Move::Stay => now,
            Move::Ticks(ticks) => now + ticks,
            Move::Share(share) | Move::Walk(share) => now + self.shaped.share(*share),
            Move::Turn(which_one, off) => {
                let turns = self.keys[which].oracle.clone().releases(now + FAR);
                let turn = turns.get(usize::from(*which_one) % turns.len().max(1));
                turn.map_or(now, |(_, tick)| tick.saturating_add_signed(*off)).max(now)
            }
            Move::Retry(off) => (now + self.retry).saturating_add_signed(*off).max(now),
        };
        if matches!(step, Move::Walk(_)) {
            let mut stops: Vec<u64> = Vec::new();
            for key in &self.keys {
                let turns = key.oracle.clone().releases(to);
                stops.extend(turns.iter().flat_map(|(_, tick)| [tick - 1, *tick]));
            }
            stops.retain(|stop| now < *stop && *stop < to);
            stops.sort_unstable();
            for stop in stops {
                self.crowd.go(stop);
                self.compare_passed()?;
            }
        }
        self.crowd.go(to);
        self.compare_passed()
    }

    /// Those who passed are those whom the oracle let go, in its order, each with what it was told.
    fn compare_passed(&mut self) -> Result<(), TestCaseError> {
        let (now, passed) = (self.crowd.now(), self.crowd.passed());
        let mut count = 0;
        for key in &mut self.keys {
            let own = |(id, _): (u64, u64)| key.waiting.remove(&id).expect("it waited");
            let expected: Vec<_> = key.oracle.releases(now).into_iter().map(own).collect();
            let those: Vec<&Passed> = passed
                .iter()
                .filter(|passed| expected.iter().any(|(who, _)| *who == passed.who))
                .collect();
            prop_assert_eq!(those.len(), expected.len(), "at {}: {:?}", now, &passed);
            for (passed, (who, entry)) in those.into_iter().zip(expected) {
                prop_assert_eq!(passed.who, who);
                same_turn(&passed.decision, entry)?;
            }
            count += key.waiting.len();
            key.loose = if key.waiting.is_empty() { key.loose.max(key.told) } else { key.loose };
        }
        prop_assert_eq!(self.crowd.len(), count, "somebody passed at {} out of turn", now);
        Ok(())
    }

    fn act(&mut self, which: usize, act: &Act) -> Result<(), TestCaseError> {
        let (now, rule, shaped) = (self.crowd.now(), self.rule, self.shaped);
        let key = &mut self.keys[which];
        match act {
            Act::Wait(cost, patience) => {
                let patience = patience.map(|share| shaped.share(share));
                let entry = key.oracle.ask(now, *cost, patience);
                let wait = rule.wait(&key.name).cost(*cost);
                let wait = patience.map_or(wait, |ticks| wait.max_wait(micros(ticks)));
                let who = self.crowd.enter(wait);
                match entry.id {
                    Some(id) => drop(key.waiting.insert(id, (who, entry))),
                    None => {
                        let answered = self.crowd.passed();
                        prop_assert_eq!(answered.len(), 1, "a refusal is told at once");
                        same_turn(&answered[0].decision, entry)?;
                    }
                }
                self.note_retry(entry);
            }
            Act::Check(cost) => {
                let entry = key.oracle.tell(now, *cost, None);
                same_turn(&rule.check(&key.name).cost(*cost).try_now().unwrap(), entry)?;
                key.told = if entry.id.is_some() { now + entry.delay } else { key.told };
                self.note_retry(entry);
            }
            Act::Leave(number) if !key.waiting.is_empty() => {
                let number = usize::from(*number) % key.waiting.len();
                let (id, who) =
                    key.waiting.iter().nth(number).map(|(id, (who, _))| (*id, *who)).unwrap();
                key.waiting.remove(&id);
                prop_assert!(key.oracle.leave(now, id));
                self.crowd.leave(who);
            }
            Act::GiveBack(units) if key.loose <= now => {
                let expected = key.oracle.give_back(now, *units);
                same(&rule.refund(&key.name, *units).try_now().unwrap(), expected)?;
            }
            Act::Reset if key.told <= now => {
                key.oracle.reset(now);
                let _ = rule.reset(&key.name).try_now().unwrap();
            }
            Act::Leave(_) | Act::GiveBack(_) | Act::Reset => {}
        }
        self.crowd.poll_woken();
        self.compare_passed()?;
        let key = &mut self.keys[which];
        same_turn(&rule.peek(&key.name).try_now().unwrap(), key.oracle.tell(now, 0, None))
    }

    fn note_retry(&mut self, entry: Entry) {
        self.retry = if let Retry::After(ticks) = entry.answer.retry_after { ticks } else { 0 };
    }
}

fn same_turn(decision: &Decision, entry: Entry) -> Result<(), TestCaseError> {
    let admitted = entry.answer.retry_after == Retry::Now;
    prop_assert_eq!(decision.delay(), admitted.then_some(micros(entry.delay)));
    same(decision, entry.answer)
}

fn run(shaped: Shaped, keys: usize, steps: &[(usize, Step)]) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let limiter = Limiter::memory().clock(&clock).rule("line", shaped.limit()).unwrap().build();
    let rule = limiter.rule("line").unwrap();
    let mut run = Run::new(shaped, &rule, &clock, keys);
    for (which, (time, act)) in steps {
        run.go(*which, time)?;
        run.act(*which, act)?;
    }
    // At last everyone passes who still waits.
    run.crowd.go(run.crowd.now() + FAR);
    run.compare_passed()?;
    prop_assert_eq!(run.crowd.len(), 0);
    for key in &run.keys {
        let left = rule.peek(&key.name).try_now().unwrap().remaining();
        prop_assert_eq!(left, shaped.burst, "nothing is left behind");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(6_000))]

    /// Goal: every decision of a shaping limit is the specification's, and everyone passes at the very
    /// tick of their turn, whoever else comes, leaves, is told or gives back.
    /// Method: random traces of one key against the oracle's queue, which works out every start anew.
    #[test]
    fn a_line_goes_by_the_schedule(shaped in shaped(), steps in steps(40)) {
        let steps: Vec<_> = steps.into_iter().map(|step| (0, step)).collect();
        run(shaped, 1, &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    /// Goal: lines of several keys do not disturb each other.
    /// Method: the same with seven keys of one limiter, interleaved, each with an oracle of its own.
    #[test]
    fn lines_of_several_keys_are_independent(
        shaped in shaped(), steps in steps(150), keys in proptest::collection::vec(0..7_usize, 150),
    ) {
        let steps: Vec<_> = keys.into_iter().zip(steps).collect();
        run(shaped, 7, &steps)?;
    }
}
