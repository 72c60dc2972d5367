//! Calls that cannot be decided: an error that says why, and nothing is charged.

use super::{INVALID_ARGUMENT, PATH, RULES, Stand, UNIMPLEMENTED, about, descriptor, framed, user};
use crate::wire::{read_reply, request};
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::RateLimitOverride;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::google::protobuf::UInt64Value;
use prost::Message;
use std::io::Write;

/// Goal: what is beyond a bound, or missing, is told with its place, without the value.
/// Method: one request for each bound, and one at the bound; then what is left.
#[tokio::test]
async fn what_is_beyond_a_bound_is_told() {
    let stand = Stand::by(RULES).await;
    let mut client = stand.client().await;
    let one = |key: &str, value: &str| about("edge", vec![descriptor(&[(key, value)])]);
    let (long, many) = ("x".repeat(1_025), vec![descriptor(&[("user", "a")]); 33]);
    let mut hits = user("a");
    hits.descriptors[0].hits_addend = Some(UInt64Value { value: u64::MAX });
    let mut unit = user("a");
    unit.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit: 1, unit: 0 });
    let mut strange = unit.clone();
    strange.descriptors[0].limit = Some(RateLimitOverride { requests_per_unit: 1, unit: 99 });
    let table: [(RateLimitRequest, &str); 12] = [
        (about("", vec![descriptor(&[("user", "a")])]), "domain: is empty"),
        (about(&long, vec![descriptor(&[("user", "a")])]), "domain: has 1025 bytes"),
        (about("edge", vec![]), "descriptors: there are 0"),
        (about("edge", many), "descriptors: there are 33"),
        (about("edge", vec![descriptor(&[])]), "descriptors[0].entries: there are 0"),
        (
            about("edge", vec![descriptor(&[("a", "b"); 17])]),
            "descriptors[0].entries: there are 17",
        ),
        (one("", "secret"), "descriptors[0].entries[0].key: is empty"),
        (one(&long, "secret"), "descriptors[0].entries[0].key: has 1025 bytes"),
        (one("user", &long), "descriptors[0].entries[0].value: has 1025 bytes"),
        (hits, "descriptors[0].hits_addend: is too large"),
        (unit, "descriptors[0].limit.unit: is none"),
        (strange, "descriptors[0].limit.unit: is none"),
    ];
    for (request, place) in table {
        let (status, told) = client.ask(&request).await.expect_err(place);
        let told = told.replace("%20", " ");
        assert!(status == INVALID_ARGUMENT && told.contains(place), "{place}: {status} {told}");
        assert!(!told.contains("secret") && !told.contains("xxx"), "{told}");
    }
    let most = one("user", &"x".repeat(1_024));
    assert!(client.ask(&most).await.is_ok(), "the most is fine");
    let left = client.ask(&user("a")).await.expect("an answer").statuses[0].limit_remaining;
    assert_eq!(left, 2, "nothing was charged");
}

/// Goal: ten thousand descriptors, values of a megabyte, and bytes that are no message are refused, whatever they are.
/// Method: each on the same connection, which goes on.
#[tokio::test]
async fn huge_and_broken_messages_are_refused() {
    let stand = Stand::by(RULES).await;
    let mut client = stand.client().await;
    let many = about("edge", vec![descriptor(&[("user", "a")]); 10_000]);
    let huge = about("edge", vec![descriptor(&[("user", &"x".repeat(1 << 20))])]);
    for request in [many, huge] {
        let (status, told) = client.ask(&request).await.expect_err("too large");
        assert!(status == INVALID_ARGUMENT && told.contains("at%20most%2065536"), "{told}");
    }
    let good = framed(&user("a").encode_to_vec());
    let (two, cut) = ([&good[..], &good[..]].concat(), &good[..good.len() - 1]);
    for (body, text) in [
        (&b""[..], "not%20whole"),
        (&good[..3], "not%20whole"),
        (cut, "not%20whole"),
        (&two, "more%20than%20one"),
        (&framed(b"\xff\xff\xff"), "cannot%20be%20read"),
        (&[0, 0xff, 0xff, 0xff, 0xff], "at%20most"),
    ] {
        let (status, told) = client.call(PATH, body, &[]).await.expect_err("it is broken");
        assert!(status == INVALID_ARGUMENT && told.contains(text), "{text}: {status} {told}");
    }
    let packed = [&[1], &good[1..]].concat();
    let (status, _) = client.call(PATH, &packed, &[]).await.expect_err("compressed");
    assert_eq!(status, UNIMPLEMENTED);
    let (status, _) =
        client.call(PATH, &good, &[("grpc-encoding", "gzip")]).await.expect_err("gzip");
    assert_eq!(status, UNIMPLEMENTED);
    let json = [("content-type", "application/json")];
    assert_eq!(client.call(PATH, &good, &json).await.expect_err("JSON").0, INVALID_ARGUMENT);
    let names: Vec<String> = (0..70).map(|number| format!("x-{number}")).collect();
    let many: Vec<(&'static str, &str)> =
        names.iter().map(|name| (&*Box::leak(name.clone().into_boxed_str()), "x")).collect();
    assert_eq!(client.call(PATH, &good, &many).await.expect_err("70 fields").0, INVALID_ARGUMENT);
    let other = "/envoy.service.ratelimit.v3.RateLimitService/Other";
    assert_eq!(client.call(other, &good, &[]).await.expect_err("no method").0, UNIMPLEMENTED);
    let plain = [("content-type", "Application/gRPC+proto; charset=utf-8")];
    let plain = client.call(PATH, &good, &plain).await;
    assert!(plain.is_ok() && client.ask(&user("a")).await.is_ok(), "the connection goes on");
}

/// Goal: whoever speaks HTTP/1.1 there is told so, and harms nobody.
/// Method: a request of HTTP/1.1 by hand.
#[tokio::test(flavor = "multi_thread")]
async fn http_1_is_told() {
    let stand = Stand::by(RULES).await;
    let address = stand.address;
    let told = tokio::task::spawn_blocking(move || {
        let mut stream = crate::wire::connect(address);
        let bytes = request(&format!("POST {PATH}"), "content-type: application/grpc\r\n", "");
        stream.write_all(bytes.as_bytes()).expect("it is open");
        let reply = read_reply(&mut stream);
        (reply.status, reply.field("grpc-status").map(str::to_owned))
    });
    assert_eq!(told.await.expect("it ends"), (200, Some(INVALID_ARGUMENT.to_owned())));
}
