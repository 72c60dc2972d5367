//! Those who wait, polled by hand: no runtime, and no time but the manual clock's.
//!
//! Invariant: after each call everyone who was woken has been polled, in the order of being woken.

use ratekeeper::limiter::{Wait, Waiting};
use ratekeeper::{Decision, ManualClock};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Who was woken and is not polled yet, in order.
type Rung = Arc<Mutex<Vec<usize>>>;

/// A waker that counts.
pub(crate) struct Bell {
    who: usize,
    times: AtomicU64,
    rung: Rung,
}

impl Bell {
    fn new(who: usize, rung: &Rung) -> Arc<Bell> {
        Arc::new(Bell { who, times: AtomicU64::new(0), rung: Arc::clone(rung) })
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.times.fetch_add(1, Ordering::SeqCst);
        self.rung.lock().unwrap().push(self.who);
    }
}

struct Waiter<'a> {
    future: Pin<Box<Waiting<'a>>>,
    bell: Arc<Bell>,
}

/// Somebody who waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) who: usize,
    /// Ticks since the epoch.
    pub(crate) at: u64,
    pub(crate) decision: Decision,
}

/// Everyone who waits, by number.
pub(crate) struct Crowd<'a> {
    clock: &'a ManualClock,
    waiters: BTreeMap<usize, Waiter<'a>>,
    passed: Vec<Passed>,
    rung: Rung,
    next: usize,
}

impl<'a> Crowd<'a> {
    pub(crate) fn new(clock: &'a ManualClock) -> Crowd<'a> {
        let (waiters, passed, rung) = (BTreeMap::new(), Vec::new(), Rung::default());
        Crowd { clock, waiters, passed, rung, next: 0 }
    }

    /// Ticks since the epoch.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_micros()).expect("it is not that late")
    }

    /// Begins to wait, and returns the waiter's number.
    pub(crate) fn enter(&mut self, wait: Wait<'a>) -> usize {
        let who = self.next;
        self.next += 1;
        let bell = Bell::new(who, &self.rung);
        self.waiters.insert(who, Waiter { future: Box::pin(wait.into_future()), bell });
        self.poll(who);
        self.poll_woken();
        who
    }

    /// Gives up. What it leaves behind must not keep its waker.
    pub(crate) fn leave(&mut self, who: usize) {
        let Waiter { future, bell } = self.waiters.remove(&who).expect("it waits");
        drop(future);
        self.poll_woken();
        assert_eq!(Arc::strong_count(&bell), 1, "{who} left, and its waker did not");
    }

    /// Moves the clock to a tick.
    pub(crate) fn go(&mut self, tick: u64) {
        self.clock.set(Duration::from_micros(tick));
        self.poll_woken();
    }

    /// Polls with another waker, as after a move to another task; nobody wakes the former one then.
    pub(crate) fn change_waker(&mut self, who: usize) {
        let waiter = self.waiters.get_mut(&who).expect("it waits");
        let former = std::mem::replace(&mut waiter.bell, Bell::new(who, &self.rung));
        self.poll(who);
        self.poll_woken();
        assert_eq!(Arc::strong_count(&former), 1, "{who} is known by its former waker still");
    }

    /// Whether it waits still.
    pub(crate) fn waits(&self, who: usize) -> bool {
        self.waiters.contains_key(&who)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// How often it was woken by the waker that it has now.
    pub(crate) fn woken(&self, who: usize) -> u64 {
        self.waiters[&who].bell.times.load(Ordering::SeqCst)
    }

    /// Who has passed since the last look, in order.
    pub(crate) fn passed(&mut self) -> Vec<Passed> {
        std::mem::take(&mut self.passed)
    }

    /// Who those are.
    pub(crate) fn passed_numbers(&mut self) -> Vec<usize> {
        self.passed().into_iter().map(|passed| passed.who).collect()
    }

    /// Follows up what happened without this crowd's doing: polls whoever was woken.
    pub(crate) fn poll_woken(&mut self) {
        loop {
            let woken = std::mem::take(&mut *self.rung.lock().unwrap());
            if woken.is_empty() {
                return;
            }
            woken.into_iter().for_each(|who| self.poll(who));
        }
    }

    fn poll(&mut self, who: usize) {
        let Some(waiter) = self.waiters.get_mut(&who) else { return };
        let waker = Waker::from(Arc::clone(&waiter.bell));
        let polled = waiter.future.as_mut().poll(&mut Context::from_waker(&waker));
        drop(waker);
        if let Poll::Ready(decision) = polled {
            let Waiter { future, bell } = self.waiters.remove(&who).expect("it was just polled");
            drop(future);
            assert_eq!(Arc::strong_count(&bell), 1, "{who} passed, and its waker did not");
            self.passed.push(Passed { who, at: self.now(), decision });
        }
    }
}
