//! What a request costs, as Envoy says it: `hits_addend`.
//!
//! Invariant: what is counted is looked up in the program, not in what Envoy shows.

use super::bootstrap::{Bootstrap, example};
use super::edge::Edge;
use super::{BY_FIELDS, HEAD};
use crate::site::wait_until;

/// Descriptors of one user with other numbers of hits.
const ADDENDS: &str = "[
    {actions: [{request_headers: {header_name: x-five, descriptor_key: user}}], hits_addend: {number: 5}},
    {actions: [{request_headers: {header_name: x-none, descriptor_key: user}}], hits_addend: {number: 0}},
    {actions: [{request_headers: {header_name: x-sized, descriptor_key: user}}],
        hits_addend: {format: '%REQ(x-size)%'}}]";

const RULES: &str = "rules: [{id: user, domain: edge, key: 'descriptor:user', limit: 12/day}]\n";

/// Goal: a descriptor takes as many units as Envoy says, as a number or by a format, and what does not fit takes none.
/// Method: 12 units, taken by 5, by the number in a header field, and to the last one.
#[test]
fn a_descriptor_takes_as_many_units_as_envoy_says() {
    let edge = Edge::new(&format!("{HEAD}{RULES}"), &Bootstrap::describing(ADDENDS));
    assert_eq!(edge.passing(1, "X-Five: a\r\n"), 1);
    assert_eq!(edge.left("user", "a"), 7);
    assert_eq!(edge.passing(1, "X-Sized: a\r\nX-Size: 4\r\n"), 1);
    assert_eq!(edge.left("user", "a"), 3);
    assert_eq!(edge.passing(2, "X-Five: a\r\n"), 0);
    assert_eq!(edge.passing(1, "X-Sized: a\r\nX-Size: 4\r\n"), 0);
    assert_eq!(edge.left("user", "a"), 3, "what does not fit takes nothing");
    assert_eq!(edge.passing(1, "X-Sized: a\r\nX-Size: 3\r\n"), 1);
    assert_eq!(edge.left("user", "a"), 0);
}

/// Goal: no hits ask whether something is left, take nothing, and stand for all descriptors of the request.
/// Method: ask often, take all, and ask again: alone, and beside a descriptor that takes.
#[test]
fn no_hits_ask_whether_something_is_left_and_take_nothing() {
    let rules = "rules: [{id: user, domain: edge, key: 'descriptor:user', limit: 10/day}]\n";
    let edge = Edge::new(&format!("{HEAD}{rules}"), &Bootstrap::describing(ADDENDS));
    assert_eq!(edge.passing(15, "X-None: a\r\n"), 15);
    assert_eq!(edge.left("user", "a"), 10);
    assert_eq!(edge.passing(3, "X-Five: a\r\n"), 2);
    assert_eq!(edge.passing(3, "X-None: a\r\n"), 0);
    assert_eq!(edge.passing(1, "X-None: a\r\nX-Five: b\r\n"), 0);
    assert_eq!(edge.left("user", "b"), 10, "who only asked stands for all");
}

/// Goal: tokens of a language model, as `examples/` counts them: the most is taken on the way in, and what was not used
/// comes back when the answer is over; what an answer does not say, or says too high, stays taken.
/// Method: the route of the file, on which answers say what the request does; 1000 units, of which 400 are taken. They
/// are a day's, so that none comes back by itself meanwhile.
#[test]
fn what_an_answer_did_not_use_is_given_back() {
    let route = "- match: {prefix: /v1/chat}\n";
    let says = "response_headers_to_add: [{header: {key: x-total-tokens, value: '%REQ(x-used)%'}}]";
    let says = format!("{route}                          {says}\n");
    let bootstrap = Bootstrap::example().with(route, &says);
    let rules = example("ratekeeper.yaml").replace("limit: 1000/hour", "limit: 1000/day");
    let edge = Edge::new(&rules, &bootstrap);
    let chat = |used: &str| edge.get("/v1/chat", &format!("X-Used: {used}\r\n"));
    let leaves = |left: u64| {
        wait_until(&format!("{left} are left"), || edge.left("tokens", "127.0.0.3") == left);
    };
    let reply = chat("150");
    assert_eq!((reply.status, reply.field("x-ratelimit-remaining")), (200, Some("600")));
    leaves(850);
    assert_eq!(chat("250").status, 200);
    leaves(600);
    assert_eq!(chat("much").status, 200);
    // What would have been given back came before the next question.
    for _ in 0..3 {
        let refused = chat("nothing");
        assert_eq!(refused.status, 429, "{refused:?}");
        assert_eq!(edge.left("tokens", "127.0.0.3"), 200);
    }
    assert_eq!(edge.upstream.targets("/v1/chat"), 3);
}

/// Goal: a limit that comes with a descriptor is in the place of the rules of its domain.
/// Method: Envoy takes it from metadata that another filter has written; the rule alone would allow one.
#[test]
fn a_limit_that_comes_with_a_descriptor_is_the_limit() {
    let rules = "rules: [{id: user, domain: edge, key: 'descriptor:user', limit: 1/day}]\n";
    let limits = BY_FIELDS.replace(
        "descriptor_key: user}}]",
        "descriptor_key: user}}], limit: {dynamic_metadata: {metadata_key: {key: own, path: [{key: limit}]}}}",
    );
    let filters = "http_filters:\n";
    let sets = "                  - name: envoy.filters.http.set_metadata
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config
                      metadata: [{metadata_namespace: own, value: {limit: {requests_per_unit: 3, unit: DAY}}}]\n";
    let bootstrap = Bootstrap::describing(&limits).with(filters, &format!("{filters}{sets}"));
    let edge = Edge::new(&format!("{HEAD}{rules}"), &bootstrap);
    assert_eq!(edge.passing(5, "X-User: a\r\n"), 3);
    assert_eq!(edge.passing(5, "X-User: b\r\n"), 3, "who has other entries has a limit of its own");
    assert_eq!(edge.left("user", "a"), 1);
}
