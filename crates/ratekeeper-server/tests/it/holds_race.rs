//! Holds that many callers want at once: each goes to one of them.

use crate::server::Holds;
use crate::server::Server;
use crate::wire::{check, post};
use std::sync::Barrier;
use std::thread::scope;

/// Callers at a time.
const CALLERS: usize = 16;

/// What all callers are told who call at the same moment, each with its number.
fn together<T: Send>(call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(CALLERS);
    let one = |number: usize| {
        start.wait();
        call(number)
    };
    scope(|threads| {
        let one = &one;
        let callers: Vec<_> =
            (0..CALLERS).map(|number| threads.spawn(move || one(number))).collect();
        callers.into_iter().map(|caller| caller.join().expect("a caller ends")).collect()
    })
}

fn left(server: &Server, rule: &str) -> u64 {
    let peek = format!(r#"{{"rule":"{rule}","key":"alice","cost":0}}"#);
    check(server.address, &peek).json()["remaining"].as_u64().expect("a figure")
}

/// Goal: of many who settle or cancel one hold, exactly one does, and its price is the one charged.
/// Method: in each of many rounds half of the callers settle, each at a price of its own, and half
/// cancel; what is left tells who won.
#[test]
fn a_hold_is_settled_or_cancelled_by_exactly_one() {
    let server = Server::more(Holds::default());
    for round in 0..50 {
        let body = r#"{"rule":"tokens","key":"alice","cost":50}"#;
        let hold = post(server.address, "/v1/reserve", body).json()["hold"].clone();
        let told = together(|number| match number % 2 {
            0 => post(server.address, "/v1/cancel", &format!(r#"{{"hold":{hold}}}"#)).body,
            _ => {
                let body = format!(r#"{{"hold":{hold},"cost":{number}}}"#);
                post(server.address, "/v1/settle", &body).body
            }
        });
        let is_true =
            |text: &String| text == r#"{"settled":true}"# || text == r#"{"cancelled":true}"#;
        let winners: Vec<usize> = (0..CALLERS).filter(|number| is_true(&told[*number])).collect();
        assert_eq!(winners.len(), 1, "round {round}: {told:?}");
        let price = if winners[0].is_multiple_of(2) { 0 } else { winners[0] as u64 };
        assert_eq!(left(&server, "tokens"), 100 - price, "round {round}");
        // The next round begins with all of it.
        server.clock.advance(std::time::Duration::from_secs(60));
    }
}

/// Goal: of many who release one permit, exactly one does.
/// Method: a permit for two units beside one that stays; all callers release the first.
#[test]
fn a_permit_is_released_by_exactly_one() {
    let server = Server::more(Holds::default());
    check(server.address, r#"{"rule":"exports","key":"alice"}"#);
    for round in 0..20 {
        let taken = check(server.address, r#"{"rule":"exports","key":"alice","cost":2}"#).json();
        let body = format!(r#"{{"permit":{}}}"#, taken["permit"]);
        let told = together(|_| post(server.address, "/v1/release", &body).body);
        let winners = told.iter().filter(|text| *text == r#"{"released":true}"#).count();
        assert_eq!((winners, left(&server, "exports")), (1, 3), "round {round}");
    }
}

/// Goal: many who reserve at once get no more holds than the bound, and only those are charged.
/// Method: a table of five; count holds and problems, and what is left.
#[test]
fn the_bound_holds_when_many_reserve_at_once() {
    const MOST: usize = 5;
    let server = Server::more(Holds::new(MOST, std::time::Duration::from_secs(600)));
    for round in 0..20 {
        let replies = together(|_| {
            post(server.address, "/v1/reserve", r#"{"rule":"tokens","key":"alice","cost":3}"#)
        });
        let (held, full): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
        assert_eq!(held.len(), MOST, "round {round}");
        assert!(full.iter().all(|reply| reply.status == 503), "round {round}");
        assert_eq!(left(&server, "tokens"), 100 - 3 * MOST as u64, "round {round}");
        for reply in held {
            let body = format!(r#"{{"hold":{}}}"#, reply.json()["hold"]);
            let told = post(server.address, "/v1/cancel", &body).body;
            assert_eq!(told, r#"{"cancelled":true}"#, "round {round}");
        }
        assert_eq!(left(&server, "tokens"), 100, "round {round}");
    }
}
