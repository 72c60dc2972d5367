//! Limits that come with the question: `CL.THROTTLE` as redis-cell has it, and `THROTTLE` as throttlecrab has it.
//!
//! They are read alike but for the burst, which is one more than redis-cell is told, and answered each in its own way.
//! Invariant: what they allow is counted by the same arithmetic as every rule, to the microsecond; seconds are rounded
//! up, so that who waits as long as it is told is not refused for it.

use super::args::{Wrong, shown};
use super::reply::Replies;
use crate::door::seconds;
use ratekeeper::{Decision, Limit, Limiter, Rule};
use std::time::Duration;

/// Limits that a connection keeps ready. Beyond it the oldest is made again when it is asked for.
const LIMITS_MAX: usize = 16;

/// Whose way it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// redis-cell's.
    Cell,
    /// throttlecrab's.
    Crab,
}

impl Way {
    /// What metrics and the console call such limits.
    const fn rule(self) -> &'static str {
        match self {
            Way::Cell => "cl.throttle",
            Way::Crab => "throttle",
        }
    }

    /// Units at once, of the number that is called the maximal burst.
    fn burst(self, said: i64) -> Option<u64> {
        match self {
            Way::Cell => u64::try_from(said.checked_add(1)?).ok().filter(|burst| *burst > 0),
            Way::Crab => u64::try_from(said).ok().filter(|burst| *burst > 0),
        }
    }
}

/// A question: how much at once, how much in so many seconds, and how much of it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Throttle {
    way: Way,
    numbers: [i64; 3],
    pub(super) quantity: u64,
}

impl Throttle {
    /// Reads what follows the key.
    pub(super) fn read(way: Way, args: &[&[u8]]) -> Result<Throttle, Wrong> {
        let (numbers, quantity) = match args {
            [burst, count, period] => ([burst, count, period], None),
            [burst, count, period, quantity] => ([burst, count, period], Some(quantity)),
            _ => {
                let usage = "key max_burst count period [quantity]";
                return Err(format!("wrong number of arguments; send {} {usage}", way.rule()));
            }
        };
        let names = ["max_burst", "count", "period"];
        let mut read = [0; 3];
        for ((name, arg), value) in names.into_iter().zip(numbers).zip(&mut read) {
            *value = number(arg, name)?;
        }
        let quantity = quantity.map_or(Ok(1), |arg| number(arg, "quantity"))?;
        let quantity = u64::try_from(quantity)
            .map_err(|_| "quantity is negative; send 0 to look, or how much to take".to_owned())?;
        Ok(Throttle { way, numbers: read, quantity })
    }

    /// The rule that decides it.
    fn rule(&self, limiter: &Limiter) -> Result<Rule, Wrong> {
        let [burst, count, period] = self.numbers;
        let least = if self.way == Way::Cell { 0 } else { 1 };
        let (Some(burst), Ok(count), Ok(period)) =
            (self.way.burst(burst), u64::try_from(count), u64::try_from(period))
        else {
            let fault = "max_burst, count or period is out of range";
            return Err(format!("{fault}; send at least {least}, 1 and 1, and less than 2^40"));
        };
        let limit = Limit::per(count, Duration::from_secs(period)).burst(burst);
        limiter.given(self.way.rule(), limit).map_err(|error| error.to_string())
    }

    /// Replies with a decision.
    pub(super) fn reply(&self, replies: &mut Replies<'_>, decision: &Decision) {
        let burst = self.way.burst(self.numbers[0]).unwrap_or(0);
        let (limit, remaining) = match decision.is_without_figures() {
            true => (whole(burst), 0),
            false => (whole(decision.limit()), whole(decision.remaining())),
        };
        let reset = decision.reset_after().map_or(0, seconds);
        let wait = match decision.retry_after() {
            Some(wait) => seconds(wait),
            // Without a store nobody knows.
            None if decision.is_refused() && !decision.is_never() => 1,
            None if decision.is_refused() || self.way == Way::Cell => -1,
            None => 0,
        };
        let limited = i64::from(decision.is_refused());
        let figures = match self.way {
            Way::Cell => [limited, limit, remaining, wait, reset],
            Way::Crab => [1 - limited, limit, remaining, reset, wait],
        };
        replies.array(figures.len());
        figures.into_iter().for_each(|figure| replies.integer(figure));
    }
}

pub(super) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn number(arg: &[u8], what: &str) -> Result<i64, Wrong> {
    let read = std::str::from_utf8(arg).ok().and_then(|text| text.parse().ok());
    read.ok_or_else(|| format!("{what} is '{}'; send a whole number", shown(arg)))
}

/// The limits that a connection asked for last, the latest first.
#[derive(Debug, Default)]
pub(super) struct Limits(Vec<(Way, [i64; 3], Rule)>);

impl Limits {
    /// The rule that decides a question.
    pub(super) fn find(&mut self, limiter: &Limiter, asked: &Throttle) -> Result<&Rule, Wrong> {
        let same = |(way, numbers, _): &(Way, [i64; 3], Rule)| {
            (*way, *numbers) == (asked.way, asked.numbers)
        };
        match self.0.iter().position(same) {
            Some(0) => {}
            Some(place) => self.0[..=place].rotate_right(1),
            None => {
                let rule = asked.rule(limiter)?;
                self.0.truncate(LIMITS_MAX - 1);
                self.0.insert(0, (asked.way, asked.numbers, rule));
            }
        }
        Ok(&self.0[0].2)
    }
}
