//! Calls about whole sets of rules: each has a place, and an answer in time.
//!
//! Invariant: an answer says what is known. A change that takes longer than its caller can be kept waiting is made
//! to its end, and the answer says that it is being made.

use super::refusal::{Refusal, told};
use crate::app::App;
use crate::problem::Problem;
use crate::reload::{self, Accepted, BODY, Draft, Refused, Release, fault};
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a call may take before it is answered with what is known: less than the server lets any request take.
const PATIENCE: Duration = Duration::from_secs(25);

/// A call's place.
pub(super) struct Place {
    own: reload::Place,
    until: Instant,
}

impl FromRequestParts<App> for Place {
    type Rejection = Refusal;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Place, Refusal> {
        let own = app.rulebook.place().ok_or(Refusal::Busy(
            "as many calls about rules are under way as may be; nothing has changed, try again",
        ))?;
        Ok(Place { own, until: Instant::now() + PATIENCE })
    }
}

impl Place {
    /// Does what takes long, and changes nothing.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        match timeout_at(self.until, self.own.work(work)).await {
            Ok(Some(done)) => done,
            Ok(None) => {
                let detail = "this failed, by a fault of the server's; nothing has changed, and its log says more";
                Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail).into())
            }
            Err(_) => Err(Refusal::Busy("this takes too long; nothing has changed, try again")),
        }
    }

    /// Makes a change.
    pub(super) async fn change(
        &self,
        app: &App,
        seen: impl Fn(u64) -> bool + Send + 'static,
        make: impl Fn(&Release) -> Result<Draft, Refused> + Send + Sync + 'static,
    ) -> Result<Accepted, Refused> {
        let (book, own) = (Arc::clone(&app.rulebook), self.own.clone());
        let make = move |live: &Release| {
            // With the change, which goes on when its caller is gone.
            let _taken = &own;
            make(live)
        };
        let mut change = Box::pin(async move { book.change(seen, make).await });
        if let Ok(made) = timeout_at(self.until, &mut change).await {
            if made.is_ok() {
                app.rulebook.call_mended();
            }
            return made;
        }
        let book = Arc::clone(&app.rulebook);
        tokio::spawn(async move {
            match change.await {
                Ok(_) => book.call_mended(),
                Err(Refused::Faults(faults)) => book.call_failed(&faults),
                Err(Refused::Unsure(why)) => {
                    tracing::warn!("a change may have been made or not: {why}");
                }
                Err(refused) => {
                    let (_, text) = told(&refused);
                    book.call_failed(&fault(BODY, &text, "look at what is live"));
                }
            }
        });
        Err(Refused::Unfinished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Bounds;
    use crate::{app, demo};
    use axum::body::to_bytes;
    use axum::response::IntoResponse;
    use ratekeeper::Limiter;
    use ratekeeper::rule::file::Source;

    fn draft(text: &'static str) -> impl Fn(&Release) -> Result<Draft, Refused> {
        move |_| {
            Ok(Draft {
                source: reload::Origin::Api,
                by: None,
                change: "rules".into(),
                sources: vec![Source { name: BODY.into(), text: text.into() }],
                overrides: Vec::new(),
                trusted: false,
                needs_last: false,
            })
        }
    }

    /// Goal: a change that takes longer than its caller can wait is answered, in time, with what is known; then it is
    /// made, or its fault is told where the answer said.
    /// Method: hold up a good change and a bad one until they were answered, on a clock that is moved by hand.
    #[test]
    fn a_change_that_takes_long_is_made_and_told() {
        assert!(PATIENCE < Bounds::default().request, "else nobody hears of it");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let limiter = demo::rules(Limiter::memory()).unwrap().build();
            let app = App::from(app::Parts::new(limiter, Bounds::default().body));
            for (text, fault) in
                [("rules: [{id: api, limit: 1/day}]", false), ("rules: [{id: api}]", true)]
            {
                let held = app.rulebook.hold_changes().await;
                let (mut parts, ()) = axum::http::Request::new(()).into_parts();
                let place = Place::from_request_parts(&mut parts, &app).await.ok().unwrap();
                let answer = place.change(&app, |_| true, draft(text)).await.map_err(Refusal::from);
                let answer = answer.err().unwrap().into_response();
                assert_eq!(answer.status(), StatusCode::ACCEPTED);
                let body = to_bytes(answer.into_body(), 10_000).await.unwrap();
                assert!(String::from_utf8_lossy(&body).contains("still being made"));
                assert_eq!(app.limiter.version(), 1 + u64::from(fault));
                drop(held);
                let done = || match fault {
                    false => app.limiter.version() == 2,
                    true => app.rulebook.last_fault().is_some(),
                };
                for _ in 0..10_000 {
                    if done() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                assert!(done(), "{text}");
            }
        });
    }

    /// Goal: a change has its place until it is made, also if its caller has gone.
    /// Method: begin a change that is held up, drop its caller, and count the places that are left, before and after.
    #[test]
    fn a_change_keeps_its_place_when_its_caller_is_gone() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let limiter = demo::rules(Limiter::memory()).unwrap().build();
            let app = App::from(app::Parts::new(limiter, Bounds::default().body));
            let left = || std::iter::from_fn(|| app.rulebook.place()).collect::<Vec<_>>().len();
            let held = app.rulebook.hold_changes().await;
            let (mut parts, ()) = axum::http::Request::new(()).into_parts();
            let place = Place::from_request_parts(&mut parts, &app).await.ok().unwrap();
            let text = "rules: [{id: api, limit: 1/day}]";
            let caller = place.change(&app, |_| true, draft(text));
            assert!(tokio::time::timeout(Duration::ZERO, caller).await.is_err(), "it is held up");
            drop(place);
            assert_eq!(left(), reload::CALLS_MAX - 1);
            drop(held);
            let mut looks = 0;
            while left() < reload::CALLS_MAX && looks < 10_000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                looks += 1;
            }
            assert_eq!((left(), app.limiter.version()), (reload::CALLS_MAX, 2));
        });
    }
}
