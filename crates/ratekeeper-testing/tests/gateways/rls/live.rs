//! Rules that change, and rules that are only tried, under requests that Envoy asks about.
//!
//! Invariant: every request is allowed or refused, whatever changes meanwhile.

use super::bootstrap::Bootstrap;
use super::edge::Edge;
use super::{BY_FIELDS, HEAD};
use crate::site::wait_until;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Goal: a rule in shadow refuses nobody, shows nobody its figures, and counts whom it would have refused.
/// Method: five requests under such a limit of one, beside one that is enforced; the metrics.
#[test]
fn a_rule_in_shadow_refuses_nobody_and_counts_whom_it_would_have() {
    let rules = "rules:\n\
        - {id: live, domain: edge, key: 'descriptor:user', limit: 100/day}\n\
        - {id: tried, domain: edge, key: 'descriptor:user', limit: 1/day, rollout: shadow}\n";
    let edge = Edge::new(&format!("{HEAD}{rules}"), &Bootstrap::describing(BY_FIELDS));
    for left in (95..100).rev() {
        let reply = edge.get("/", "X-User: a\r\n");
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.field("ratelimit-policy"), Some(r#""live";q=100;w=86400"#));
        assert_eq!(reply.field("x-ratelimit-remaining"), Some(&*left.to_string()));
    }
    wait_until("what would have been refused is counted", || {
        edge.metric(r#"ratekeeper_shadow_refused_total{rule="tried"}"#).as_deref() == Some("4")
    });
}

/// Goal: a release while requests run fails none of them, and its limit holds, to the unit.
/// Method: clients ask on and on under a limit of 20 a day; when it refuses, 50 a day are released; in all 50 pass.
#[test]
fn a_release_under_traffic_fails_no_request_and_its_limit_holds() {
    let rules = |limit: &str| {
        format!(
            "{HEAD}rules: [{{id: user, domain: edge, key: 'descriptor:user', limit: {limit}}}]\n"
        )
    };
    let edge = Edge::new(&rules("20/day"), &Bootstrap::describing(BY_FIELDS).closed());
    let (passed, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (over, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let count = match edge.get("/", "X-User: a\r\n").status {
                        200 => &passed,
                        429 => &refused,
                        _ => &failed,
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Who waits here ends the others, whatever becomes of it.
        let over = Over(&over);
        let now = || (passed.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        wait_until("the first limit is used up and refuses", || now().0 == 20 && now().1 > 5);
        edge.apply(&rules("50/day"));
        wait_until("the new limit is used up", || now().0 >= 50);
        let before = now().1;
        wait_until("the new limit refuses", || now().1 > before + 20);
        drop(over);
    });
    assert_eq!((passed.into_inner(), failed.into_inner()), (50, 0));
    assert_eq!(edge.upstream.targets("/"), 50);
}

/// Tells threads to end when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
