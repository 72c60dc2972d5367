//! The playground: every algorithm to be tried out, by visitors who each have buckets of their own.
//!
//! Invariant: nothing that decides real requests is touched or counted: the limiter is another one, which nobody
//! observes, and in memory it has a small cap of its own. Its answers tell what buckets hold, as no other door does.

mod card;
mod told;

use super::answer::json;
use super::field::{bad_field, cost, needed, only, short};
use super::{body, written};
use crate::app::App;
use crate::demo;
use crate::problem::Problem;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use card::Card;
use ratekeeper::{Decision, Limiter, Source};
use serde::Serialize;
use serde_json::json as value;
use serde_json::value::RawValue;
use told::Told;

/// Where the playground is.
pub(crate) const PLAYGROUND_PATH: &str = "/v1/playground";

/// Keys of the playground in memory; one of a visitor's for each card, and more where it is a log.
pub const PLAYGROUND_KEYS: usize = 20_000;

/// Bytes of a visitor's name, which nobody should guess.
const VISITOR_MIN: usize = 8;
const VISITOR_MAX: usize = 64;

/// Most cards of a call.
const CARDS_MAX: usize = 8;

/// Largest cost of a request.
const COST_MAX: u64 = 1_000;

/// Cards of all calls together: enough for some visitors at full speed, too few to fill a store that others need.
const CARDS: &str = "400/second burst 1200";

const EXAMPLE: &str =
    r#"{"visitor":"visitor-1","cards":[{"algorithm":"fixed_window","limit":"10/10s"}],"cost":1}"#;
const EXAMPLE_CHANGE: &str = "{\"visitor\":\"visitor-1\",\
     \"from\":{\"algorithm\":\"fixed_window\",\"limit\":\"10/10s\"},\
     \"to\":{\"algorithm\":\"fixed_window\",\"limit\":\"20/10s\"}}";

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route(PLAYGROUND_PATH, get(begin))
        .route("/v1/playground/send", post(send))
        .route("/v1/playground/state", post(state))
        .route("/v1/playground/reset", post(reset))
        .route("/v1/playground/change", post(change))
}

/// What decides in the playground, and what bounds it.
#[derive(Clone, Debug)]
pub struct Playground {
    limiter: Limiter,
    /// Counts the cards of all calls, in this server's own time.
    bound: Option<Limiter>,
}

impl Playground {
    /// Decided by this limiter, which decides nothing else.
    pub fn new(limiter: Limiter) -> Playground {
        let bound = Limiter::memory().keys(1).rule("cards", CARDS);
        Playground { limiter, bound: bound.ok().map(ratekeeper::limiter::Builder::build) }
    }

    /// That of a server that has its state in memory.
    pub fn in_memory() -> Playground {
        Playground::new(Limiter::memory().keys(PLAYGROUND_KEYS).build())
    }

    /// Lets so many cards pass, or says that there are too many.
    fn admit(&self, cards: usize) -> Result<(), Problem> {
        let rule = self.bound.as_ref().and_then(|bound| bound.rule("cards").ok());
        let cards = u64::try_from(cards).unwrap_or(u64::MAX);
        let asked = rule.and_then(|rule| rule.check("all").cost(cards).try_now().ok());
        match asked.is_some_and(|decision| decision.is_refused()) {
            true => {
                let detail =
                    "the playground is asked more often than it answers; try again in a second";
                Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail))
            }
            false => Ok(()),
        }
    }
}

