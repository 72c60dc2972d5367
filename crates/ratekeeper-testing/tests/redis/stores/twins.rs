//! Memory and Redis side by side: the same calls at the same ticks.
//!
//! Invariant: every decision is the same in every part that can be seen but the names of permits,
//! which are not shown.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestError, TestRunner};
use ratekeeper::{Algorithm, Decision, Hold, Limit, Limiter, Permit, PermitId};
use ratekeeper_testing::conformance::{Place, Stand};
use ratekeeper_testing::servers::{Kind, Server};
use std::cell::Cell;
use std::time::Duration;
use tokio::time::sleep;

/// The rule whose permits are held in this process.
const HELD: &str = "held";

/// Rules of each kind, most of which are used up by a few calls.
fn limiter(stand: &Stand) -> Limiter {
    let mut builder = stand.builder();
    for algorithm in Algorithm::ALL {
        for (amount, period) in [(3, 1_000), (7, 60_000), (9_973, 60_000)] {
            let limit = Limit::per(amount, Duration::from_millis(period)).algorithm(algorithm);
            builder = builder.rule(&format!("{algorithm}-{amount}"), limit).unwrap();
        }
    }
    let line = Limit::per_second(10).burst(20).shaping();
    let short = Limit::per_second(3).shaping().max_wait(Duration::from_millis(500));
    let mixed = [Limit::per_minute(9), Limit::concurrent(3).hold(Duration::from_secs(2))];
    let turned = [line, Limit::concurrent(3).hold(Duration::from_secs(1))];
    let lasting = Limit::concurrent(4).hold(Duration::from_secs(10_000_000));
    builder = builder.rule("line", line).unwrap().rule("short", short).unwrap();
    builder = builder.rule("several", ["5/second", "20/minute"]).unwrap();
    builder = builder.rule("mixed", mixed).unwrap().rule("turned", turned).unwrap();
    builder.rule(HELD, lasting).unwrap().build()
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Check,
    Peek,
    Refund,
    Reset,
    Many,
    All,
    Wait,
    Reserve,
    Settle,
    Release,
    Acquire,
    Drop,
}

/// A move of the clock, then a call; the numbers choose among what there is.
#[derive(Clone, Debug)]
struct Step {
    ticks: u64,
    act: Act,
    rules: [usize; 3],
    keys: [usize; 3],
    cost: u64,
    which: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let ticks = (select(vec![0, 1, 999, 100_000, 333_333, 1_000_000, 5_000_000]), 0..3_u64);
    let act = prop_oneof![
        8 => Just(Act::Check),
        1 => Just(Act::Peek),
        1 => Just(Act::Refund),
        1 => Just(Act::Many),
        1 => Just(Act::Wait),
        3 => Just(Act::All),
        3 => Just(Act::Reserve),
        3 => Just(Act::Settle),
        2 => Just(Act::Release),
        1 => Just(Act::Acquire),
        1 => Just(Act::Drop),
        1 => Just(Act::Reset),
    ];
    let cost = select(vec![0, 1, 1, 1, 2, 3, 11, 5_000]);
    let places = ([0..64_usize, 0..64, 0..64], [0..2_usize, 0..2, 0..2]);
    (ticks, act, places, cost, 0..64_usize).prop_map(
        |((ticks, times), act, (rules, keys), cost, which)| Step {
            ticks: ticks * times,
            act,
            rules,
            keys,
            cost,
            which,
        },
    )
}

/// One of the two, and what is held of it.
struct Twin {
    limiter: Limiter,
    names: Vec<String>,
    holds: Vec<Hold>,
    permits: Vec<Permit<'static>>,
    named: Vec<PermitId>,
}

impl Twin {
    fn new(stand: &Stand) -> Twin {
        let limiter = limiter(stand);
        let names = limiter
            .rules()
            .iter()
            .map(|rule| rule.name().to_owned())
            .filter(|name| name != HELD)
            .collect();
        Twin { limiter, names, holds: Vec::new(), permits: Vec::new(), named: Vec::new() }
    }

