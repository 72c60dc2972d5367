//! Files that rules name, such as those of API keys, while the server runs.
//!
//! Invariant: what they hold is taken up whoever made the release that names them, and makes no other release live.

use crate::folder::Folder;
use crate::live::{becomes, call, daily, fault, get, says, serve, version};
use crate::program::poll;
use crate::wire::check;
use ratekeeper::identity::ApiKey;
use std::fmt::Write;
use std::net::SocketAddr;

/// The entry of a key, whose owner is in the tier `pro`.
fn entry(key: &str) -> String {
    let hash = ApiKey::hash_of(key.as_bytes()).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("- {{id: {key}, owner: {key}, tier: pro, hash: \"sha256:{hash}\"}}\n")
}

/// Rules that name a file of keys; who has one may do more.
fn rules(pro: u32) -> String {
    format!(
        "tiers: [free, pro]\nidentity: {{api_key: {{header: X-Api-Key, keys: keys/k.yaml}}}}\n\
         rules: [{{id: api, key: user, limit: {{free: 1/day, pro: {pro}/day}}}}]\n"
    )
}

/// What somebody who brings a key may do in a day.
fn limit(address: SocketAddr, key: &str) -> u64 {
    let request = format!(
        r#"{{"request":{{"method":"GET","path":"/","ip":"192.0.2.7","headers":{{"X-Api-Key":"{key}"}}}},"cost":0}}"#
    );
    let reply = check(address, &request);
    reply.json()["limit"].as_u64().expect("a figure")
}

fn limit_becomes(address: SocketAddr, key: &str, wanted: u64) {
    let reached = poll(|| (limit(address, key) == wanted).then_some(()));
    assert!(reached.is_some(), "{key}: {}, not {wanted}", limit(address, key));
}

/// Goal: a key that is taken out of a file is no longer known, although the rules that name the file came by a call;
/// the call's rules stay, and a file of keys that makes no sense changes nothing and is told until it is mended.
/// Method: rules by file and other rules by a call, both with the same keys; then revoke, damage and add.
#[test]
fn keys_are_revoked_whoever_made_the_release() {
    let both = entry("anna") + &entry("bert");
    let text = format!("state_dir: state\n{}", rules(10));
    let folder = Folder::of(&[("r.yaml", &text), ("keys/k.yaml", &both)]);
    let server = serve(&folder, "r.yaml");
    let address = server.address;
    assert_eq!(call(address, "PUT /v1/rules", "", &rules(20)).status, 200);
    assert_eq!([limit(address, "anna"), limit(address, "bert")], [20, 20]);

    folder.write("keys/k.yaml", &entry("bert"));
    limit_becomes(address, "anna", 1);
    assert_eq!((limit(address, "bert"), version(address)), (20, 3), "by the rules of the call");
    let shown = get(address, "/v1/rules");
    assert_eq!(
        (&shown["source"], &shown["change"]),
        (&"api".into(), &"files that it names".into())
    );

    folder.write("keys/k.yaml", "- {id: bert}\n");
    let told = fault(address);
    assert_eq!(told["source"], "named_file");
    assert!(told["errors"][0]["file"].as_str().is_some_and(|file| file.ends_with("k.yaml")));
    assert_eq!((limit(address, "bert"), version(address)), (20, 3));
    folder.write("keys/k.yaml", &both);
    limit_becomes(address, "anna", 20);
    assert!(poll(|| get(address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    drop(server);

    // What was changed while it was down is taken up, too, and again the file is not what has changed.
    folder.write("keys/k.yaml", &entry("anna"));
    let server = serve(&folder, "r.yaml");
    assert_eq!([limit(server.address, "anna"), limit(server.address, "bert")], [20, 1]);
    folder.write("r.yaml", &format!("state_dir: state\n{}", rules(30)));
    limit_becomes(server.address, "anna", 30);
}

/// Goal: a rule file that names a file which is not there yet is taken up once it is.
/// Method: name it, see the fault, then write it.
#[test]
fn a_file_that_was_missing_is_waited_for() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    folder.write("r.yaml", &rules(10));
    assert_eq!(fault(server.address)["source"], "file");
    assert_eq!(version(server.address), 1);
    folder.write("keys/k.yaml", &entry("anna"));
    becomes(server.address, 2);
    assert_eq!(limit(server.address, "anna"), 10);
    assert!(poll(|| get(server.address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    says(&server, "k.yaml");
}
