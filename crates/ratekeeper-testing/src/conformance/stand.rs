//! Where a law is tried: how to build a limiter on a store, with a clock that is moved by hand.
//!
//! Invariants: a stand has a prefix of its own; what its servers hold is read over connections of our
//! own, never through the client under test.

use super::super::servers::wire::{self, Reply};
use ratekeeper::limiter::Builder;
use ratekeeper::{Decision, Limiter, ManualClock, Observer, RedisConfig, StoreError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// Far longer than any call takes: an outage here is a fault.
const DEADLINE: Duration = Duration::from_secs(20);

/// How often something is looked at until it has come to pass, and how long it takes in between.
const TRIES: u32 = 4_000;
const PAUSE: Duration = Duration::from_millis(5);

/// A store.
#[derive(Clone, Debug)]
pub enum Place {
    /// Of one process.
    Memory,
    /// Shared: its name, its URL, and the ports of all that hold keys.
    Shared(String, String, Vec<u16>),
}

impl Place {
    /// A shared store.
    pub fn shared(name: &str, url: &str, ports: &[u16]) -> Place {
        Place::Shared(name.into(), url.into(), ports.into())
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Place::Memory => "memory",
            Place::Shared(name, ..) => name,
        }
    }

    /// Whether several limiters have the same state there.
    pub fn is_shared(&self) -> bool {
        matches!(self, Place::Shared(..))
    }
}

/// A key of a server: what it holds, and until when, in milliseconds since the epoch.
pub type Entry = (Vec<u8>, i64);

/// A place of one's own in a store, and a clock.
#[derive(Clone, Debug)]
pub struct Stand {
    /// The store.
    pub place: Place,
    /// What names begin with.
    pub prefix: String,
    /// The time.
    pub clock: ManualClock,
    seen: Arc<Mutex<Seen>>,
    remembers: bool,
}

/// What was told to an observer.
#[derive(Debug, Default)]
struct Seen {
    decided: u64,
    failures: Vec<String>,
}

struct Watch(Arc<Mutex<Seen>>);

impl Observer for Watch {
    fn decided(&self, _rule: &str, _decision: &Decision) {
        lock(&self.0).decided += 1;
    }

    fn store_failed(&self, error: &StoreError) {
        lock(&self.0).failures.push(error.to_string());
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stand {
    /// Under this prefix, at the first second of 2026.
    pub fn new(place: &Place, prefix: &str) -> Stand {
        let (place, prefix, clock) = (place.clone(), prefix.into(), ManualClock::new());
        Stand { place, prefix, clock, seen: Arc::default(), remembers: false }
    }

    /// The same, where limiters remember what a shared store refused.
    pub fn remembering(place: &Place, prefix: &str) -> Stand {
        Stand { remembers: true, ..Stand::new(place, prefix) }
    }

    /// A limiter to be built here.
    pub fn builder(&self) -> Builder {
        self.real_time().clock(&self.clock)
    }

    /// The same by the clock of the store.
    pub fn real_time(&self) -> Builder {
        let builder = match &self.place {
            Place::Memory => Limiter::memory().keys(1 << 16),
            Place::Shared(_, url, _) => {
                let config = RedisConfig::new(url).and_then(|config| config.prefix(&self.prefix));
                let config = config.expect("the URL is right");
                let config = if self.remembers { config } else { config.forget_refusals() };
                Limiter::redis(config.deadline(DEADLINE)).keys(1_000)
            }
        };
        builder.observer(Watch(Arc::clone(&self.seen)))
    }

    /// A limiter with one rule, `rule`.
    pub fn one(&self, limits: impl ratekeeper::limiter::IntoLimits) -> (Limiter, ratekeeper::Rule) {
        let builder = self.builder().rule("rule", limits).expect("the limits make sense");
        let limiter = builder.build();
        let rule = limiter.rule("rule").expect("it was just added");
        (limiter, rule)
    }

    /// How many decisions were made.
    pub fn decided(&self) -> u64 {
        lock(&self.seen).decided
    }

    /// What the store did not do.
    pub fn failures(&self) -> Vec<String> {
        lock(&self.seen).failures.clone()
    }

    /// The time, in ticks.
    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_micros()).expect("it is not that late")
    }

    /// Moves the clock forward.
    pub fn wait(&self, ticks: u64) {
        self.clock.advance(Duration::from_micros(ticks));
    }

    fn ports(&self) -> &[u16] {
        match &self.place {
            Place::Memory => &[],
            Place::Shared(.., ports) => ports,
        }
    }

    /// All that the servers hold under our prefix; memory shows nothing of it.
    pub fn image(&self) -> BTreeMap<Vec<u8>, Entry> {
        let mut image = BTreeMap::new();
        for port in self.ports() {
            for name in self.names_at(*port) {
                let value = ask(*port, &[b"GET", &name]).bytes();
                let end = ask(*port, &[b"PEXPIRETIME", &name]).number();
                image.insert(name, (value, end));
            }
        }
        image
    }

    /// All names under our prefix.
    pub fn names(&self) -> Vec<Vec<u8>> {
        self.ports().iter().flat_map(|port| self.names_at(*port)).collect()
    }

    fn names_at(&self, port: u16) -> Vec<Vec<u8>> {
        let pattern = format!("{}:*", self.prefix);
        let mut names = Vec::new();
        let mut cursor = String::from("0");
        loop {
            let words = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", "10000"];
            let mut answer = ask(port, &words.map(str::as_bytes)).list().into_iter();
            cursor = answer.next().expect("a cursor").text();
            names.extend(answer.next().expect("names").list().into_iter().map(Reply::bytes));
            if cursor == "0" {
                return names;
            }
        }
    }

    /// How many scripts the servers have run.
    pub fn calls(&self) -> u64 {
        let count = |line: &str| {
            let calls = line.split_once(":calls=")?.1;
            calls.split(',').next()?.parse::<u64>().ok()
        };
        let of = |port: &u16| {
            let text = ask(*port, &[b"INFO", b"commandstats"]).text();
            text.lines()
                .filter(|line| line.starts_with("cmdstat_eval"))
                .filter_map(count)
                .sum::<u64>()
        };
        self.ports().iter().map(of).sum()
    }
}

/// Makes a call to a server; an error is a panic.
fn ask(port: u16, words: &[&[u8]]) -> Reply {
    let reply = wire::ask_bytes(port, words).expect("the server answers");
    assert!(!matches!(reply, Reply::Error(_)), "{reply:?}");
    reply
}

/// Waits until something is so, and panics if it never is.
pub(super) async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    for _ in 0..TRIES {
        if is().await {
            return;
        }
        sleep(PAUSE).await;
    }
    assert!(is().await, "it did not come to pass that {what}");
}
