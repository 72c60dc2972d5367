//! The simulated server: Redis as our client knows it, that can hang, crash, lose its tail or all of its state.
//!
//! Invariant: commands run one at a time, in the order of their arrival, at the server's own time.

use super::keys::Keys;
use super::network::{Network, Packet};
use super::scripts::{Scripts, Texts};
use super::wire::{Reply, next_command};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Nanoseconds that a command takes.
const COMMAND: u64 = 20_000;

/// What the server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Up,
    /// The process stands still; the system below it still takes connections and bytes.
    Hung,
    Down,
}

/// What is left of the state after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All of it.
    All,
    /// None of it.
    Nothing,
    /// What was there so many microseconds before, as on a replica that lagged behind.
    Until(u64),
}

/// A server at the end of a network.
#[derive(Debug)]
pub(super) struct Server {
    network: Network,
    keys: Rc<RefCell<Keys>>,
    scripts: Scripts,
    /// Connections, and what of them is not a whole command yet.
    connections: BTreeMap<u64, Vec<u8>>,
    /// What came while it hung.
    backlog: VecDeque<(u64, Vec<u8>)>,
    mode: Mode,
    /// Microseconds since the epoch at the start.
    epoch: u64,
    busy_until: u64,
    /// How many commands it has run.
    pub commands: u64,
}

impl Server {
    /// A server whose clock stands at these microseconds since the epoch.
    pub(super) fn new(network: &Network, epoch: u64) -> Server {
        let keys: Rc<RefCell<Keys>> = Rc::default();
        let scripts = Scripts::new(&keys).expect("an interpreter starts");
        Server {
            network: network.clone(),
            keys,
            scripts,
            connections: BTreeMap::new(),
            backlog: VecDeque::new(),
            mode: Mode::Up,
            epoch,
            busy_until: 0,
            commands: 0,
        }
    }

    /// Keys that somebody wanted to keep for ever.
    pub(super) fn immortal(&self) -> Vec<String> {
        self.keys.borrow().immortal.clone()
    }

    /// Takes everything that arrives until then.
    pub(super) fn run_until(&mut self, until: u64) {
        while let Some((at, id, packet)) = self.network.next_up(until) {
            self.take(at, id, packet);
        }
    }

    /// Stands still.
    pub(super) fn hang(&mut self) {
        if self.mode == Mode::Up {
            self.mode = Mode::Hung;
        }
    }

    /// Goes on, with all that came meanwhile.
    pub(super) fn go_on(&mut self, now: u64) {
        if self.mode != Mode::Hung {
            return;
        }
        self.mode = Mode::Up;
        for (id, bytes) in std::mem::take(&mut self.backlog) {
            self.read(now, id, &bytes);
        }
    }

    /// Ends at once; its connections end or are reset.
    pub(super) fn crash(&mut self, now: u64, resets: bool) {
        self.mode = Mode::Down;
        self.backlog.clear();
        self.keys.borrow_mut().move_to(self.epoch + now / 1_000);
        for id in std::mem::take(&mut self.connections).into_keys() {
            self.network.send_down(id, now, if resets { Packet::Reset } else { Packet::End });
        }
    }

    /// Starts again, or another one in its place, with what is left of the state.
    pub(super) fn start(&mut self, now: u64, left: Left) {
        self.mode = Mode::Up;
        self.scripts.flush();
        let mut keys = self.keys.borrow_mut();
        match left {
            Left::All => {}
            Left::Nothing => keys.clear(),
            Left::Until(micros) => keys.go_back(micros),
        }
        keys.move_to(self.epoch + now / 1_000);
        self.busy_until = now;
    }

    /// Forgets its scripts.
    pub(super) fn flush_scripts(&mut self) {
        self.scripts.flush();
    }

    /// Forgets all keys.
    pub(super) fn flush_keys(&mut self) {
        self.keys.borrow_mut().clear();
    }

    /// Ends one connection.
    pub(super) fn kill(&mut self, now: u64, id: u64) {
        if self.connections.remove(&id).is_some() {
            self.network.send_down(id, now, Packet::Reset);
        }
    }

    fn take(&mut self, at: u64, id: u64, packet: Packet) {
        match packet {
            Packet::Greeting if self.mode == Mode::Down => {
                self.network.send_down(id, at, Packet::Refused);
            }
            Packet::Greeting => {
                self.connections.insert(id, Vec::new());
                self.network.send_down(id, at, Packet::Opened);
            }
            Packet::Bytes(_) if !self.connections.contains_key(&id) => {
                self.network.send_down(id, at, Packet::Reset);
            }
            Packet::Bytes(bytes) if self.mode == Mode::Hung => self.backlog.push_back((id, bytes)),
            Packet::Bytes(bytes) => self.read(at, id, &bytes),
            // What came before the end of a connection is carried out all the same.
            _ if self.mode == Mode::Hung => {}
            _ => _ = self.connections.remove(&id),
        }
    }

    fn read(&mut self, at: u64, id: u64, bytes: &[u8]) {
        let Some(mut held) = self.connections.remove(&id) else { return };
        held.extend(bytes);
        while let Some(command) = next_command(&mut held) {
            self.busy_until = self.busy_until.max(at) + COMMAND;
            self.keys.borrow_mut().move_to(self.epoch + self.busy_until / 1_000);
            let (mut answer, reply) = (Vec::new(), self.run(&command));
            reply.write(&mut answer);
            self.commands += 1;
            self.network.send_down(id, self.busy_until, Packet::Bytes(answer));
        }
        self.connections.insert(id, held);
    }

    fn run(&mut self, command: &[Vec<u8>]) -> Reply {
        let parts: Vec<&[u8]> = command.iter().map(|part| &part[..]).collect();
        match &parts[..] {
            [b"EVALSHA", hash, count, ..] => match texts(command, count) {
                Some(texts) => self.scripts.run_known(hash, &texts),
                None => wrong(),
            },
            [b"EVAL", text, count, ..] => match texts(command, count) {
                Some(texts) => self.scripts.run_whole(text, &texts),
                None => wrong(),
            },
            [b"PING"] => Reply::Status("PONG"),
            [b"SELECT", _] => Reply::Status("OK"),
            [b"INFO"] => Reply::Bytes(b"role:master\r\nmaxmemory_policy:noeviction\r\n".to_vec()),
            [name, ..] => {
                Reply::Error(format!("ERR unknown command `{}`", String::from_utf8_lossy(name)))
            }
            [] => wrong(),
        }
    }
}

/// The keys and the other arguments of a script.
fn texts<'a>(command: &'a [Vec<u8>], count: &[u8]) -> Option<Texts<'a>> {
    let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
    command.get(3..)?.split_at_checked(count)
}

fn wrong() -> Reply {
    Reply::Error("ERR wrong number of arguments".into())
}
