//! Permits of connections that were upgraded.
//!
//! Invariant: at any time, what is left is the limit less those that are held.

use super::{CALLER, Door, Inner, by, get, limiter, now, rule, set};
use http::{Response, StatusCode};
use ratekeeper::layer::{Held, RateLimitLayer};
use ratekeeper::rule::KeyKind;
use ratekeeper::{Limit, Limiter};
use tower::ServiceExt;

const MOST: u64 = 3;

/// A door before a service that answers with this status and no body.
fn seats(status: StatusCode) -> (Limiter, Door) {
    let seats = by(KeyKind::Global, rule("seats", Limit::concurrent(MOST)));
    let (limiter, _) = limiter(set([seats]));
    let inner = Inner::new(move |_| {
        Response::builder().status(status).body(Default::default()).expect("an answer")
    });
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    (limiter, door)
}

fn left(limiter: &Limiter) -> u64 {
    let request = ratekeeper::Request {
        cost: Some(0),
        peer: Some(CALLER.parse().unwrap()),
        ..ratekeeper::Request::new("GET", "/")
    };
    now(limiter.check(&request)).unwrap().rules()[0].remaining()
}

/// Goal: whoever upgrades holds its permit until it lets go, and no longer.
/// Method: an answer with 101; what is left with the answer, with its extension alone, with a clone of
/// it, and after.
#[test]
fn an_upgrade_holds_its_permit() {
    let (limiter, door) = seats(StatusCode::SWITCHING_PROTOCOLS);
    let Ok(mut response) = now(door.service.clone().oneshot(get("/")));
    assert_eq!((response.status().as_u16(), left(&limiter)), (101, MOST - 1));
    let held: Held = response.extensions_mut().remove().unwrap();
    drop(response);
    assert_eq!(left(&limiter), MOST - 1, "the answer is gone, the connection is not");
    let clone = held.clone();
    drop(held);
    assert_eq!((left(&limiter), format!("{clone:?}")), (MOST - 1, "Held".to_owned()));
    drop(clone);
    assert_eq!(left(&limiter), MOST, "given back once");
}

/// Goal: as many connections are upgraded at a time as there are permits.
/// Method: one more than that, and one after another has ended.
#[test]
fn upgrades_are_limited() {
    let (limiter, door) = seats(StatusCode::SWITCHING_PROTOCOLS);
    let upgrade = || {
        let Ok(mut response) = now(door.service.clone().oneshot(get("/")));
        (response.status().as_u16(), response.extensions_mut().remove::<Held>())
    };
    let mut held: Vec<_> = (0..MOST).map(|_| upgrade()).collect();
    assert!(held.iter().all(|(status, held)| *status == 101 && held.is_some()), "{held:?}");
    let (status, none) = upgrade();
    assert_eq!((status, none.is_none(), left(&limiter)), (429, true, 0));
    held.pop();
    assert_eq!(upgrade().0, 101);
}

/// Goal: where nobody takes the connection over, permits end with the answer; and other answers, or
/// such without permits, have nothing of this.
/// Method: each of them.
#[test]
fn nothing_is_held_that_nobody_holds() {
    let (limiter, door) = seats(StatusCode::SWITCHING_PROTOCOLS);
    drop(now(door.service.clone().oneshot(get("/"))));
    assert_eq!(left(&limiter), MOST);
    let (limiter, door) = seats(StatusCode::NO_CONTENT);
    let Ok(response) = now(door.service.clone().oneshot(get("/")));
    assert!(response.extensions().get::<Held>().is_none());
    assert_eq!(left(&limiter), MOST, "an answer without a body has ended");
    let plain = super::limiter(set([rule("api", "9/minute")])).0;
    let inner = Inner::new(|_| {
        let upgraded = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        upgraded.body(Default::default()).expect("an answer")
    });
    let door = Door::before(&RateLimitLayer::new(plain), inner);
    let Ok(response) = now(door.service.clone().oneshot(get("/")));
    assert!(response.extensions().get::<Held>().is_none());
}
