//! A second opinion: rules of fixed windows, counted in a plain map, as the design words them.
//!
//! Invariant: nothing of the library decides here; it is only compared with it.

use std::collections::HashMap;

/// A rule of the model; its number is its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) amount: u64,
    /// Seconds of its window.
    pub(super) period: u64,
    pub(super) cost: u64,
    pub(super) kind: Kind,
    pub(super) rollout: Mode,
    /// An amount on trial.
    pub(super) trial: Option<u64>,
}

/// Whom it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Ip,
    Global,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    Shadow,
    Enforced,
}

/// A request of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) user: Option<u8>,
    pub(super) ip: u8,
    pub(super) units: u64,
}

/// What one rule says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) shadow: bool,
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) wait: Wait,
}

/// How long until it would be admitted, in their order of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wait {
    None,
    Seconds(u64),
    Never,
}

/// A rule, a key and a window.
type Bucket = (String, String, u64);

/// A bucket, its amount, the cost, the period, and whether it is enforced.
type Asked = (Bucket, u64, u64, u64, bool);

/// What was used.
#[derive(Default)]
pub(super) struct Model(HashMap<Bucket, u64>);

impl Model {
    /// What the design says that becomes of a request, at so many seconds.
    pub(super) fn ask(&mut self, plans: &[Plan], ask: Ask, now: u64) -> Vec<Said> {
        let mut asked = Vec::new();
        for (number, plan) in plans.iter().enumerate().filter(|(_, own)| own.rollout != Mode::Off) {
            let (who, window) = (key(plan.kind, ask), now / plan.period);
            let (cost, live) = (plan.cost * ask.units, plan.rollout == Mode::Enforced);
            let bucket = (format!("r{number}"), who.clone(), window);
            asked.push((bucket, plan.amount, cost, plan.period, live));
            if let Some(amount) = plan.trial {
                let bucket = (format!("r{number} trial"), who, window);
                asked.push((bucket, amount, cost, plan.period, false));
            }
        }
        let fits = |used: &Model, (bucket, amount, cost, ..): &Asked| {
            used.0.get(bucket).copied().unwrap_or(0) + cost <= *amount
        };
        let passes = asked.iter().all(|own| !own.4 || fits(self, own));
        // Where the request does not pass, nothing is charged, and no rule in shadow is asked.
        asked.retain(|own| passes || own.4);
        let mut said = Vec::new();
        for own in asked {
            let admitted = fits(self, &own);
            let (bucket, limit, cost, period, live) = own;
            let used = self.0.entry(bucket.clone()).or_default();
            if passes && admitted {
                *used += cost;
            }
            let wait = match admitted {
                true => Wait::None,
                false if cost > limit => Wait::Never,
                false => Wait::Seconds(period - now % period),
            };
            said.push(Said { id: bucket.0, shadow: !live, limit, remaining: limit - *used, wait });
        }
        said
    }

    /// Whose figures are on top: refused, of the longest wait; allowed, of the least left; the first of
    /// equals.
    pub(super) fn top(said: &[Said]) -> Option<&Said> {
        let mut best: Option<&Said> = None;
        let refused = said.iter().any(|own| !own.shadow && own.wait != Wait::None);
        for own in said.iter().filter(|own| !own.shadow) {
            let better = |best: &Said| match refused {
                true => own.wait > best.wait,
                false => own.remaining < best.remaining,
            };
            if best.is_none_or(better) {
                best = Some(own);
            }
        }
        best
    }
}

fn key(kind: Kind, ask: Ask) -> String {
    match (kind, ask.user) {
        (Kind::User, Some(user)) => format!("user {user}"),
        // Who has no name is counted by address.
        (Kind::User, None) | (Kind::Ip, _) => format!("ip {}", ask.ip),
        (Kind::Global, _) => "all".to_owned(),
    }
}
