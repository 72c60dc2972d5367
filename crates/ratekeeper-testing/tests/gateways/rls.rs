//! Real Envoy that asks the real program by its rate limit service, set up by `examples/envoy/ratelimit.yaml`.
//!
//! Invariant: each test has its own Envoy, program, application and store, on free ports, and ends them.

mod away;
mod bootstrap;
mod edge;
mod hits;
mod live;
mod page;
mod store;

use crate::is_refusal;
use bootstrap::{Bootstrap, example};
use edge::Edge;

/// What every rule file here begins with.
const HEAD: &str = "listen: {api: 127.0.0.1:8080, grpc: 127.0.0.1:8081}\n";

/// A descriptor for each of two header fields of a request, where it has them.
const BY_FIELDS: &str =
    "[{actions: [{request_headers: {header_name: x-user, descriptor_key: user}}]},
    {actions: [{request_headers: {header_name: x-org, descriptor_key: org}}]}]";

/// Goal: with the files in `examples/`, what is allowed reaches the application with the figures, what is refused does
/// not, and the client sees the refusal with its body and its fields.
/// Method: four requests of one address under a limit of three, and one of another address.
#[test]
fn what_is_allowed_passes_and_what_is_refused_is_told_by_the_problem_and_its_fields() {
    let edge = Edge::new(&example("ratekeeper.yaml"), &Bootstrap::example());
    for number in 0..3 {
        let reply = edge.get("/orders", &format!("X-Forwarded-For: 6.6.6.{number}\r\n"));
        assert_eq!((reply.status, &*reply.body), (200, "GET /orders"), "{reply:?}");
        assert_eq!(reply.field("x-ratelimit-remaining"), Some(&*(2 - number).to_string()));
        assert_eq!(
            reply.field("ratelimit-policy"),
            Some(r#""address";q=3;w=60, "everyone";q=1000;w=1"#)
        );
        assert_eq!(reply.field("retry-after"), None);
        assert_eq!(reply.field("x-envoy-ratelimited"), None);
    }
    let refused = edge.get("/orders", "");
    is_refusal(&refused, "address");
    assert_eq!(refused.field("x-envoy-ratelimited"), Some("true"));
    assert_eq!(edge.upstream.targets("/orders"), 3);
    assert_eq!(edge.get_from(4, "/orders", "").status, 200, "another address has its own bucket");
    let login = || edge.get("/login?next=x", "");
    assert_eq!((login().status, login().status), (200, 200));
    is_refusal(&login(), "login");
}

/// Goal: Envoy's own `X-RateLimit-*` come out right: of several descriptors the tightest, in whole seconds; and what
/// its units cannot say is exact in our fields.
/// Method: Envoy writes its fields and we leave ours out; one descriptor, two, and a refusal.
#[test]
fn the_fields_that_envoy_writes_itself_are_those_of_the_tightest_descriptor() {
    let rules = "headers: ietf\nrules:\n\
        - {id: user, domain: edge, key: 'descriptor:user', limit: 5/90s}\n\
        - {id: org, domain: edge, key: 'descriptor:org', limit: 3/hour}\n";
    let bootstrap =
        Bootstrap::describing(BY_FIELDS).setting("enable_x_ratelimit_headers: DRAFT_VERSION_03");
    let edge = Edge::new(&format!("{HEAD}{rules}"), &bootstrap);
    let figures = |fields: &str, status: u16, limit: &str, left: &str, reset: u64| {
        let reply = edge.get("/", fields);
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(reply.field("x-ratelimit-limit"), Some(limit), "{reply:?}");
        assert_eq!(reply.field("x-ratelimit-remaining"), Some(left), "{reply:?}");
        let told: u64 = reply.field("x-ratelimit-reset").unwrap().parse().unwrap();
        assert!(told <= reset && told + 15 > reset, "{told} is not {reset}, or some seconds later");
        reply
    };
    // A unit comes back after 18 seconds, and after 20 minutes. The nearest unit to 90 seconds is a minute.
    let (user, both) = ("X-User: a\r\n", "X-User: a\r\nX-Org: o\r\n");
    let all = r#"3, 5;w=60;name="user", 3;w=3600;name="org""#;
    figures(user, 200, r#"5, 5;w=60;name="user""#, "4", 18);
    figures(both, 200, all, "2", 1_200);
    let reply = figures(both, 200, all, "1", 2_400);
    assert_eq!(reply.field("ratelimit-policy"), Some(r#""user";q=5;w=90, "org";q=3;w=3600"#));
    figures(both, 200, all, "0", 3_600);
    let refused = figures(both, 429, all, "0", 3_600);
    let retry: u64 = refused.field("retry-after").unwrap().parse().unwrap();
    assert!((1_150..=1_200).contains(&retry), "{refused:?}");
}

/// Goal: several descriptors of a request are one decision: if one refuses, none of the others is charged.
/// Method: a user with five units of an organisation with two asks five times; then the user alone has three left.
#[test]
fn a_refusal_by_one_descriptor_charges_none_of_the_others() {
    let rules = "rules:\n\
        - {id: user, domain: edge, key: 'descriptor:user', limit: 5/day}\n\
        - {id: org, domain: edge, key: 'descriptor:org', limit: 2/day}\n";
    let edge = Edge::new(&format!("{HEAD}{rules}"), &Bootstrap::describing(BY_FIELDS));
    assert_eq!(edge.passing(5, "X-User: a\r\nX-Org: o\r\n"), 2);
    assert_eq!((edge.left("user", "a"), edge.left("org", "o")), (3, 0));
    assert_eq!(edge.passing(5, "X-User: a\r\n"), 3);
    assert_eq!(edge.upstream.targets("/"), 5);
}
