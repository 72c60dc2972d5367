//! Permits live until the body of the answer has ended, however it ends.
//!
//! Invariant: at any time, what is left is the limit less those that are under way.

use super::endings::{Ending, Ends};
use super::{CALLER, by, limiter, now, rule, set};
use http::{Request, Response};
use http_body_util::BodyExt;
use proptest::prelude::*;
use ratekeeper::layer::{Answer, Body, Peer, RateLimit, RateLimitLayer};
use ratekeeper::rule::{KeyKind, RuleSpec};
use ratekeeper::{Limit, Limiter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tower::{Layer, Service};

const MOST: u64 = 3;

type Answered = Result<Response<Body<super::endings::Pieces>>, &'static str>;

/// A request that is under way.
enum Under {
    Way(Pin<Box<Answer<Ends, Ending>>>),
    Body(Ending, Pin<Box<Body<super::endings::Pieces>>>),
}

/// A service behind a layer with permits, beside whatever else.
struct Seats {
    limiter: Limiter,
    service: RateLimit<Ends>,
}

impl Seats {
    fn new(others: Vec<RuleSpec>) -> Seats {
        let seats = by(KeyKind::Global, rule("seats", Limit::concurrent(MOST)));
        let (limiter, _) = limiter(set([seats].into_iter().chain(others)));
        let service = RateLimitLayer::new(limiter.clone()).layer(Ends);
        Seats { limiter, service }
    }

    fn left(&self) -> u64 {
        let request = ratekeeper::Request {
            cost: Some(0),
            peer: Some(CALLER.parse().unwrap()),
            ..ratekeeper::Request::new("GET", "/")
        };
        now(self.limiter.check(&request)).unwrap().rules()[0].remaining()
    }

    fn call(&mut self, ending: Ending) -> Pin<Box<Answer<Ends, Ending>>> {
        let peer = Peer(CALLER.parse().unwrap());
        Box::pin(self.service.call(Request::builder().extension(peer).body(ending).unwrap()))
    }

    /// Asks, and whether it was refused; what is then under way, if anything.
    fn begin(&mut self, ending: Ending) -> (bool, Option<Under>) {
        let begun = catch_unwind(AssertUnwindSafe(|| {
            let mut answer = self.call(ending);
            match poll(answer.as_mut()) {
                Poll::Ready(answered) => Ok(answered),
                Poll::Pending => Err(answer),
            }
        }));
        match begun {
            Ok(Ok(Ok(response))) if response.status() == 429 => (true, None),
            Ok(Ok(Ok(response))) => {
                (false, Some(Under::Body(ending, Box::pin(response.into_body()))))
            }
            Ok(Err(answer)) => (false, Some(Under::Way(answer))),
            // Failed, or panicked.
            Ok(Ok(Err(_))) | Err(_) => (false, None),
        }
    }
}

fn poll(answer: Pin<&mut Answer<Ends, Ending>>) -> Poll<Answered> {
    answer.poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets it end as it does.
fn end(under: Under) {
    let (ending, mut body) = match under {
        Under::Way(answer) => return drop(answer),
        Under::Body(ending, body) => (ending, body),
    };
    let frame = |body: &mut Pin<Box<Body<_>>>| now(body.frame());
    match ending {
        Ending::Known | Ending::Unknown | Ending::Trailers | Ending::Empty => {
            while frame(&mut body).transpose().unwrap().is_some() {}
        }
        Ending::HalfRead => assert!(frame(&mut body).unwrap().is_ok()),
        Ending::BodyFails => {
            assert!(frame(&mut body).unwrap().is_ok());
            assert!(frame(&mut body).unwrap().is_err());
        }
        Ending::BodyPanics => {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(frame(&mut body)))).is_err());
        }
        _ => {}
    }
}

/// Goal: whichever way an answer ends, its permit is held until then, and no longer.
/// Method: each ending by itself; what is left before, while it is under way, and after.
#[test]
fn a_permit_is_held_until_the_end() {
    for ending in Ending::ALL {
        let mut seats = Seats::new(vec![]);
        let (refused, under) = seats.begin(ending);
        assert!(!refused);
        let held = u64::from(ending.lasts());
        assert_eq!(seats.left(), MOST - held, "{ending:?} is under way");
        under.into_iter().for_each(end);
        assert_eq!(seats.left(), MOST, "{ending:?} is over");
    }
}

