//! Calls that wait at the same moment go together: on one server as one script, in a cluster as one script for each
//! slot, pipelined.
//!
//! Nobody waits for a timer: whoever comes while nothing is under way goes at once, and those who come meanwhile
//! go next. Invariants: calls go in the order in which they came, once the server knows their scripts; each is told
//! its own answer, whoever else has left or come too late; a call that nobody waits for any more is not made.

use super::call::{Call, Told, texts, told};
use super::config::Servers;
use super::error::{Class, StoreError};
use super::link::Link;
use crate::sync::{Mutex, lock};
use futures_util::future::{Either, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout_at};

/// Most requests, and most keys, that go as one script: others wait while it runs.
const TOGETHER: usize = 64;
const KEYS: usize = 256;

/// Scripts under way at one server: one runs there, one waits for it, one is on its way. In a cluster each is of one
/// slot only, so that there are more.
const UNDER_WAY: usize = 3;
const UNDER_WAY_SLOTS: usize = 64;

/// What takes longer than that is far away: more are under way, so that the way is used.
const FAR: Duration = Duration::from_millis(4);
const UNDER_WAY_FAR: usize = 16;

/// The calls that wait, and whether somebody sees to them.
#[derive(Default)]
pub(super) struct Waiting {
    line: Mutex<Line>,
    /// Rung when somebody comes while there is room for one more under way.
    bell: Notify,
}

#[derive(Default)]
struct Line {
    calls: VecDeque<Asking>,
    seen_to: bool,
    /// Whether one more could be under way.
    has_room: bool,
}

/// A call, and who waits for it: it is given back with its answer.
struct Asking {
    call: Call,
    tell: oneshot::Sender<Answered>,
}

type Answered = (Call, Result<Told, StoreError>);

/// What became of calls that went as one: those that have to be made again, with their number, and how long it took.
struct Sent {
    again: Option<(u64, Vec<Asking>)>,
    took: Duration,
}

impl Link {
    /// Makes a call, with others that wait, if it is sociable.
    pub(super) async fn ask(
        self: &Arc<Self>,
        call: Call,
    ) -> (Option<Call>, Result<Told, StoreError>) {
        if !call.is_sociable() {
            let told = self.ask_alone(&call, false).await;
            return (Some(call), told);
        }
        let deadline = call.deadline;
        let _room = match self.enter(deadline).await {
            Ok(room) => room,
            Err(error) => return (Some(call), Err(error)),
        };
        let (tell, answer) = oneshot::channel();
        if self.waiting.add(Asking { call, tell }) {
            tokio::spawn(Sending { link: Arc::clone(self), ended: false }.run());
        }
        match timeout_at(deadline, answer).await {
            Ok(Ok((call, told))) => (Some(call), told),
            // It was not made: nobody sees to it any more.
            Ok(Err(_)) if Instant::now() < deadline => {
                (None, Err(self.error(Class::Connection, "was asked by a runtime that has ended")))
            }
            _ => (None, Err(self.late())),
        }
    }

    /// Makes a call by itself; `asking` if its slot is on its way to this server.
    pub(super) async fn ask_alone(
        self: &Arc<Self>,
        call: &Call,
        asking: bool,
    ) -> Result<Told, StoreError> {
        let _room = self.enter(call.deadline).await?;
        let each = self.ask_these(&[call], asking, true).await?;
        each.into_iter().next().ok_or_else(|| self.unreadable())
    }

    /// Makes calls as one; if the server does not know the script, it is brought, if `brings`.
    async fn ask_these(
        self: &Arc<Self>,
        calls: &[&Call],
        asking: bool,
        brings: bool,
    ) -> Result<Vec<Told>, StoreError> {
        let (mut sizes, mut given) = (Vec::new(), Vec::new());
        let texts = texts(calls, &mut sizes, &mut given);
        let latest = calls.iter().map(|call| call.deadline).max();
        let deadline = latest.unwrap_or_else(Instant::now);
        let answer = self.run(&texts, (asking, brings), deadline, calls.len()).await?;
        told(answer, calls).ok_or_else(|| self.unreadable())
    }

    /// Makes calls as one, and tells each its answer; those that have to be made again come back, with their number.
    async fn send(self: &Arc<Self>, number: u64, all: Vec<Asking>) -> Sent {
        let start = Instant::now();
        let calls: Vec<&Call> = all.iter().map(|asking| &asking.call).collect();
        let told = self.ask_these(&calls, false, false).await;
        if told
            .as_ref()
            .is_err_and(|error| error.class() == Class::NoScript || is_apart(error, &all))
        {
            return Sent { again: Some((number, all)), took: start.elapsed() };
        }
        tell(all, told);
        Sent { again: None, took: start.elapsed() }
    }

