//! Nothing leaks: after a million random operations everything is back.
//!
//! Invariant: beside every key runs an oracle or a plain count, and what is left is compared after
//! each operation, so a leak is found where it happens.

use crate::one_key::{micros, secs};
use crate::waiting::crowd::Crowd;
use ratekeeper::{Hold, Limit, Limiter, ManualClock, Permit, PermitId, Rule};
use ratekeeper_testing::oracle::{self, Permits, Queue};
use std::collections::BTreeMap;

const OPERATIONS: u64 = 1_000_000;
const KEYS: [&str; 3] = ["alice", "bob", "carol"];

/// Of the rules below.
const SLOTS: u64 = 6;
const HOLD: u64 = 30_000;
const BURST: u64 = 40;
const LINE: u64 = 8;
const BESIDE: u64 = 5;

/// Numbers that look random, and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % sides
    }

    /// Takes one of several out.
    fn take<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        if from.is_empty() {
            None
        } else {
            Some(from.swap_remove(self.roll(from.len() as u64) as usize))
        }
    }
}

/// Permits of one key, of both kinds, with the oracle's numbers.
struct Slots {
    oracle: Permits,
    held: Vec<(Permit<'static>, u64)>,
    named: Vec<(PermitId, u64)>,
}

/// Reservations of one key.
struct Rate {
    oracle: oracle::Bucket,
    holds: Vec<(Hold, oracle::Hold)>,
}

/// A line with permits beside it: who waits, by the oracle's number, and who has passed.
struct Line {
    oracle: Queue,
    waiting: BTreeMap<u64, usize>,
    named: Vec<PermitId>,
}

impl Line {
    fn left(&mut self, now: u64) -> u64 {
        let free = BESIDE - (self.waiting.len() + self.named.len()) as u64;
        self.oracle.peek(now).remaining.min(free)
    }
}

struct World<'a> {
    limiter: &'a Limiter,
    rules: &'a [Rule; 3],
    crowd: Crowd<'a>,
    slots: Vec<Slots>,
    rates: Vec<Rate>,
    lines: Vec<Line>,
}

impl World<'_> {
    fn slots(&mut self, dice: &mut Dice, key: usize) {
        let (now, rule, slots) = (self.crowd.now(), &self.rules[0], &mut self.slots[key]);
        let cost = dice.roll(3);
        match dice.roll(5) {
            0 => {
                let permit = rule.acquire(KEYS[key]).cost(cost).try_now().unwrap();
                let id = slots.oracle.acquire(now, cost, None);
                assert_eq!(permit.is_allowed(), id.is_some());
                slots.held.push((permit.into_owned(), id.unwrap_or(u64::MAX)));
            }
            1 => {
                let decision = rule.check(KEYS[key]).cost(cost).try_now().unwrap();
                let id = slots.oracle.acquire(now, cost, Some(HOLD));
                assert_eq!(decision.is_allowed(), id.is_some());
                slots.named.extend(decision.permit().zip(id));
            }
            2 => {
                if let Some((name, id)) = dice.take(&mut slots.named) {
                    assert_eq!(
                        self.limiter.release(name).try_now().unwrap(),
                        slots.oracle.release(now, id)
                    );
                }
            }
            _ => {
                if let Some((permit, id)) = dice.take(&mut slots.held) {
                    drop(permit);
                    slots.oracle.release(now, id);
                }
            }
        }
        let left = rule.peek(KEYS[key]).try_now().unwrap().remaining();
        assert_eq!(left, slots.oracle.remaining(now));
    }

    fn rates(&mut self, dice: &mut Dice, key: usize) {
        let (now, rule, rate) = (self.crowd.now(), &self.rules[1], &mut self.rates[key]);
        let units = dice.roll(5);
        match dice.roll(4) {
            0 => {
                let hold = rule.reserve(KEYS[key], units).try_now().unwrap();
                let held = oracle::reserve(&mut rate.oracle, now, units);
                assert_eq!(hold.is_allowed(), held.is_some());
                rate.holds.extend(held.map(|held| (hold, held)));
            }
            1 => drop(dice.take(&mut rate.holds)),
            _ => {
                if let Some((hold, held)) = dice.take(&mut rate.holds) {
                    hold.settle(units).try_now().unwrap();
                    oracle::settle(&mut rate.oracle, now, held, units);
                }
            }
        }
        let left = rule.peek(KEYS[key]).try_now().unwrap().remaining();
        assert_eq!(left, oracle::ask(&mut rate.oracle, now, 0).remaining);
    }

    fn lines(&mut self, dice: &mut Dice, key: usize) {
        let (now, rule) = (self.crowd.now(), &self.rules[2]);
        let line = &mut self.lines[key];
        match dice.roll(4) {
            0 | 1 => {
                let free = line.waiting.len() + line.named.len() < BESIDE as usize;
                let who = self.crowd.enter(rule.wait(KEYS[key]));
                let id = if free { line.oracle.ask(now, 1, None).id } else { None };
                match id {
                    Some(id) => drop(line.waiting.insert(id, who)),
                    None => assert!(self.crowd.passed()[0].decision.is_refused()),
                }
            }
            2 => {
                let which = dice.roll(8) as usize;
                if let Some((&id, &who)) = line.waiting.iter().nth(which) {
                    self.crowd.leave(who);
                    assert!(line.oracle.leave(now, id));
                    line.waiting.remove(&id);
                }
            }
            _ => {
                if let Some(name) = dice.take(&mut line.named) {
                    assert!(self.limiter.release(name).try_now().unwrap());
                }
            }
        }
        self.note_passed();
        let left = rule.peek(KEYS[key]).try_now().unwrap().remaining();
        assert_eq!(left, self.lines[key].left(now));
    }

    /// Those who passed hold a permit by name from now on.
    fn note_passed(&mut self) {
        let now = self.crowd.now();
        let mut passed = self.crowd.passed();
        for line in &mut self.lines {
            for (id, _) in line.oracle.releases(now) {
                let who = line.waiting.remove(&id).expect("it waited");
                let at = passed.iter().position(|passed| passed.who == who).expect("it passed");
                line.named.push(passed.remove(at).decision.permit().expect("it holds a permit"));
            }
        }
        assert_eq!(passed, [], "nobody else");
    }

    /// Everyone ends; all of them at a time at which all turns and holds are over.
    fn end(&mut self) {
        self.slots.iter_mut().for_each(|slots| slots.held.clear());
        self.rates.iter_mut().for_each(|rate| rate.holds.clear());
        self.crowd.go(self.crowd.now() + 3_600_000_000);
        self.note_passed();
        for line in &mut self.lines {
            line.named
                .drain(..)
                .for_each(|name| assert!(self.limiter.release(name).try_now().unwrap()));
        }
    }
}

