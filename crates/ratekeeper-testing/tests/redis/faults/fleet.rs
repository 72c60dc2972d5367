//! Some limiters over one store, each rule with another policy for outages, and what they may answer.
//!
//! Invariant: one fleet is under load at a time, so that latencies mean something.

use ratekeeper::outage::Class;
use ratekeeper::{Limiter, OnStoreFailure, RedisConfig, Source};
use ratekeeper_testing::load::{Call, Envelope, History, Load, Offer, Witness};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

pub(super) const BURST: u64 = 100;
pub(super) const RATE: u64 = 100;

/// The deadline of a decision, unless said.
pub(super) const DEADLINE: Duration = Duration::from_millis(15);

/// What an answer may take beyond its deadline, and how much more on shared cores.
const BEYOND: Duration = Duration::from_millis(5);
const SHARED_CORES: u32 = 3;

/// What an answer may take while the breaker is open.
const OPEN: Duration = Duration::from_millis(2);

/// How long after a fault the store is to be used again, on shared cores.
pub(super) const RECOVERY: Duration = Duration::from_secs(2);

/// How long until the breaker has opened, at most: a deadline, and five calls.
pub(super) const OPENS: Duration = Duration::from_millis(300);

const RULES: [(&str, OnStoreFailure); 3] = [
    ("open", OnStoreFailure::Allow),
    ("closed", OnStoreFailure::Deny),
    ("local", OnStoreFailure::Local),
];

static TURN: Mutex<()> = Mutex::new(());

/// Waits for the turn of this test.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Limiters that share a store.
pub(super) struct Fleet {
    pub(super) runtime: Runtime,
    pub(super) nodes: Vec<Limiter>,
    pub(super) witness: Witness,
    deadline: Duration,
}

/// What a fault was, and what it may do.
#[derive(Clone)]
pub(super) struct Fault {
    pub(super) time: Range<Duration>,
    /// Whether what was counted was lost.
    pub(super) loses: bool,
}

impl Fleet {
    /// So many limiters.
    pub(super) fn new(url: &str, nodes: u32) -> Fleet {
        Fleet::with(url, nodes, DEADLINE)
    }

    /// The same with another deadline.
    pub(super) fn with(url: &str, nodes: u32, deadline: Duration) -> Fleet {
        let witness = Witness::default();
        let config: RedisConfig = url.parse().unwrap();
        let config = config.nodes(nodes).deadline(deadline);
        let node = |_| {
            let mut builder = Limiter::redis(config.clone()).observer(witness.clone());
            for (rule, policy) in RULES {
                builder = builder.rule(rule, &*format!("{RATE}/second burst {BURST}")).unwrap();
                builder = builder.on_store_failure(rule, policy).unwrap();
            }
            builder.build()
        };
        let nodes = (0..nodes).map(node).collect();
        Fleet { runtime: runtime(), nodes, witness, deadline }
    }

    /// Three times what is admitted, for each key under each rule.
    pub(super) fn load(&self, keys: &[&str]) -> Load {
        Load::start(self.runtime.handle(), self.offers(keys))
    }

    pub(super) fn offers(&self, keys: &[&str]) -> Vec<Offer> {
        let every = Duration::from_secs(1) * self.nodes.len() as u32 / (3 * RATE as u32);
        let mut offers = Vec::new();
        for (node, limiter) in self.nodes.iter().enumerate() {
            for key in keys {
                offers.extend(RULES.map(|(rule, _)| Offer {
                    node,
                    rule: limiter.rule(rule).unwrap(),
                    key: (*key).to_owned(),
                    cost: 1,
                    every,
                }));
            }
        }
        offers
    }

    /// Waits until every limiter has an answer from the store.
    pub(super) fn wait_for_store(&self) {
        for limiter in &self.nodes {
            let rule = limiter.rule("closed").unwrap();
            ratekeeper_testing::servers::wait_until("the store answers", || {
                let peek = self.runtime.block_on(async { rule.peek("nobody").await });
                peek.source() == Source::Store
            });
        }
    }

    /// Nothing was admitted that may not be, every answer says how it came about and came in time, and
    /// no secret was told.
    pub(super) fn judge(&self, history: &History, fault: &Fault) {
        for call in &history.calls {
            judge_call(call, self.nodes.len() as u64);
        }
        for (rule, _) in RULES {
            let of_rule = history.only(|call| call.rule == rule);
            for key in of_rule.keys() {
                self.judge_key(&of_rule.only(|call| call.key == key), fault);
            }
        }
        self.audit(history, fault);
        let most = (self.deadline + BEYOND) * SHARED_CORES + history.stall;
        let longest = history.longest();
        assert!(longest <= most, "an answer took {longest:?}, and the most is {most:?}");
        for text in self.witness.texts() {
            assert!(!text.contains(SECRET), "a secret is told: {text}");
        }
    }

    /// The program's audit finds nothing: no interval, no refusal and no figure that the fault does not explain.
    fn audit(&self, history: &History, fault: &Fault) {
        let rules =
            RULES.map(|(rule, _)| format!("{{id: {rule}, limit: {RATE}/second burst {BURST}}}"));
        let local = history.only(|call| call.source == Source::Local);
        let first = local.calls.iter().map(|call| call.asked).min();
        let last = local.calls.iter().map(|call| call.answered).max();
        let mut faults = vec![("fault", fault.time.clone())];
        faults.extend(first.zip(last).map(|(first, last)| ("local", first..last)));
        faults.extend(fault.loses.then(|| ("state_lost", fault.time.clone())));
        let rules = format!("rules: [{}]", rules.join(", "));
        let report = history.audit(&rules, self.nodes.len() as u32, &faults);
        assert!(report.is_kept(), "{:#?} in {faults:?}", report.findings);
    }

