//! The same traffic through every door: library, layer, check API, forward-auth, gateway, Envoy's service,
//! Redis' protocol.
//!
//! Each door has a limiter of its own, by the same rules, with a clock that stands still unless the traffic
//! moves it. The library says all that there is to know, exactly; what another door says has to be that, as far
//! as it can say it.
//! Invariants: every step is compared, and every figure that a door says; what it rounds is rounded to the same side.

mod envoy;
mod http;
mod layer;
mod library;
mod resp;
mod rules;

pub use envoy::Envoy;
pub use http::{Authorize, Check, CheckKey, Gateway};
pub use layer::Layer;
pub use library::Library;
pub use resp::Resp;
pub use rules::Rules;

use ratekeeper::{Decision, ManualClock};
use std::time::Duration;

/// One request of the traffic: so long after the one before, by whom, at which cost.
#[derive(Clone, Debug)]
pub struct Step {
    /// Microseconds since the step before.
    pub after: u64,
    /// Who asks.
    pub who: &'static str,
    /// What it takes.
    pub cost: u64,
}

/// A time, as precisely as a door says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// It says nothing of it.
    Unsaid,
    /// There is none.
    None,
    /// No wait would help.
    Never,
    /// Exactly.
    Micros(u64),
    /// Rounded up.
    Millis(u64),
    /// Rounded up.
    Seconds(u64),
    /// Rounded up, at least one.
    Waits(u64),
    /// In seconds since the epoch, rounded up.
    Epoch(u64),
}

/// What a door said of one step.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// Whether the request may pass.
    pub allowed: bool,
    /// The limit, if it says so.
    pub limit: Option<u64>,
    /// What is left, if it says so.
    pub remaining: Option<u64>,
    /// How long to wait.
    pub retry: Time,
    /// When all is there again.
    pub reset: Time,
    /// When the request has its turn.
    pub delay: Time,
}

/// A door that can be asked.
pub trait Door {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Its clock.
    fn clock(&self) -> &ManualClock;

    /// Asks it; everything but the time of the step.
    fn ask(&mut self, step: &Step) -> impl Future<Output = Said>;
}

/// Sends traffic through a door, and compares each step with what the library says.
pub async fn same(rules: &Rules, door: &mut impl Door, traffic: &[Step]) {
    let mut library = Library::new(rules);
    for (number, step) in traffic.iter().enumerate() {
        let time = Duration::from_micros(step.after);
        library.clock().advance(time);
        door.clock().advance(time);
        let (exact, now) = (library.decide(step).await, library.now());
        let said = door.ask(step).await;
        let place = format!("{}, step {number}, {step:?}: {exact:?} and {said:?}", door.name());
        assert_eq!(said.allowed, exact.is_allowed(), "{place}");
        assert!(said.limit.is_none_or(|own| own == exact.limit()), "{place}");
        assert!(said.remaining.is_none_or(|own| own == exact.remaining()), "{place}");
        let wait = if exact.is_never() { Wait::Never } else { Wait::of(exact.retry_after()) };
        assert!(said.retry.is(wait, now), "retry, {place}");
        assert!(said.reset.is(Wait::of(exact.reset_after()), now), "reset, {place}");
        assert!(said.delay.is(Wait::of(exact.delay()), now), "delay, {place}");
    }
}

/// A time, exactly.
#[derive(Clone, Copy)]
enum Wait {
    None,
    Never,
    Micros(u64),
}

impl Wait {
    fn of(time: Option<Duration>) -> Wait {
        time.map_or(Wait::None, |time| Wait::Micros(time.as_micros() as u64))
    }
}

impl Time {
    /// Whether it is the exact one, as far as it says it; `now` is microseconds since the epoch.
    fn is(self, exact: Wait, now: u64) -> bool {
        match (self, exact) {
            (Time::Unsaid, _) | (Time::None, Wait::None) | (Time::Never, Wait::Never) => true,
            (Time::Micros(own), Wait::Micros(exact)) => own == exact,
            (Time::Millis(own), Wait::Micros(exact)) => own == exact.div_ceil(1_000),
            (Time::Seconds(own), Wait::Micros(exact)) => own == exact.div_ceil(1_000_000),
            (Time::Waits(own), Wait::Micros(exact)) => own == exact.div_ceil(1_000_000).max(1),
            (Time::Epoch(own), Wait::Micros(exact)) => own == (now + exact).div_ceil(1_000_000),
            _ => false,
        }
    }
}

/// What the library said, as a door that says all of it.
impl From<Decision> for Said {
    fn from(decision: Decision) -> Said {
        let micros = |time: Option<Duration>| {
            time.map_or(Time::None, |time| Time::Micros(time.as_micros() as u64))
        };
        Said {
            allowed: decision.is_allowed(),
            limit: Some(decision.limit()),
            remaining: Some(decision.remaining()),
            retry: if decision.is_never() { Time::Never } else { micros(decision.retry_after()) },
            reset: micros(decision.reset_after()),
            delay: micros(decision.delay()),
        }
    }
}