/// Goal: no permit, reservation, turn or waker is ever lost, or given back twice.
/// Method: a million random operations on three rules and keys, each compared with its oracle; then
/// everyone ends, and everything is there.
#[test]
fn a_million_operations_leave_nothing_behind() {
    let clock = ManualClock::new();
    let line = Limit::per_second(700).burst(LINE).shaping();
    let builder = Limiter::memory().keys(1_000).clock(&clock);
    let builder = builder.rule("slots", Limit::concurrent(SLOTS).hold(micros(HOLD))).unwrap();
    let builder = builder.rule("rate", Limit::per_second(900).burst(BURST)).unwrap();
    let beside = Limit::concurrent(BESIDE).hold(secs(365 * 24 * 3600));
    let limiter = builder.rule("line", [line, beside]).unwrap().build();
    let rules = ["slots", "rate", "line"].map(|name| limiter.rule(name).unwrap());
    let (slots, rates, lines) = (
        |_| Slots { oracle: Permits::new(SLOTS), held: Vec::new(), named: Vec::new() },
        |_| Rate { oracle: oracle::Bucket::new(900, 1_000_000, BURST), holds: Vec::new() },
        |_| Line {
            oracle: Queue::new(700, 1_000_000, LINE, None),
            waiting: BTreeMap::new(),
            named: Vec::new(),
        },
    );
    let mut world = World {
        limiter: &limiter,
        rules: &rules,
        crowd: Crowd::new(&clock),
        slots: (0..3).map(slots).collect(),
        rates: (0..3).map(rates).collect(),
        lines: (0..3).map(lines).collect(),
    };
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..OPERATIONS {
        let key = dice.roll(3) as usize;
        match dice.roll(8) {
            0..=2 => world.slots(&mut dice, key),
            3 | 4 => world.rates(&mut dice, key),
            5 | 6 => world.lines(&mut dice, key),
            _ => {
                world.crowd.go(world.crowd.now() + dice.roll(4_000));
                world.note_passed();
            }
        }
    }
    world.end();
    assert_eq!(world.crowd.len(), 0);
    for key in KEYS {
        let left = rules.each_ref().map(|rule| rule.peek(key).try_now().unwrap().remaining());
        assert_eq!(left, [SLOTS, BURST, BESIDE], "{key}");
    }
    let stats = limiter.stats();
    assert!(stats.keys <= 12 && stats.evicted == 0 && stats.overflowed == 0, "{stats:?}");
}
