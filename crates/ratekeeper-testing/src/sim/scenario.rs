//! What a simulation is to do, all of it chosen by its seed before it begins.
//!
//! Invariant: after the last fault there is time to recover, then to be whole again, and then everybody is asked once
//! more.

use super::history::Fault;
use super::node::Ask;
use super::random::Random;
use super::rules::{Counts, HOLD, PERIOD, RulePlan};
use super::server::Left;
use std::ops::Range;

/// Nanoseconds of a millisecond.
pub const MS: u64 = 1_000_000;

/// When faults begin and when all are over, when callers stop, and when they ask for the last time.
const FAULTS: Range<u64> = 300 * MS..3_500 * MS;
const FAULTS_END: u64 = 3_800 * MS;
const LOAD_END: u64 = 6_000 * MS;
const LAST: u64 = LOAD_END + 2 * PERIOD + 200 * MS;

/// Two keys of each rule: one that is asked for more than it has, one for less.
const KEYS: [u64; 2] = [2_500, 600];

/// A fault that is to be.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What.
    pub fault: Fault,
    /// To which node.
    pub node: Option<usize>,
    /// From when until when.
    pub time: Range<u64>,
}

/// A whole simulation, before it begins.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed of everything that is not in here.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether they are told so, or have to count themselves.
    pub told: bool,
    /// The rules.
    pub rules: Vec<RulePlan>,
    /// What is asked of each node.
    pub asks: Vec<Vec<Ask>>,
    /// What is done to them.
    pub faults: Vec<Planned>,
    /// Nanoseconds that a packet takes.
    pub latency: Range<u64>,
    /// The database that is selected.
    pub db: u32,
    /// When callers ask for the last time, when all have to be whole.
    pub last: u64,
    /// When it is over.
    pub end: u64,
}

impl Scenario {
    /// A fleet to which nothing happens.
    pub fn calm(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        Scenario::with(seed, &mut random, 1)
    }

    /// A fleet to which anything may happen.
    pub fn stormy(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let releases = if random.chance(400) { random.within(2..4) as usize } else { 1 };
        let mut scenario = Scenario::with(seed, &mut random, releases);
        for _ in 0..random.within(1..7) {
            let fault = any_fault(&mut random);
            scenario.add(fault, &mut random);
        }
        scenario.add_releases(releases, &mut random);
        scenario
    }

    /// A fleet that takes release after release while all lines are slow.
    pub fn slow_releases(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let mut scenario = Scenario::with(seed, &mut random, 3);
        for node in 0..scenario.nodes {
            let time = FAULTS.start..FAULTS_END;
            scenario.faults.push(Planned { fault: Fault::Slow, node: Some(node), time });
        }
        scenario.add_releases(3, &mut random);
        scenario
    }

    /// A fleet whose nodes stand still while the server forgets its scripts, so that many callers miss them at once.
    pub fn forgotten_scripts(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let mut scenario = Scenario::with(seed, &mut random, 1);
        for node in 0..scenario.nodes {
            let start = random.within(1_200 * MS..1_400 * MS);
            let time = start..1_600 * MS + random.within(0..300 * MS);
            scenario.faults.push(Planned { fault: Fault::Pause, node: Some(node), time });
        }
        let time = 1_500 * MS..1_500 * MS;
        scenario.faults.push(Planned { fault: Fault::FlushScripts, node: None, time });
        scenario
    }

    /// A fleet to which anything may happen, whose nodes take units from the store in shares.
    pub fn leased(seed: u64) -> Scenario {
        let mut scenario = Scenario::stormy(seed);
        scenario.told = true;
        for rule in scenario.rules.iter_mut().filter(|rule| rule.counts != Counts::Permits) {
            rule.lease_more();
        }
        let (rules, nodes, mut random) = (&scenario.rules, scenario.nodes, Random::new(!seed));
        let each = (0..nodes).map(|node| asks(rules, (node, nodes), &mut random.fork()));
        scenario.asks = each.collect();
        scenario
    }

    /// A fleet whose server is followed by another one, again and again, that lacks the last changes.
    pub fn failovers(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let mut scenario = Scenario::with(seed, &mut random, 1);
        for _ in 0..random.within(1..5) {
            let lag = random.within(0..1_000_000);
            scenario.add(Fault::Down(Left::Until(lag)), &mut random);
        }
        scenario
    }