/// Goal: a permit is given back with the last frame, not with the body: servers keep bodies a while.
/// Method: read to the end, or to the error, and keep the body.
#[test]
fn a_body_that_ended_holds_nothing_though_it_is_kept() {
    for (ending, frames) in
        [(Ending::Known, 2), (Ending::Unknown, 3), (Ending::Trailers, 3), (Ending::BodyFails, 2)]
    {
        let mut seats = Seats::new(vec![]);
        let (_, Some(Under::Body(_, mut body))) = seats.begin(ending) else { unreachable!() };
        for nth in 1..=frames {
            assert_eq!(seats.left(), MOST - 1, "{ending:?} before frame {nth}");
            let _ = now(body.frame());
        }
        assert_eq!(seats.left(), MOST, "{ending:?}");
        drop(body);
        assert_eq!(seats.left(), MOST, "given back once");
    }
}

/// Goal: a service that fails holds nothing, though the future that said so is kept.
/// Method: keep it.
#[test]
fn a_failure_holds_nothing_though_the_future_is_kept() {
    let mut seats = Seats::new(vec![]);
    let mut answer = seats.call(Ending::Fails);
    assert_eq!(seats.left(), MOST - 1);
    assert!(matches!(poll(answer.as_mut()), Poll::Ready(Err("meant"))));
    assert_eq!(seats.left(), MOST);
    drop(answer);
    assert_eq!(seats.left(), MOST);
}

/// Goal: a future that is dropped before it was ever polled holds nothing either.
/// Method: call, and drop.
#[test]
fn a_future_that_nobody_polls_holds_nothing() {
    let mut seats = Seats::new(vec![]);
    for ending in Ending::ALL.into_iter().filter(|ending| *ending != Ending::CallPanics) {
        let answer = seats.call(ending);
        assert_eq!(seats.left(), MOST - 1);
        drop(answer);
        assert_eq!(seats.left(), MOST, "{ending:?}");
    }
}

/// Goal: who is refused by another rule holds no permit.
/// Method: one request a minute beside the permits.
#[test]
fn who_is_refused_by_another_rule_holds_nothing() {
    let mut seats = Seats::new(vec![rule("api", "1/minute")]);
    let (refused, under) = seats.begin(Ending::Leaves);
    assert!(!refused && under.is_some());
    assert_eq!((seats.begin(Ending::Known).0, seats.left()), (true, MOST - 1));
    drop(under);
    assert_eq!(seats.left(), MOST);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Begin(Ending),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop::sample::select(&Ending::ALL[..]).prop_map(Step::Begin),
        2 => any::<usize>().prop_map(Step::End),
    ]
}

proptest! {
    /// Goal: in any order of beginnings and endings, as many are admitted at a time as there are
    /// permits: never one more, and never one fewer.
    /// Method: any steps, with and without other rules of the same request; count who is under way.
    #[test]
    fn as_many_are_under_way_as_there_are_permits(
        steps in prop::collection::vec(step(), 1..60),
        beside in any::<bool>(),
    ) {
        let settles = RuleSpec { settle: Some("x-used".into()), ..rule("used", "1000/minute") };
        let others = [rule("api", "1000/minute"), settles];
        let mut seats = Seats::new(if beside { others.to_vec() } else { vec![] });
        let mut under: Vec<Under> = Vec::new();
        for step in steps {
            match step {
                Step::Begin(ending) => {
                    let full = under.len() as u64 == MOST;
                    let (refused, more) = seats.begin(ending);
                    prop_assert_eq!(refused, full);
                    let empty = |own: &Under| matches!(own, Under::Body(Ending::Empty, _));
                    under.extend(more.filter(|own| !empty(own)));
                }
                Step::End(_) if under.is_empty() => {}
                Step::End(nth) => end(under.swap_remove(nth % under.len())),
            }
            prop_assert_eq!(seats.left(), MOST - under.len() as u64);
        }
        under.clear();
        prop_assert_eq!(seats.left(), MOST);
    }
}
