//! Which door asked, and since when: a value of the task that asks.
//!
//! Invariant: each decision is of the door that asked for it, and its time is recorded once.

use super::Observe;
#[cfg(feature = "otel")]
use super::traces;
use std::cell::Cell;
#[cfg(feature = "otel")]
use std::cell::RefCell;
use tokio::time::Instant;

/// A way in, as the label `door` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `/v1/check` and `/v1/reserve`.
    Check,
    /// Forward-auth.
    Authorize,
    /// Envoy's rate limit service.
    Envoy,
    /// Redis clients.
    Resp,
    /// The gateway.
    Gateway,
    /// None that says its name.
    Other,
}

impl Door {
    pub(crate) const ALL: [Door; 6] =
        [Door::Check, Door::Authorize, Door::Envoy, Door::Resp, Door::Gateway, Door::Other];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Door::Check => "check",
            Door::Authorize => "authorize",
            Door::Envoy => "envoy",
            Door::Resp => "resp",
            Door::Gateway => "gateway",
            Door::Other => "other",
        }
    }
}

/// A question on its way: who asked, and since when it has waited for its first decision.
pub(super) struct Asked {
    door: Door,
    since: Cell<Option<Instant>>,
    #[cfg(feature = "otel")]
    pub(super) span: RefCell<Option<traces::Span>>,
}

tokio::task_local! {
    pub(super) static ASKED: Asked;
}

impl Asked {
    fn new(door: Door) -> Asked {
        Asked {
            door,
            since: Cell::new(Some(Instant::now())),
            #[cfg(feature = "otel")]
            span: RefCell::new(traces::begin(door)),
        }
    }

    /// The same question, if it goes on elsewhere.
    fn go_on(&self) -> Asked {
        Asked {
            door: self.door,
            since: Cell::new(self.since.take()),
            #[cfg(feature = "otel")]
            span: RefCell::new(self.span.take()),
        }
    }
}

/// Asks the limiter through a door: the decision is counted as that door's, and timed from here until the
/// limiter has decided; a turn that a request waits for is not part of it.
pub fn through<F: Future>(door: Door, asking: F) -> impl Future<Output = F::Output> {
    ASKED.scope(Asked::new(door), asking)
}

/// The same where a question is decided by being asked.
pub(crate) fn through_now<T>(door: Door, ask: impl FnOnce() -> T) -> T {
    ASKED.sync_scope(Asked::new(door), ask)
}

/// The same where most questions are decided by being asked, and what follows is no part of it; `waits` says of
/// which that is not so.
pub(crate) fn through_at_once<F: Future>(
    door: Door,
    ask: impl FnOnce() -> F,
    waits: impl FnOnce(&F) -> bool,
) -> Through<F> {
    ASKED.sync_scope(Asked::new(door), || {
        let asking = ask();
        let waits = waits(&asking).then(|| Box::new(ASKED.with(Asked::go_on)));
        Through { asking, waits }
    })
}

/// A question that was asked through a door.
pub(crate) struct Through<F> {
    asking: F,
    /// The question, if the limiter has still to decide.
    waits: Option<Box<Asked>>,
}

impl<F: Future> Through<F> {
    /// What comes of it.
    pub(crate) async fn answer(self) -> F::Output {
        match self.waits {
            Some(asked) => ASKED.scope(*asked, self.asking).await,
            None => self.asking.await,
        }
    }
}

impl Observe {
    /// Which door asked; what it asked is decided now.
    pub(super) fn answered(&self) -> Door {
        let asked = ASKED.try_with(|asked| (asked.door, asked.since.take()));
        let (door, since) = asked.unwrap_or((Door::Other, None));
        if let Some(since) = since {
            self.decision_seconds.record(since.elapsed());
        }
        door
    }
}