    /// What one key under one rule was admitted.
    fn judge_key(&self, history: &History, fault: &Fault) {
        let nodes = self.nodes.len() as u64;
        let lost = if fault.loses { BURST } else { 0 };
        let stored = history.only(|call| call.source == Source::Store);
        let envelope =
            Envelope { burst: BURST, rate: RATE, fault: Some((lost, fault.time.clone())) };
        let (excess, key) = (stored.excess(&envelope), &history.calls[0]);
        assert!(excess <= 0, "{}, {}: {excess} too many by the store", key.rule, key.key);
        let local = history.only(|call| call.source == Source::Local);
        let (burst, rate) = (nodes * BURST.div_ceil(nodes), nodes * RATE.div_ceil(nodes));
        let excess = local.excess(&Envelope { burst, rate, fault: None });
        assert!(excess <= 0, "{}, {}: {excess} too many by the servers", key.rule, key.key);
        // To the own shares and back again is a burst each, wherever servers answered by themselves: a
        // busy machine misses deadlines before the fault, too. Their rates are rounded up; and until
        // the last has found back, some use the store and others their shares.
        let first = local.calls.iter().map(|call| call.asked).min().unwrap_or(fault.time.start);
        let last = local.calls.iter().map(|call| call.answered).max().unwrap_or_default();
        let (start, end) = (fault.time.start.min(first), fault.time.end.max(last));
        let mixed = RATE * (end - fault.time.end + OPENS).as_millis() as u64 / 1_000;
        let rounded = nodes * (1 + (end - start).as_secs());
        let more = lost + 2 * BURST + rounded + mixed;
        let envelope = Envelope { fault: Some((more, start..end)), ..envelope };
        let marked = history.only(|call| call.source != Source::FailedOpen);
        let (excess, interval) = marked.worst(&envelope);
        let before = local.count(|call| call.asked < fault.time.start);
        let inside = |source| {
            let held = |call: &Call| call.asked >= interval.start && call.answered <= interval.end;
            marked.count(|call| call.source == source && call.allowed && held(call))
        };
        assert!(
            excess <= 0,
            "{}, {}: {excess} too many in all, in {interval:?} with {} by the store and {} by the \
             servers; the fault was {:?}, {before} answers of the servers came before it",
            key.rule,
            key.key,
            inside(Source::Store),
            inside(Source::Local),
            fault.time
        );
    }

    /// In this time no answer came from the store, and all came quickly.
    pub(super) fn judge_outage(&self, history: &History, time: &Range<Duration>) {
        let during = history.only(|call| call.is_in(time));
        for (rule, _) in RULES {
            assert!(during.count(|call| call.rule == rule) > 0, "calls were made under {rule}");
        }
        let stored = during.count(|call| call.source == Source::Store);
        assert_eq!(stored, 0, "answers from a store that is away");
        let (most, latency) = (OPEN * SHARED_CORES, during.latency_of_all_but_one_in(100));
        assert!(latency <= most, "answers took {latency:?}, and the most is {most:?}");
    }

    /// The store is used again within this time, and what went wrong is of these classes.
    pub(super) fn judge_recovery(&self, history: &History, from: Duration, within: Duration) {
        let recovered = history.recovered(from);
        let part = |time: Range<Duration>| {
            let part = history.only(|call| call.is_in(&time));
            let stored = part.count(Call::is_stored);
            format!("{stored} of {} from the store in {time:?}", part.calls.len())
        };
        let second = Duration::from_secs(1);
        assert!(
            recovered.is_some_and(|recovered| recovered <= within),
            "the store was used again after {recovered:?}, and the most is {within:?}: {}, {}; the \
             longest stall was {:?}; {:?}",
            part(Duration::ZERO..second),
            part(history.took - second..history.took),
            history.stall,
            self.witness
        );
    }

    /// Errors were of these classes, at least one of the first; late answers may be anywhere.
    pub(super) fn judge_classes(&self, classes: &[Class]) {
        let seen = self.witness.classes();
        assert!(seen.contains(&classes[0]), "{seen:?} has no {:?}", classes[0]);
        let others = [classes, &[Class::Timeout]].concat();
        let texts = self.witness.texts();
        assert!(seen.iter().all(|class| others.contains(class)), "{seen:?}: {texts:?}");
    }
}

/// A password that no message may show.
pub(super) const SECRET: &str = "open-sesame-4711";

fn judge_call(call: &Call, nodes: u64) {
    let expected = match (&*call.rule, call.source) {
        (_, Source::Store) => Some((BURST, None)),
        (_, Source::DeniedCache) => Some((BURST, Some(false))),
        ("open", Source::FailedOpen) => Some((u64::MAX, Some(true))),
        ("closed", Source::FailedClosed) => Some((u64::MAX, Some(false))),
        ("local", Source::Local) => Some((BURST.div_ceil(nodes), None)),
        _ => None,
    };
    assert!(expected.is_some(), "not what the rule does: {call:?}");
    let (limit, allowed) = expected.unwrap();
    assert_eq!(call.limit, limit, "{call:?}");
    assert!(call.remaining <= call.limit, "{call:?}");
    assert!(allowed.is_none_or(|allowed| allowed == call.allowed), "{call:?}");
}
