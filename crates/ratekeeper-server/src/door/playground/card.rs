//! A card: an algorithm and its numbers, as a visitor has set them.
//!
//! Invariant: a card that was read is a limit that a rule file could have, small enough to be drawn.

use crate::door::field::{Place, bad_field, fields, needed, short};
use crate::door::written::{self, Written};
use crate::problem::Problem;
use ratekeeper::{Algorithm, Limit, LimitBuilder, Limiter, Rule};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// Largest amount and burst, and longest time: what was tried is forgotten soon.
const UNITS_MAX: u64 = 1_000;
const PERIOD_MAX: Duration = Duration::from_secs(300);

/// Longest text of a limit or a name.
const TEXT_MAX: usize = 64;

const EXAMPLE: &str =
    r#"{"algorithm":"leaky_bucket","mode":"shaping","limit":"1/second burst 10"}"#;

/// An algorithm and its numbers.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Card {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    algorithm: &'static str,
    mode: &'static str,
    /// As rule files have it.
    #[serde(rename = "limit")]
    text: String,
    #[serde(skip)]
    limit: Limit,
}

impl Card {
    /// A card of the demo.
    pub(super) fn of(name: &'static str, limit: LimitBuilder) -> Option<Card> {
        Some(Card { name: Some(name), ..Card::new(limit.build().ok()?)? })
    }

    fn new(limit: Limit) -> Option<Card> {
        let mode = if limit.is_shaping() { "shaping" } else { "policing" };
        let (algorithm, text) = (limit.algorithm()?.name(), limit.to_string());
        Some(Card { name: None, algorithm, mode, text, limit })
    }

    /// The card that a body has at this place.
    pub(super) fn read(value: &RawValue, at: &str) -> Result<Card, Problem> {
        let Written::Object(found) = written::parse(value.get(), EXAMPLE)? else {
            return Err(bad_field(at, &format!("is not an object; send one such as {EXAMPLE}")));
        };
        let [algorithm, mode, limit, name] =
            fields(found, ["algorithm", "mode", "limit", "name"], Place::default())?;
        let at = |name: &str| format!("{at}.{name}");
        let of = |value, name: &str, repair: &str| {
            short(needed(value, at(name), repair)?, at(name), TEXT_MAX, repair)
        };
        // A card may come back as it was told.
        name.map(|name| of(Some(name), "name", "send a name, or none")).transpose()?;
        let algorithm = of(algorithm, "algorithm", "send the name of an algorithm")?;
        let algorithm: Algorithm = (algorithm.0.parse())
            .map_err(|error| bad_field(at("algorithm"), &format!("is unknown: {error}")))?;
        let shapes = match mode {
            None => false,
            Some(_) => match &*of(mode, "mode", "send `policing` or `shaping`")?.0 {
                "policing" => false,
                "shaping" => true,
                _ => return Err(bad_field(at("mode"), "is neither; send `policing` or `shaping`")),
            },
        };
        let text = of(limit, "limit", "send a limit such as `10/10s`")?;
        let bad = |fault: String| bad_field(at("limit"), &fault);
        let limit: Limit =
            text.0.parse().map_err(|error| bad(format!("makes no sense: {error}")))?;
        let limit = shaped(limit, algorithm, shapes).map_err(|error| bad(error.to_string()))?;
        let burst = limit.burst().unwrap_or(u64::MAX).max(limit.amount().unwrap_or(u64::MAX));
        let period = limit.period().unwrap_or(Duration::MAX);
        // A bucket takes longer to fill than its period, if its burst is larger than its amount.
        let times = u32::try_from(burst.div_ceil(limit.amount().unwrap_or(1).max(1)));
        let fills = times.map_or(Duration::MAX, |times| period.saturating_mul(times.max(1)));
        if burst > UNITS_MAX || fills > PERIOD_MAX {
            let bounds = format!("at most {UNITS_MAX} units, all back within 5 minutes");
            return Err(bad(format!("is too large for the playground; send {bounds}")));
        }
        Card::new(limit).ok_or_else(|| bad("is no rate; send one such as `10/10s`".into()))
    }

    /// The rule that this card is. It has the algorithm's name, which callers see in header fields.
    pub(super) fn rule(&self, limiter: &Limiter) -> Result<Rule, Problem> {
        let fault = |error| bad_field("limit", &format!("does not fit: {error}; send another"));
        limiter.given(self.algorithm, self.limit).map_err(fault)
    }

    /// Whether both have one bucket: windows count under one name whatever their amount.
    pub(super) fn shares(&self, other: &Card) -> bool {
        let is_bucket = self.limit.algorithm().is_some_and(Algorithm::is_bucket);
        self.keeps(other) && (!is_bucket || self.limit.amount() == other.limit.amount())
    }

    /// Whether what was used under another card stays used under this one.
    pub(super) fn keeps(&self, other: &Card) -> bool {
        (self.algorithm, self.mode, self.limit.period())
            == (other.algorithm, other.mode, other.limit.period())
    }
}

/// The same limit by an algorithm.
fn shaped(
    limit: Limit,
    algorithm: Algorithm,
    shapes: bool,
) -> Result<Limit, ratekeeper::LimitError> {
    let limit = limit.with_algorithm(algorithm)?;
    let (Some(amount), Some(period), true) = (limit.amount(), limit.period(), shapes) else {
        return Ok(limit);
    };
    let burst = limit.burst().unwrap_or(amount);
    Limit::per(amount, period).burst(burst).algorithm(algorithm).shaping().build()
}