/// A decision by the bucket that newcomers share is nobody's own.
fn own(decision: Decision) -> Result<Decision, Problem> {
    match decision.source() {
        Source::Overflow => {
            let detail =
                "the playground has as many visitors as it can hold; try again in some minutes";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
        _ => Ok(decision),
    }
}

/// The cards as they begin: those of the demo rules.
async fn begin(State(app): State<App>) -> Result<Response, Problem> {
    let cards = demo::limits().into_iter().filter_map(|(name, limit)| Card::of(name, limit));
    let now = told::seconds(app.playground.limiter.now());
    json(&value!({ "now": now, "cards": cards.collect::<Vec<_>>() }))
}

/// Answers, one for each card.
#[derive(Serialize)]
struct Answers {
    /// The time, by the clock of the store, in seconds since the epoch.
    now: f64,
    answers: Vec<Told>,
}

/// Which visitor asks, about which cards, and at what cost.
struct Asked {
    visitor: String,
    cards: Vec<Card>,
    cost: u64,
}

impl Asked {
    async fn read(app: &App, request: Request) -> Result<Asked, Problem> {
        let text = body::read(request, app.body_timeout).await?;
        let found = only(written::parse(&text, EXAMPLE)?, ["visitor", "cards", "cost"], EXAMPLE)?;
        let [by, cards, units] = found;
        let visitor = visitor(by)?;
        let cards = cards_of(needed(cards, "cards", "send a list of cards")?)?;
        let units = units.map_or(Ok(1), |units| cost(units, "cost", 1))?;
        if units > COST_MAX {
            let fault = format!("is too large; the playground takes at most {COST_MAX}");
            return Err(bad_field("cost", &fault));
        }
        app.playground.admit(cards.len())?;
        Ok(Asked { visitor, cards, cost: units })
    }
}

/// Sends a request to each card: each decides by itself.
async fn send(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let Asked { visitor, cards, cost } = Asked::read(&app, request).await?;
    let mut answers = Vec::with_capacity(cards.len());
    for card in &cards {
        let rule = card.rule(&app.playground.limiter)?;
        let decision = own(rule.check(&*visitor).cost(cost).await)?;
        answers.push(Told::of(&app.playground.limiter, &rule, &visitor, &decision, true).await);
    }
    told(&app, answers)
}

/// What each card holds; nothing is charged.
async fn state(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let Asked { visitor, cards, .. } = Asked::read(&app, request).await?;
    let mut answers = Vec::with_capacity(cards.len());
    for card in &cards {
        answers.push(
            Told::look(&app.playground.limiter, &card.rule(&app.playground.limiter)?, &visitor)
                .await,
        );
    }
    told(&app, answers)
}

/// Forgets what the visitor has used.
async fn reset(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let Asked { visitor, cards, .. } = Asked::read(&app, request).await?;
    let mut answers = Vec::with_capacity(cards.len());
    for card in &cards {
        let rule = card.rule(&app.playground.limiter)?;
        let _ = rule.reset(&*visitor).await;
        answers.push(Told::look(&app.playground.limiter, &rule, &visitor).await);
    }
    told(&app, answers)
}

/// Changes a card, as a release of rules would, and says what became of what was used.
async fn change(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let parsed = written::parse(&text, EXAMPLE_CHANGE)?;
    let [by, from, to] = only(parsed, ["visitor", "from", "to"], EXAMPLE_CHANGE)?;
    let visitor = visitor(by)?;
    let from = Card::read(needed(from, "from", "send the card as it is")?, "from")?;
    let to = Card::read(needed(to, "to", "send the card as it is to be")?, "to")?;
    app.playground.admit(2)?;
    let limiter = &app.playground.limiter;
    let former = from.rule(limiter)?;
    let before = former.peek(&*visitor).await;
    let rule = to.rule(limiter)?;
    let keeps = to.keeps(&from);
    if !to.shares(&from) {
        // What an earlier visit has left there would be told as what was brought over.
        let _ = rule.reset(&*visitor).await;
    }
    let rule = if keeps { rule.after(&former) } else { rule };
    // What was used is brought over by the first look.
    let after = rule.peek(&*visitor).await;
    let words = told::carried(keeps, &before, &after);
    let answer = Told::of(limiter, &rule, &visitor, &after, false).await;
    json(&value!({ "now": answer.now, "kept": keeps, "text": words, "answer": answer }))
}

fn told(app: &App, answers: Vec<Told>) -> Result<Response, Problem> {
    let latest = answers.iter().map(|answer| answer.now).fold(0.0, f64::max);
    let now = if latest > 0.0 { latest } else { told::seconds(app.playground.limiter.now()) };
    json(&Answers { now, answers })
}

fn visitor(value: Option<&RawValue>) -> Result<String, Problem> {
    let repair = "send a name of your own that nobody guesses";
    let value = needed(value, "visitor", repair)?;
    let name = short(value, "visitor", VISITOR_MAX, repair)?.0;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.len() < VISITOR_MIN || !name.bytes().all(plain) {
        let fault = format!(
            "is not a name; send {VISITOR_MIN} to {VISITOR_MAX} letters, digits, `-` or `_`"
        );
        return Err(bad_field("visitor", &fault));
    }
    Ok(name.into_owned())
}

fn cards_of(value: &RawValue) -> Result<Vec<Card>, Problem> {
    let bad = |fault: &str| {
        bad_field("cards", &format!("{fault}; send a list of 1 to {CARDS_MAX} cards"))
    };
    let items: Vec<&RawValue> =
        serde_json::from_str(value.get()).map_err(|_| bad("is not a list"))?;
    if items.is_empty() || items.len() > CARDS_MAX {
        return Err(bad(if items.is_empty() { "is empty" } else { "has too many" }));
    }
    let numbered = items.into_iter().enumerate();
    numbered.map(|(index, item)| Card::read(item, &format!("cards[{index}]"))).collect()
}
