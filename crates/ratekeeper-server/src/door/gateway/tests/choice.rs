//! Which upstream is asked, and how long one that fails is spared.

use super::super::failure::Failure;
use super::super::routes::Route;
use super::super::upstream::{Connector, Upstream};
use ratekeeper::rule::file::{Auth, Scheme, Timeouts, Upstream as Place};
use std::sync::Arc;
use tokio::sync::Semaphore;

fn upstream(port: u16) -> Arc<Upstream> {
    let place = Place { scheme: Scheme::Http, host: "127.0.0.1".into(), port };
    let connector = Connector::new(&place, None).expect("it needs no certificate");
    Arc::new(Upstream::new(&place, connector, &Arc::new(Semaphore::new(1))))
}

/// Goal: of the upstreams that are well the least busy is asked, equals in turn, and none twice.
/// Method: three upstreams, one busy, then one that cannot be reached.
#[test]
fn the_least_busy_upstream_that_is_well_is_asked() {
    let all: Vec<Arc<Upstream>> = (1..=3).map(upstream).collect();
    let route = Route::new("/**", all.clone(), Auth::None, Timeouts::default());
    let _busy = all[0].enter();
    let chosen = |tried: &[Arc<Upstream>]| {
        let chosen = route.choose(tried)?;
        all.iter().position(|own| Arc::ptr_eq(own, &chosen))
    };
    let mut turns: Vec<Option<usize>> = (0..6).map(|_| chosen(&[])).collect();
    turns.sort_unstable();
    assert_eq!(turns, [Some(1), Some(1), Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(chosen(&all[1..]), Some(0));
    assert_eq!(chosen(&all), None);
    all[1].failed(Failure::Refused, true);
    assert_eq!((0..6).map(|_| chosen(&[])).collect::<Vec<_>>(), [Some(2); 6]);
    assert!(route.has_other(&all[1]) && route.has_other(&all[2]));
}

/// Goal: one that fails to answer is spared after five times in a row, if another is well; the last never is.
/// Method: failures with and without others, and an answer between.
#[test]
fn failures_spare_an_upstream_while_others_are_well() {
    let late = Failure::Late;
    let own = upstream(1);
    for round in 0..20 {
        own.failed(late, false);
        assert!(own.health.is_well(), "{round}");
    }
    let own = upstream(1);
    for _ in 0..4 {
        own.failed(late, true);
    }
    own.answered();
    for _ in 0..4 {
        own.failed(late, true);
        assert!(own.health.is_well());
    }
    own.failed(late, true);
    assert!(!own.health.is_well());
}

/// Goal: one that can be reached and does not answer is tried ever more rarely, by one request each time, until
/// it answers.
/// Method: trials that fail, and one that does not.
#[test]
fn who_never_answers_is_tried_ever_more_rarely() {
    let late = Failure::Late;
    let own = upstream(1);
    (0..5).for_each(|_| own.failed(late, true));
    let mut pauses = vec![own.health.pause(false).as_secs()];
    for _ in 0..7 {
        assert!(!own.health.is_well());
        assert_eq!(own.health.pause(true).as_secs(), 1, "a path tells whether it is well");
        own.health.restore("it");
        own.failed(late, true);
        pauses.push(own.health.pause(false).as_secs());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 32, 32]);
    own.health.restore("it");
    own.answered();
    (0..4).for_each(|_| own.failed(late, true));
    assert!(own.health.is_well(), "it has the same patience as any");
    own.failed(late, true);
    assert_eq!((own.health.is_well(), own.health.pause(false).as_secs()), (false, 1));
}

/// Goal: one that fails many requests at once is spared once for all of them; it is asked where no other is left,
/// and is well again when it answers. One that cannot be reached is not asked.
/// Method: a burst of failures of one of two, then the other is gone.
#[test]
fn who_is_spared_is_the_last_resort() {
    let all: Vec<Arc<Upstream>> = (1..=2).map(upstream).collect();
    let route = Route::new("/**", all.clone(), Auth::None, Timeouts::default());
    let chosen =
        || route.choose(&[]).and_then(|one| all.iter().position(|own| Arc::ptr_eq(own, &one)));
    (0..40).for_each(|_| all[0].failed(Failure::Closed, true));
    assert_eq!((all[0].health.is_well(), all[0].health.pause(false).as_secs()), (false, 1));
    assert_eq!([chosen(), chosen()], [Some(1); 2], "the other is well");
    all[1].failed(Failure::Refused, true);
    assert_eq!([chosen(), chosen()], [Some(0); 2], "it is the last");
    all[0].answered();
    assert!(all[0].health.is_well() && !all[1].health.is_well());
    (0..5).for_each(|_| all[0].failed(Failure::Closed, true));
    assert_eq!(chosen(), Some(0));
    all[0].failed(Failure::Refused, true);
    assert_eq!(chosen(), None, "nothing could come of it");
}
