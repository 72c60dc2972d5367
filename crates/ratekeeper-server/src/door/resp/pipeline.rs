//! Commands that wait for decisions, which are made together.
//!
//! Invariant: replies come in the order of the commands; whatever is no decision waits until those before it were
//! made.

use super::args::{Options, Wrong, key, text};
use super::frame::{Bounds, Command, parse};
use super::reply::Replies;
use super::throttle::{Limits, Throttle, Way};
use super::{PIPELINE_MAX, check};
use crate::app::App;
use crate::decisions::Asked;
use crate::observe::{Door, through};
use ratekeeper::Limiter;
use ratekeeper::limiter::Batch;

/// Refusals of one pipeline that are kept for who asks why: one caller's are not to drive out all others'.
const KEPT_MAX: usize = 8;

/// Where a rule's key begins among the arguments of a check, and that of a throttle.
pub(super) const CHECK_KEY: usize = 2;
const THROTTLE_KEY: usize = 1;

/// Commands that wait.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    batch: Option<Batch>,
    waiting: Vec<Waiting>,
}

/// A command that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Where it begins in the input.
    at: usize,
    /// Which of its arguments are the key.
    key: (usize, usize),
    /// How it is answered, if not as a check.
    throttle: Option<Throttle>,
}

impl Pipeline {
    /// Whether no more are to be added before these were decided.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= PIPELINE_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn batch(&mut self, limiter: &Limiter) -> &mut Batch {
        let batch = self.batch.get_or_insert_with(|| limiter.batch());
        // One that could not be added may have been the first to look at the rules.
        if self.waiting.is_empty() {
            batch.clear();
        }
        batch
    }

    /// Keeps nothing, neither room nor rules, until there is another command.
    pub(super) fn rest(&mut self) {
        *self = Pipeline::default();
    }

    /// Adds `RK.CHECK rule key … [COST n] [TIER t]`, or `RK.PEEK`, which costs nothing.
    pub(super) fn check(
        &mut self,
        limiter: &Limiter,
        command: &Command<'_>,
        at: usize,
        is_peek: bool,
    ) -> Result<(), Wrong> {
        let rule = text(command[1], "rule")?;
        let batch = self.batch(limiter);
        let parts = batch.key_parts(rule).map_err(|unknown| unknown.to_string())?;
        let (keys, options) = split(command, parts)?;
        let options = Options::read(options, (!is_peek).then_some(0))?;
        let cost = if is_peek { 0 } else { options.cost.unwrap_or(1) };
        match keys {
            [only] => batch.add(rule, &[key(only)?], options.tier, cost),
            _ => {
                let keys = keys.iter().map(|own| key(own)).collect::<Result<Vec<_>, _>>()?;
                batch.add(rule, &keys, options.tier, cost)
            }
        }
        .map_err(|error| error.to_string())?;
        self.waiting.push(Waiting { at, key: (CHECK_KEY, parts), throttle: None });
        Ok(())
    }

    /// Adds `CL.THROTTLE` or `THROTTLE`.
    pub(super) fn throttle(
        &mut self,
        limiter: &Limiter,
        limits: &mut Limits,
        command: &Command<'_>,
        (at, way): (usize, Way),
    ) -> Result<(), Wrong> {
        let (key, rest) = (command[THROTTLE_KEY], &command[THROTTLE_KEY + 1..]);
        if key.is_empty() {
            return Err("the key is empty; send who is counted".into());
        }
        let asked = Throttle::read(way, rest)?;
        let rule = limits.find(limiter, &asked)?;
        self.batch(limiter).add_given(rule, key, asked.quantity);
        self.waiting.push(Waiting { at, key: (THROTTLE_KEY, 1), throttle: Some(asked) });
        Ok(())
    }

    /// Decides all of them, and replies.
    pub(super) async fn flush(&mut self, app: &App, input: &[u8], replies: &mut Replies<'_>) {
        let Some(batch) = self.batch.as_mut().filter(|batch| !batch.is_empty()) else { return };
        let answers = through(Door::Resp, batch.check()).await;
        let mut kept = 0;
        for (number, (decision, waiting)) in answers.iter().zip(&self.waiting).enumerate() {
            match &waiting.throttle {
                Some(throttle) => throttle.reply(replies, decision),
                None => check::reply(replies, decision, None),
            }
            if decision.is_refused()
                && kept < KEPT_MAX
                && let Some(decisions) = answers.decisions(number)
            {
                kept += 1;
                let now = app.limiter.now();
                let _ =
                    app.refusals.note(now, Door::Resp.name(), &decisions, || waiting.asked(input));
            }
        }
        // Whoever goes on without asking keeps no rules that were replaced meanwhile.
        batch.clear();
        self.waiting.clear();
    }
}

impl Waiting {
    /// Who asked, for who asks why it was refused.
    fn asked(&self, input: &[u8]) -> Asked {
        let mut command = Command::default();
        let (from, count) = self.key;
        let _ = parse(&input[self.at..], Bounds::FULL, &mut command);
        let key = command.iter().skip(from).take(count);
        let key = key.map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        Asked { key, ..Asked::default() }
    }
}

/// Some arguments of a command.
type Args<'c, 'b> = &'c [&'b [u8]];

/// The key of so many parts, and what follows it.
pub(super) fn split<'c, 'b>(
    command: &'c Command<'b>,
    parts: usize,
) -> Result<(Args<'c, 'b>, Args<'c, 'b>), Wrong> {
    let rest = command.get(CHECK_KEY..).unwrap_or_default();
    rest.split_at_checked(parts).ok_or_else(|| {
        let given = rest.len();
        format!(
            "the rule counts by {parts} parts, and the key has {given}; send one after the other"
        )
    })
}
