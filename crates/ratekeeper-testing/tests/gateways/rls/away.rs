//! The program away, and how Envoy finds out whether it is well.
//!
//! Invariant: nothing is decided here, so what Envoy does is what its file says.

use super::bootstrap::{Bootstrap, example};
use super::edge::Edge;
use crate::site::wait_until;

/// How often Envoy is asked while nobody answers it.
const UNASKED: usize = 5;

/// Asks while the program is away; then it is asked again.
fn without_the_program(bootstrap: &Bootstrap, status: u16) {
    let mut edge = Edge::new(&example("ratekeeper.yaml"), bootstrap);
    edge.stop();
    for _ in 0..UNASKED {
        let reply = edge.get("/away", "");
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(reply.field("ratelimit"), None, "no figures without a decision");
    }
    let reached = if status == 200 { UNASKED } else { 0 };
    assert_eq!(edge.upstream.targets("/away"), reached);
    edge.start();
    wait_until("the program is asked again", || edge.get("/back", "").status == 429);
}

/// Goal: with the file as it is, requests pass while the program is away, and it is asked again when it is back.
/// Method: end it, ask, start it, and ask until it refuses.
#[test]
fn while_the_program_is_away_requests_pass() {
    without_the_program(&Bootstrap::example(), 200);
}

/// Goal: with the change that the file names, they are refused, with the status that it says.
/// Method: the same.
#[test]
fn while_the_program_is_away_requests_are_refused_if_the_file_says_so() {
    without_the_program(&Bootstrap::example().closed(), 503);
}

/// Goal: Envoy's active health check over `grpc.health.v1` finds the program well while it serves, and not when it
/// is gone.
/// Method: the health check of the file; what Envoy's administration says of the cluster, before, while and after the
/// program is away.
#[test]
fn the_health_check_of_envoy_is_green_while_the_program_serves() {
    let mut edge = Edge::new(&example("ratekeeper.yaml"), &Bootstrap::example());
    wait_until("Envoy finds it well", || edge.health() == "healthy");
    edge.stop();
    wait_until("Envoy finds it gone", || edge.health() == "/failed_active_hc");
    edge.start();
    wait_until("Envoy finds it well again", || edge.health() == "healthy");
}

/// Goal: a health check for a service that is not here fails: what is green above is an answer.
/// Method: the same check by another name.
#[test]
fn a_health_check_for_another_service_is_not_green() {
    let (own, other) =
        ("service_name: envoy.service.ratelimit.v3.RateLimitService", "service_name: other");
    let edge = Edge::new(&example("ratekeeper.yaml"), &Bootstrap::example().with(own, other));
    wait_until("Envoy finds it not well", || edge.health() == "/failed_active_hc");
    assert_eq!(
        edge.get("/", "").field("x-ratelimit-remaining"),
        Some("2"),
        "the only one is asked all the same"
    );
}