    fn with(seed: u64, random: &mut Random, releases: usize) -> Scenario {
        let nodes = random.within(3..5) as usize;
        let count = random.within(2..5) as usize;
        let rules: Vec<RulePlan> =
            (0..count).map(|number| RulePlan::by_chance(number, releases, random)).collect();
        let asks = (0..nodes).map(|node| asks(&rules, (node, nodes), &mut random.fork())).collect();
        let slowest = random.one_of(&[300_000, 800_000, 1_500_000]);
        Scenario {
            seed,
            nodes,
            told: random.chance(700),
            rules,
            asks,
            faults: Vec::new(),
            latency: 50_000..slowest,
            db: random.within(0..2) as u32,
            last: LAST,
            end: LAST + 100 * MS,
        }
    }

    /// Adds a fault at some time; one of a server that is down does not overlap with another.
    fn add(&mut self, fault: Fault, random: &mut Random) {
        let longest = random.one_of(&[30 * MS, 300 * MS, 1_500 * MS]);
        let start = random.within(FAULTS);
        let lasts = !matches!(fault, Fault::Reset | Fault::FlushScripts | Fault::FlushKeys);
        let end = if lasts {
            (start + 5 * MS + random.within(0..longest)).min(FAULTS_END)
        } else {
            start
        };
        let of_node = matches!(
            fault,
            Fault::Cut { .. }
                | Fault::Loss
                | Fault::Slow
                | Fault::Reset
                | Fault::Pause
                | Fault::Crash
        );
        let node = of_node.then(|| random.within(0..self.nodes as u64) as usize);
        let planned = Planned { fault, node, time: start..end };
        let clashes = |other: &Planned| {
            let both = planned.time.start <= other.time.end && other.time.start <= planned.time.end;
            both && planned.node == other.node
        };
        if !self.faults.iter().any(clashes) {
            self.faults.push(planned);
        }
    }

    /// Every node takes each release, some a little later than others.
    fn add_releases(&mut self, releases: usize, random: &mut Random) {
        for release in 1..releases {
            let from = FAULTS.start + (release as u64 - 1) * 1_600 * MS;
            let start = random.within(from..from + 1_000 * MS);
            for node in 0..self.nodes {
                let at = start + random.within(0..300 * MS);
                let fault = Fault::Release(release);
                self.faults.push(Planned { fault, node: Some(node), time: at..at });
            }
        }
    }
}

fn any_fault(random: &mut Random) -> Fault {
    match random.within(0..13) {
        0 | 1 => random.one_of(&[
            Fault::Cut { up: true, down: true },
            Fault::Cut { up: true, down: false },
            Fault::Cut { up: false, down: true },
        ]),
        2 => Fault::Loss,
        3 => Fault::Slow,
        4 => Fault::Reset,
        5 | 6 => Fault::Pause,
        7 => Fault::Crash,
        8 => Fault::Hang,
        9 => Fault::Down(random.one_of(&[Left::All, Left::Nothing])),
        10 => Fault::Down(Left::Until(random.within(0..1_000_000))),
        11 => Fault::FlushScripts,
        _ => Fault::FlushKeys,
    }
}

/// What is asked of one of the nodes: of each key a share of what callers want, and all of them once at the end.
fn asks(rules: &[RulePlan], (node, nodes): (usize, usize), random: &mut Random) -> Vec<Ask> {
    let mut asks = Vec::new();
    for (rule, plan) in rules.iter().enumerate() {
        for (key, wanted) in KEYS.into_iter().enumerate() {
            // So many thousandths of what it has, from all nodes together.
            // Permits are held for a part of a second.
            let often = if plan.counts == Counts::Permits { 3 } else { 1 };
            let each = PERIOD * nodes as u64 * 1_000 / (plan.releases[0].amount * wanted * often);
            let mut at = random.within(0..each);
            while at < LOAD_END {
                let cost = if random.chance(100) { random.within(2..5) } else { 1 };
                let other = (rule + 1) % rules.len();
                let with = random.chance(100).then_some(other);
                let holds = random.within(20 * MS..HOLD * 6 / 5);
                asks.push(Ask { at, rule, key, cost, with, holds });
                at += random.within(each / 4..each * 7 / 4);
            }
            let turn = (node * rules.len() * KEYS.len() + rule * KEYS.len() + key) as u64;
            asks.push(Ask { at: LAST + turn * MS, rule, key, cost: 1, with: None, holds: 0 });
        }
    }
    asks.sort_by_key(|ask| (ask.at, ask.rule, ask.key));
    asks
}
