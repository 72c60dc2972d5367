//! A fleet of limiters over one store, simulated: the real library and the real scripts, on a network, a server and a
//! time that are made up, and chosen by a seed.
//!
//! Everything happens in one thread, in steps of a millisecond. Invariant: the same scenario gives the same history,
//! byte for byte.

mod history;
mod judge;
mod keys;
mod network;
mod node;
mod packing;
mod random;
mod rules;
mod scenario;
mod scripts;
mod server;
mod stream;
mod wire;

pub use history::{Answer, Asked, Episode, Fault, History, Notes};
pub use judge::judge;
pub use node::Ask;
pub use random::Random;
pub use rules::{Away, Counts, Figures, RulePlan};
pub use scenario::{MS, Planned, Scenario};
pub use server::Left;

use network::{Line, Network};
use node::{Node, NodePlan};
use server::Server;
use std::time::Duration;

/// A step of time, in nanoseconds: that of tokio's timers.
const STEP: u64 = MS;

/// Seconds since the epoch at the start of a simulation, a little off the edge of a window.
const EPOCH: Duration = Duration::from_millis(1_767_225_600_300);

/// What a line may lose of a thousand packets, and what it adds to their time, while it is bad.
const LOSS: u64 = 100;
const SLOWER: u64 = 12 * MS;

/// What is left of a simulation.
#[derive(Debug)]
pub struct Run {
    /// What happened.
    pub history: History,
    /// Keys that somebody wanted to keep for ever.
    pub immortal: Vec<String>,
    /// How many commands the server has run.
    pub commands: u64,
}

/// A fleet while it runs.
struct World<'a> {
    scenario: &'a Scenario,
    network: Network,
    server: Server,
    nodes: Vec<Node>,
    notes: Notes,
    /// The newest release that any node has taken.
    release: usize,
    /// Releases that nodes could not take when they were due.
    owed: Vec<usize>,
}

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario) -> Run {
    let mut world = World::new(scenario);
    let mut events = world.events();
    events.sort_by_key(|(at, ..)| *at);
    let mut events = events.into_iter().peekable();
    for node in &mut world.nodes {
        node.start(0, 0);
    }
    let mut now = 0;
    while now < scenario.end {
        now += STEP;
        world.server.run_until(now);
        world.network.move_to(now);
        while let Some((_, begins, number)) = events.next_if(|(at, ..)| *at <= now) {
            let Planned { fault, node, .. } = scenario.faults[number];
            match begins {
                true => world.begin(now, fault, node),
                false => world.end(now, fault, node),
            }
            world.note(now, begins, number);
        }
        world.network.deliver_down(now);
        world.nodes.iter_mut().for_each(|node| node.run_until(now));
    }
    let World { server, notes, nodes, .. } = world;
    drop(nodes);
    let mut history = notes.with(std::mem::take);
    history.episodes.sort_by_key(|episode| episode.start);
    Run { history, immortal: server.immortal(), commands: server.commands }
}

impl World<'_> {
    fn new(scenario: &Scenario) -> World<'_> {
        let mut random = Random::new(!scenario.seed);
        let line =
            Line { cut_up: false, cut_down: false, loss: 0, latency: scenario.latency.clone() };
        let network = Network::new(random.fork(), vec![line; scenario.nodes]);
        let server = Server::new(&network, EPOCH.as_micros() as u64);
        let notes = Notes::default();
        let rules: std::sync::Arc<[RulePlan]> = scenario.rules.clone().into();
        let each = scenario.asks.iter().enumerate().map(|(number, asks)| {
            let plan = NodePlan {
                number,
                rules: rules.clone(),
                asks: asks.clone().into(),
                nodes: scenario.told.then_some(scenario.nodes as u32),
                db: scenario.db,
                seed: random.number(),
                epoch: EPOCH,
            };
            Node::new(plan, &network, &notes)
        });
        let nodes = each.collect();
        let owed = vec![0; scenario.nodes];
        World { scenario, network, server, nodes, notes, release: 0, owed }
    }

    /// When each fault begins and ends.
    fn events(&self) -> Vec<(u64, bool, usize)> {
        let each = self.scenario.faults.iter().enumerate();
        each.flat_map(|(number, planned)| {
            [(planned.time.start, true, number), (planned.time.end, false, number)]
        })
        .collect()
    }

    fn begin(&mut self, now: u64, fault: Fault, node: Option<usize>) {
        match (fault, node) {
            (Fault::Cut { up, down }, Some(node)) => {
                self.network.change(node, |line| (line.cut_up, line.cut_down) = (up, down));
            }
            (Fault::Loss, Some(node)) => self.network.change(node, |line| line.loss = LOSS),
            (Fault::Slow, Some(node)) => {
                self.network.change(node, |line| line.latency.end += SLOWER);
            }
            (Fault::Reset, Some(node)) => {
                for id in self.network.connections(node) {
                    self.server.kill(now, id);
                }
            }
            (Fault::Pause, Some(node)) => self.nodes[node].pause(),
            (Fault::Crash, Some(node)) => self.nodes[node].crash(),
            (Fault::Hang, _) => self.server.hang(),
            (Fault::Down(left), _) => self.server.crash(now, left != Left::All),
            (Fault::FlushScripts, _) => self.server.flush_scripts(),
            (Fault::FlushKeys, _) => self.server.flush_keys(),
            (Fault::Release(release), Some(node)) => {
                self.owed[node] = release;
                self.release = self.release.max(release);
                self.give_release(now, node);
            }
            _ => {}
        }
    }

    fn end(&mut self, now: u64, fault: Fault, node: Option<usize>) {
        match (fault, node) {
            (Fault::Cut { .. }, Some(node)) => {
                self.network.change(node, |line| (line.cut_up, line.cut_down) = (false, false));
            }
            (Fault::Loss, Some(node)) => self.network.change(node, |line| line.loss = 0),
            (Fault::Slow, Some(node)) => {
                self.network.change(node, |line| line.latency.end -= SLOWER);
            }
            (Fault::Pause, Some(node)) => {
                self.nodes[node].go_on();
                self.nodes[node].run_until(now);
                self.give_release(now, node);
            }
            (Fault::Crash, Some(node)) => {
                self.nodes[node].start(now, self.release);
                self.owed[node] = self.release;
                self.noted(now, Fault::Release(self.release), node);
            }
            (Fault::Hang, _) => self.server.go_on(now),
            (Fault::Down(left), _) => self.server.start(now, left),
            _ => {}
        }
    }

    /// Gives a node the rules that it is owed, if it can take them.
    fn give_release(&mut self, now: u64, node: usize) {
        if self.nodes[node].is_running() && self.nodes[node].take_release(self.owed[node]) {
            self.noted(now, Fault::Release(self.owed[node]), node);
        }
    }

    fn noted(&self, now: u64, fault: Fault, node: usize) {
        let episode = Episode { fault, node: Some(node), start: now, end: now };
        self.notes.with(|history| history.episodes.push(episode));
    }

    /// Notes what was done when it is over. Releases are noted when they are taken.
    fn note(&self, now: u64, begins: bool, number: usize) {
        let Planned { fault, node, time } = self.scenario.faults[number].clone();
        if !begins && !matches!(fault, Fault::Release(_)) {
            let start = time.start.next_multiple_of(STEP);
            let episode = Episode { fault, node, start, end: now };
            self.notes.with(|history| history.episodes.push(episode));
        }
    }
}