    /// Makes calls that came back, while nothing else is under way, so that nobody overtakes them.
    async fn send_again(self: &Arc<Self>, all: Vec<Asking>) {
        let calls: Vec<&Call> = all.iter().map(|asking| &asking.call).collect();
        let told = self.ask_these(&calls, false, true).await;
        if !told.as_ref().is_err_and(|error| is_apart(error, &all)) {
            return tell(all, told);
        }
        for one in all {
            let told = self.ask_these(&[&one.call], false, true).await;
            tell(vec![one], told);
        }
    }
}

/// Whether each call has to be made by itself: whose fault it is that a script failed cannot be told, and of a slot
/// that is on its way elsewhere some keys may be here and others there.
fn is_apart(error: &StoreError, all: &[Asking]) -> bool {
    all.len() > 1 && matches!(error.class(), Class::BadValue | Class::TryAgain)
}

/// Tells each its answer; who has left needs none.
fn tell(all: Vec<Asking>, told: Result<Vec<Told>, StoreError>) {
    match told {
        Ok(told) => {
            for (Asking { call, tell }, own) in all.into_iter().zip(told) {
                let _ = tell.send((call, Ok(own)));
            }
        }
        Err(error) => {
            for Asking { call, tell } in all {
                let _ = tell.send((call, Err(error.clone())));
            }
        }
    }
}

impl Waiting {
    /// Adds a call to the line; `true` if the caller is to see to it that it is made.
    fn add(&self, asking: Asking) -> bool {
        let mut line = lock(&self.line);
        line.calls.push_back(asking);
        if std::mem::take(&mut line.has_room) {
            self.bell.notify_one();
        }
        !std::mem::replace(&mut line.seen_to, true)
    }

    /// The calls that go next, of one slot if `slots`; empty if there are none.
    fn next(&self, slots: bool, now: Instant) -> Vec<Asking> {
        let mut line = lock(&self.line);
        let (mut next, mut keys, mut at): (Vec<Asking>, usize, usize) = (Vec::new(), 0, 0);
        while let Some(asking) = line.calls.get(at) {
            let size = asking.call.keys.len();
            if asking.tell.is_closed() || asking.call.deadline <= now {
                line.calls.remove(at);
                continue;
            }
            if let Some(Asking { call: first, .. }) = next.first() {
                if next.len() == TOGETHER || keys + size > KEYS || first.given != asking.call.given
                {
                    break;
                }
                if slots && first.tag.slot() != asking.call.tag.slot() {
                    at += 1;
                    continue;
                }
            }
            keys += size;
            next.extend(line.calls.remove(at));
        }
        line.has_room = next.is_empty();
        next
    }

    /// Whether nobody waits, so that whoever comes next sees to it.
    fn rest(&self) -> bool {
        let mut line = lock(&self.line);
        line.seen_to = !line.calls.is_empty();
        !line.seen_to
    }
}

/// Sees to the calls that wait, until there are none.
struct Sending {
    link: Arc<Link>,
    ended: bool,
}

impl Sending {
    async fn run(mut self) {
        let link = Arc::clone(&self.link);
        let slots = link.config.servers == Servers::Cluster;
        let mut most = if slots { UNDER_WAY_SLOTS } else { UNDER_WAY };
        let mut under_way = FuturesUnordered::new();
        let (mut number, mut again) = (0, BTreeMap::new());
        loop {
            while again.is_empty() && under_way.len() < most {
                let next = link.waiting.next(slots, Instant::now());
                if next.is_empty() {
                    break;
                }
                under_way.push(link.send(number, next));
                number += 1;
            }
            if under_way.is_empty() {
                let came_back = std::mem::take(&mut again);
                if came_back.is_empty() && link.waiting.rest() {
                    break;
                }
                join_all(came_back.into_values().map(|all| link.send_again(all))).await;
                continue;
            }
            let rung = std::pin::pin!(link.waiting.bell.notified());
            if let Either::Left((Some(sent), _)) = select(under_way.next(), rung).await {
                if !slots {
                    most = if sent.took > FAR { UNDER_WAY_FAR } else { UNDER_WAY };
                }
                again.extend(sent.again);
            }
        }
        self.ended = true;
    }
}

/// Should the task end before its time, as with its runtime, whoever comes next sees to the calls.
impl Drop for Sending {
    fn drop(&mut self) {
        if !self.ended {
            lock(&self.link.waiting.line).seen_to = false;
        }
    }
}
