//! Files that the rules of a fleet name, which each server has for itself.
//!
//! Invariant: what a server's own file holds changes no number, and nothing on other servers.

use super::{Node, all_decide};
use ratekeeper_testing::servers::{Kind, Server, wait_until};
use std::fs;
use std::path::PathBuf;

/// A folder with a rule file that seeds a fleet, gone with its value.
struct Home(PathBuf);

impl Home {
    fn new(store: &str, number: u32) -> Home {
        let name = format!("ratekeeper-fleet-home-{}-{number}", std::process::id());
        let home = Home(std::env::temp_dir().join(name));
        fs::create_dir_all(&home.0).unwrap();
        let text = format!("store: \"{store}\"\nrules_from: redis\n{}", super::rules(10));
        fs::write(home.0.join("r.yaml"), text).unwrap();
        home
    }

    fn node(&self) -> Node {
        Node::of(self.0.join("r.yaml"))
    }

    /// Writes the file of keys, with this one of the tier `pro`.
    fn keys(&self, hash: &str) {
        let text = format!("- {{id: k, owner: k, tier: pro, hash: \"sha256:{hash}\"}}\n");
        fs::write(self.0.join("k.yaml"), text).unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The hashes of the keys `anna` and `bert`.
const ANNA: &str = "55579b557896d0ce1764c47fed644f9b35f58bad620674af23f356d80ed0c503";
const BERT: &str = "32987c4b7a9fb90e729425fc63e7bb81ce2cb1f80140ddeddc968aa79a34e8f8";

const RULES: &str = r#"{"tiers":["free","pro"],"identity":{"api_key":{"header":"X-Api-Key","keys":"k.yaml"}},
    "rules":[{"id":"api","key":"user","limit":{"free":"50/day","pro":"500/day"},"algorithm":"fixed_window"}]}"#;

/// Goal: a release that names a file which a server lacks is taken up there once it has it; a file that changes is
/// read again, under the same number, and one that makes no sense is told by its own server alone.
/// Method: two servers in folders of their own, a release by a call to the one that has the file; then write, damage
/// and mend the file of the other.
#[test]
fn files_that_a_fleet_names_are_each_servers_own() {
    let redis = Server::start(Kind::Redis);
    let homes = [1, 2].map(|number| Home::new(&redis.url(), number));
    let nodes = [homes[0].node(), homes[1].node()];
    all_decide(&nodes, "alice", 1, Some(10));
    homes[0].keys(ANNA);
    assert_eq!(nodes[0].call("PUT /v1/rules", RULES).0, 200);
    let says = |node: usize, words: &str| {
        wait_until(&format!("server {node} says {words}"), || {
            nodes[node].call("GET /v1/rules", "").1.contains(words)
        });
    };
    says(1, "k.yaml");
    assert_eq!([nodes[0].decides("alice").0, nodes[1].decides("alice").0], [2, 1]);
    homes[1].keys(ANNA);
    all_decide(&nodes, "alice", 2, Some(50));
    says(1, "\"fault\":null");
    let knows = |node: usize, key: &str| {
        let body = format!(
            r#"{{"request":{{"method":"GET","path":"/","ip":"192.0.2.7","headers":{{"X-Api-Key":"{key}"}}}},"cost":0}}"#
        );
        nodes[node].call("POST /v1/check", &body).1.contains("\"limit\":500")
    };
    assert!(knows(0, "anna") && knows(1, "anna") && !knows(1, "bert"));

    fs::write(homes[1].0.join("k.yaml"), "- {id: k}\n").unwrap();
    says(1, "\"source\":\"named_file\"");
    says(0, "\"fault\":null");
    homes[1].keys(BERT);
    says(1, "\"fault\":null");
    all_decide(&nodes, "alice", 2, Some(50));
    assert_eq!(
        redis.text(&["HGET", redis.text(&["KEYS", "rk:*board"]).trim(), "n:rules"]).trim(),
        "2"
    );
}

/// Goal: a rule file that only seeds a fleet is the operator's all the same: what is wrong with it is told until it is
/// mended, and what it says about the server survives a start with one that cannot be read.
/// Method: one server alone; a rule that makes no sense, a good one, and one that is cut off at the next start.
#[test]
fn a_file_that_seeds_a_fleet_is_the_operators_own() {
    let redis = Server::start(Kind::Redis);
    let home = Home::new(&redis.url(), 3);
    let head = format!("store: \"{}\"\nrules_from: redis\nstate_dir: state\n", redis.url());
    let write = |rules: &str| fs::write(home.0.join("r.yaml"), format!("{head}{rules}")).unwrap();
    write(&super::rules(10));
    let nodes = [home.node()];
    all_decide(&nodes, "alice", 1, Some(10));
    let says = |words: &str| {
        wait_until(&format!("it says {words}"), || {
            nodes[0].call("GET /v1/rules", "").1.contains(words)
        });
    };
    write("rules: [{id: api, key: user, limit: nonsense}]\n");
    says("nonsense");
    write(&super::rules(20));
    says("\"fault\":null");
    all_decide(&nodes, "alice", 1, Some(10));
    drop(nodes);

    write("rules: [{id: api, key: user, limit: 5/d");
    let nodes = [home.node()];
    all_decide(&nodes, "alice", 1, Some(10));
    assert!(nodes[0].call("GET /v1/rules", "").1.contains("\"source\":\"file\""));
}
