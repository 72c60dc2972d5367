//! A server whose clock goes back: at a failover, or because somebody set it.
//!
//! Invariant: a bucket counts as used up for at most twice the time that it takes to fill.

use super::run;
use ratekeeper_testing::conformance::{Figures, Place, Stand};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

const SECOND: u64 = 1_000_000;

/// Goal: after the clock went back by an hour, a bucket that was used up is of use again after at most
/// twice the time that it takes to fill, and its key ends when it should.
/// Method: ten a second, used up; an hour back; the first refusal says two seconds at most, less than
/// one unit, and keeps its word to the tick.
#[test]
fn a_clock_that_goes_back_does_not_close_a_bucket_for_long() {
    let server = Server::start(Kind::Redis);
    let stand = Stand::new(&Place::shared("Redis", &server.url(), &[server.port()]), "back");
    run(async {
        for limit in ["10/second", "7/minute burst 3", "10007/minute"] {
            let (_limiter, rule) = stand.one(limit);
            let full = Figures::of(&rule.peek(limit).await).limit;
            let told = Figures::of(&rule.check(limit).cost(full).await);
            let fills = told.reset_after.unwrap();
            stand.clock.set(stand.clock.now() - Duration::from_secs(3_600));
            let refused = Figures::of(&rule.check(limit).await);
            assert!(!refused.allowed && refused.remaining == 0, "{limit}: {refused:?}");
            let wait = refused.retry_after.unwrap();
            assert!(wait > fills && wait <= 2 * fills, "{limit}: {wait} of {fills}");
            for (_, (_, end)) in stand.image() {
                let left = end - server.ask(&["TIME"]).list()[0].number() * 1_000;
                assert!((0..=601_000).contains(&left), "{limit}: ends in {left} ms");
            }
            stand.wait(wait - 1);
            assert_eq!(Figures::of(&rule.check(limit).await).retry_after, Some(1), "{limit}");
            stand.wait(1);
            assert!(rule.check(limit).await.is_allowed(), "{limit}");
            stand.wait(2 * fills);
            assert_eq!(
                Figures::of(&rule.peek(limit).await).remaining,
                full,
                "{limit}: whole again"
            );
            stand.wait(3_600 * SECOND);
        }
    });
    assert_eq!(stand.failures(), Vec::<String>::new());
}
