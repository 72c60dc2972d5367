//! The simulated network: connections of nodes to one address, with delays, loss and cuts as TCP shows them.
//!
//! Bytes of one connection arrive in order. What is lost, or sent into a cut, is sent again after a while, so it
//! comes late, and all behind it. Invariant: what arrives, and when, depends on the seed and on who sends what.

use super::random::Random;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// After so many nanoseconds something lost is sent again, then after twice as long, and so on.
const SENT_AGAIN: u64 = 200_000_000;

/// After so many nanoseconds a greeting that was lost is sent again.
const GREETED_AGAIN: u64 = 1_000_000_000;

/// One thing on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    /// Somebody wants a connection.
    Greeting,
    /// There is one.
    Opened,
    /// Nobody listens there.
    Refused,
    /// Some bytes of it.
    Bytes(Vec<u8>),
    /// No more bytes come.
    End,
    /// The other side knows nothing of this connection.
    Reset,
}

/// The line between one node and the server.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Nothing passes to the server.
    pub cut_up: bool,
    /// Nothing passes from the server.
    pub cut_down: bool,
    /// How much of a thousand packets is lost.
    pub loss: u64,
    /// Nanoseconds that a packet takes.
    pub latency: Range<u64>,
}

#[derive(Debug, Default)]
struct Pipe {
    packets: VecDeque<(u64, Packet)>,
    /// How often the first one was sent again.
    tries: u32,
}

#[derive(Debug, Default)]
pub(super) struct Connection {
    node: usize,
    up: Pipe,
    down: Pipe,
    /// What has arrived at the node, and was not read.
    pub(super) arrived: VecDeque<u8>,
    /// Whether it came about, or why it did not, or how it ended.
    pub(super) state: Option<Packet>,
    pub(super) reader: Option<Waker>,
    closed: bool,
}

#[derive(Debug)]
pub(super) struct State {
    now: u64,
    random: Random,
    lines: Vec<Line>,
    pub(super) connections: BTreeMap<u64, Connection>,
    next: u64,
    /// How often anything was read, written or noted.
    pub(super) active: u64,
}

/// The network. A handle: clones share it.
#[derive(Clone, Debug)]
pub(super) struct Network(Arc<Mutex<State>>);

impl Network {
    /// A network with a line for each node.
    pub(super) fn new(random: Random, lines: Vec<Line>) -> Network {
        let connections = BTreeMap::new();
        let state = State { now: 0, random, lines, connections, next: 0, active: 0 };
        Network(Arc::new(Mutex::new(state)))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since the start.
    pub(super) fn now(&self) -> u64 {
        self.state().now
    }

    /// Moves the time on.
    pub(super) fn move_to(&self, now: u64) {
        self.state().now = now;
    }

    /// How often anything was read, written or noted: if it stays, nothing happens at this moment.
    pub(super) fn activity(&self) -> u64 {
        self.state().active
    }

    /// Notes that something happened.
    pub(super) fn stir(&self) {
        self.state().active += 1;
    }

    /// Changes the line of a node.
    pub(super) fn change(&self, node: usize, change: impl FnOnce(&mut Line)) {
        change(&mut self.state().lines[node]);
    }

    /// The connections that a node has, those on their way included.
    pub(super) fn connections(&self, node: usize) -> Vec<u64> {
        let state = self.state();
        state.connections.iter().filter(|(_, own)| own.node == node).map(|(id, _)| *id).collect()
    }

    /// A greeting from a node; the connection's number.
    pub(super) fn greet(&self, node: usize) -> u64 {
        let mut state = self.state();
        let (id, now) = (state.next, state.now);
        state.next += 1;
        state.connections.insert(id, Connection { node, ..Connection::default() });
        state.send(id, true, now, Packet::Greeting);
        id
    }

    /// Sends something to the server.
    pub(super) fn send_up(&self, id: u64, packet: Packet) {
        let mut state = self.state();
        let now = state.now;
        state.active += 1;
        state.send(id, true, now, packet);
    }

    /// Sends something to a node, at this time.
    pub(super) fn send_down(&self, id: u64, at: u64, packet: Packet) {
        self.state().send(id, false, at, packet);
    }

    /// The node has let go of a connection. What it has sent is still on its way.
    pub(super) fn close(&self, id: u64) {
        let mut state = self.state();
        let now = state.now;
        if let Some(connection) = state.connections.get_mut(&id) {
            (connection.closed, connection.reader) = (true, None);
            state.send(id, true, now, Packet::End);
        }
    }

    /// The next thing that arrives at the server until then: when, on which connection, and what.
    pub(super) fn next_up(&self, until: u64) -> Option<(u64, u64, Packet)> {
        self.state().next(true, until)
    }

    /// Lets nodes have what arrives until then.
    pub(super) fn deliver_down(&self, until: u64) {
        let mut woken = Vec::new();
        let mut state = self.state();
        while let Some((_, id, packet)) = state.next(false, until) {
            let Some(connection) = state.connections.get_mut(&id) else { continue };
            match packet {
                Packet::Bytes(bytes) => connection.arrived.extend(bytes),
                other => connection.state = Some(other),
            }
            woken.extend(connection.reader.take());
            state.active += 1;
        }
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn send(&mut self, id: u64, up: bool, at: u64, packet: Packet) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let latency = self.lines[connection.node].latency.clone();
        let due = at + self.random.within(latency);
        let pipe = if up { &mut connection.up } else { &mut connection.down };
        let behind = pipe.packets.back().map_or(0, |(due, _)| *due);
        pipe.packets.push_back((due.max(behind), packet));
    }

    /// The next packet in one direction that is due, and gets through.
    fn next(&mut self, up: bool, until: u64) -> Option<(u64, u64, Packet)> {
        loop {
            let first = self.connections.iter().filter_map(|(id, connection)| {
                let pipe = if up { &connection.up } else { &connection.down };
                pipe.packets.front().map(|(due, _)| (*due, *id))
            });
            let (due, id) = first.min().filter(|(due, _)| *due <= until)?;
            if let Some(packet) = self.arrive(id, up) {
                return Some((due, id, packet));
            }
        }
    }

    /// The first packet of a pipe, if it gets through.
    fn arrive(&mut self, id: u64, up: bool) -> Option<Packet> {
        let connection = self.connections.get_mut(&id)?;
        let line = &self.lines[connection.node];
        let cut = if up { line.cut_up } else { line.cut_down };
        let lost = cut || line.loss > 0 && self.random.chance(line.loss);
        let pipe = if up { &mut connection.up } else { &mut connection.down };
        let (due, packet) = pipe.packets.front_mut()?;
        if lost {
            let first = if *packet == Packet::Greeting { GREETED_AGAIN } else { SENT_AGAIN };
            *due += first << pipe.tries.min(6);
            pipe.tries += 1;
            let floor = *due;
            pipe.packets.iter_mut().for_each(|(due, _)| *due = (*due).max(floor));
            return None;
        }
        pipe.tries = 0;
        let (_, packet) = pipe.packets.pop_front()?;
        if connection.closed && connection.up.packets.is_empty() {
            self.connections.remove(&id);
        }
        Some(packet)
    }
}
