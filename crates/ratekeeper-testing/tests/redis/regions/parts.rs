//! Each region has a store of its own, and a part of every limit.
//!
//! Invariant: what one region admits does not depend on the other, so no cut between them matters.

use super::{address, nodes, use_up};
use ratekeeper::Limiter;
use ratekeeper_testing::chaos::Proxy;
use ratekeeper_testing::servers::{Kind, Server};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Each rule, what it admits in all, and what in each region: 60 % and 40 %, rounded down.
const PARTS: [(&str, u64, u64, u64); 4] =
    [("hundred", 100, 60, 40), ("seven", 7, 4, 2), ("three", 3, 1, 1), ("windows", 50, 30, 20)];

/// The rules, with amounts that come back too slowly to matter.
const RULES: &str = "
rules:
  - {id: hundred, key: user, limit: 100/day, regions: {eu: 60%, us: 40%}}
  - {id: seven, key: user, limit: 7/day, algorithm: sliding_window_log, regions: {eu: 60%, us: 40%}}
  - {id: three, key: user, limit: 3/day, algorithm: leaky_bucket, regions: {eu: 60%, us: 40%}}
  - {id: windows, key: user, limit: 50/520w, algorithm: fixed_window, regions: {eu: 60%, us: 40%}}
  - {id: one, key: user, limit: 1/day, regions: {eu: 60%, us: 40%}}
";

/// A store, and the servers that use it.
struct Region {
    server: Server,
    nodes: Vec<Limiter>,
}

fn region(name: &str) -> Region {
    let server = Server::start(Kind::Redis);
    // A busy machine is not what is tested.
    let store = format!("store: {{url: '{}', deadline: 5s}}", server.url());
    let nodes = nodes(&format!("region: {name}\n{store}\n{RULES}"));
    Region { server, nodes }
}

impl Region {
    async fn use_up(&self, rule: &str, key: &str) -> u64 {
        use_up(&self.nodes, rule, key).await
    }
}

/// Goal: each region admits its part, rounded down, through all of its servers; together they admit no more
/// than the limit.
/// Method: use each rule up in both regions at the same time, and compare with figures worked out by hand.
#[tokio::test]
async fn each_region_admits_its_part_and_all_no_more_than_the_limit() {
    let (eu, us) = (region("eu"), region("us"));
    for (rule, limit, eu_part, us_part) in PARTS {
        let admitted = tokio::join!(eu.use_up(rule, "alice"), us.use_up(rule, "alice"));
        assert_eq!(admitted, (eu_part, us_part), "{rule}");
        assert!(admitted.0 + admitted.1 <= limit, "{rule}");
    }
}

/// Goal: no region is left without anything: a part is at least 1, even if that makes the sum too large.
/// Method: a limit of one in two regions.
#[tokio::test]
async fn a_part_is_at_least_one() {
    let (eu, us) = (region("eu"), region("us"));
    assert_eq!((eu.use_up("one", "alice").await, us.use_up("one", "alice").await), (1, 1));
}

/// Goal: regions that are cut off from each other go on deciding, each within its part.
/// Method: the way from one region to the other's store is a proxy, by which somebody asks whether it is there.
/// Cut it: that question has no answer until it is mended, and both regions admit their parts meanwhile. No
/// server has used that way.
#[tokio::test]
async fn regions_that_are_cut_off_from_each_other_go_on() {
    let (eu, us) = (region("eu"), region("us"));
    let way = Proxy::start(address(&us.server), 1);
    let mut link = TcpStream::connect(way.address()).unwrap();
    link.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = [0; 7];
    link.write_all(b"PING\r\n").unwrap();
    link.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    way.hold();
    link.write_all(b"PING\r\n").unwrap();
    assert_eq!((eu.use_up("hundred", "bob").await, us.use_up("hundred", "bob").await), (60, 40));
    link.set_nonblocking(true).unwrap();
    assert_eq!(link.read(&mut answer).unwrap_err().kind(), ErrorKind::WouldBlock, "it is cut");
    link.set_nonblocking(false).unwrap();
    way.release();
    link.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    assert_eq!(way.accepts(), 1, "nobody else uses the way between the regions");
}

/// Goal: a user who moves to the other region has that region's part, and none of the one before.
/// Method: use one region up, then the other, then ask in the first again.
#[tokio::test]
async fn a_user_who_moves_has_the_part_of_the_other_region() {
    let (eu, us) = (region("eu"), region("us"));
    assert_eq!(eu.use_up("hundred", "carol").await, 60);
    let look = us.nodes[0].rule("hundred").unwrap().peek("carol").await;
    assert_eq!((look.limit(), look.remaining()), (40, 40));
    assert_eq!(us.use_up("hundred", "carol").await, 40);
    assert_eq!(eu.use_up("hundred", "carol").await, 0);
}