    /// Makes the call, and tells what came of it.
    async fn call(&mut self, start: &str, step: &Step) -> String {
        let limiter = self.limiter.clone();
        let name = |place: usize| &*self.names[step.rules[place] % self.names.len()];
        let (rule, cost) = (limiter.rule(name(0)).unwrap(), step.cost);
        let slots = limiter.rule(HELD).unwrap();
        let key_of = |place: usize| format!("{start} {}", step.keys[place]);
        let key = key_of(0);
        let told = match step.act {
            Act::Check => rule.check(&key).cost(cost).await,
            Act::Peek => rule.peek(&key).await,
            Act::Refund => rule.refund(&key, cost).await,
            Act::Reset => rule.reset(&key).await,
            Act::Wait => rule.wait(&key).cost(cost).max_wait(Duration::ZERO).await,
            Act::Many => {
                // Different keys: the order of the same one in a batch is not promised.
                let keys = ["0", "1"].map(|end| format!("{start} {end}"));
                let told = rule.check_many(&keys).cost(cost).await;
                self.named.extend(told.iter().filter_map(Decision::permit));
                return format!("{told:?}");
            }
            Act::All => {
                let asked = [0, 1, 2].map(|place| (name(place), key_of(place)));
                let told = limiter.check_all(asked).unwrap().cost(cost).await;
                self.named.extend(told.permit());
                return format!("{told:?}");
            }
            Act::Reserve => {
                // A rule with permits would hold them until its time, or beyond it.
                let plain = |name: &&str| !["mixed", "turned"].contains(name);
                let names = [name(0), name(1)];
                let asked = names.iter().filter(|name| plain(name));
                let asked = asked.enumerate().map(|(place, name)| (*name, key_of(place)));
                let hold = limiter.reserve_all(asked, cost).unwrap().await;
                let told = format!("{hold:?}");
                self.holds.push(hold);
                return told;
            }
            Act::Settle if !self.holds.is_empty() => {
                self.holds.remove(step.which % self.holds.len()).settle(cost).await;
                rule.peek(&key).await
            }
            Act::Release if !self.named.is_empty() => {
                let name = self.named.remove(step.which % self.named.len());
                return format!("{}", limiter.release(name).await);
            }
            Act::Acquire => {
                let permit = slots.acquire(&key).cost(cost).await.into_owned();
                let told = permit.decision();
                self.permits.push(permit);
                told
            }
            Act::Drop if !self.permits.is_empty() => {
                drop(self.permits.remove(step.which % self.permits.len()));
                return String::new();
            }
            Act::Settle | Act::Release | Act::Drop => slots.peek(&key).await,
        };
        self.named.extend(told.permit());
        format!("{told:?}")
    }

    /// What is left of all rules for the keys.
    async fn left(&self, key: &str) -> Vec<String> {
        let mut left = Vec::new();
        for rule in self.limiter.rules() {
            let name = rule.name();
            for number in 0..2 {
                let key = format!("{key} {number}");
                let told = self.limiter.rule(name).unwrap().peek(&key).await;
                left.push(format!("{name} {key} {told:?}"));
            }
        }
        left
    }
}

async fn same(
    memory: &Stand,
    redis: &Stand,
    case: u32,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let (mut here, mut there) = (Twin::new(memory), Twin::new(redis));
    let key = format!("case {case}");
    for (number, step) in steps.iter().enumerate() {
        memory.wait(step.ticks);
        redis.clock.set(memory.clock.now());
        let told = (here.call(&key, step).await, there.call(&key, step).await);
        // Where a refusal was remembered is all that may differ.
        let told = (told.0, told.1.replace("DeniedCache", "Store"));
        prop_assert_eq!(&told.0, &told.1, "step {}: {:?}", number, step);
        if matches!(step.act, Act::Drop) {
            // What is dropped is given back a moment later.
            let expected = here.left(&key).await;
            for _ in 0..2_000 {
                if there.left(&key).await == expected {
                    break;
                }
                sleep(Duration::from_millis(5)).await;
            }
        }
    }
    prop_assert_eq!(here.left(&key).await, there.left(&key).await);
    Ok(())
}

/// Goal: whatever is asked in whatever order, Redis and Valkey decide as memory does.
/// Method: random traces of every call over rules of every kind, on both at the same ticks; every
/// decision, and at the end what is left of each rule, is the same; also where refusals are remembered.
#[test]
fn memory_and_servers_decide_the_same() {
    for (kind, remembers) in [(Kind::Redis, false), (Kind::Redis, true), (Kind::Valkey, true)] {
        let server = Server::start(kind);
        let place = Place::shared("a server", &server.url(), &[server.port()]);
        let redis = match remembers {
            true => Stand::remembering(&place, "twin"),
            false => Stand::new(&place, "twin"),
        };
        let config = Config { failure_persistence: None, ..Config::default() };
        let (mut runner, case) = (TestRunner::new(config), Cell::new(0));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let outcome = runner.run(&vec(step(), 1..120), |steps| {
            case.set(case.get() + 1);
            let memory = Stand::new(&Place::Memory, "");
            runtime.block_on(same(&memory, &redis, case.get(), &steps))
        });
        let failed = outcome.err().map(|error| match error {
            TestError::Fail(reason, steps) => format!("{reason}: {steps:?}"),
            TestError::Abort(reason) => reason.to_string(),
        });
        assert_eq!(failed, None, "{kind:?}");
        assert!(case.get() >= 60, "{} traces", case.get());
        assert_eq!(redis.failures(), Vec::<String>::new());
    }
}
