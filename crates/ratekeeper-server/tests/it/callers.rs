//! Callers that are recognised by what files beside the rule file say: API keys and tokens.

use crate::folder::Folder;
use crate::program::{self, Program, output};
use crate::wire::check;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

const RULES: &str = "
identity:
  api_key: {header: X-Api-Key, keys: secrets/keys.yaml}
  jwt: {algorithms: [RS256], key: secrets/public.pem, user: sub, tier: plan}
tiers: [free, pro]
rules:
  - {id: api, key: {first: [user, ip]}, limit: {free: 5/minute, pro: 50/minute}}
  - {id: org, key: 'claim:org', on_missing: skip, limit: 7/minute}
";

/// The hash is that of `test-key-of-acme`.
const KEYS: &str = "
- id: k1
  owner: acme
  tier: pro
  hash: sha256:f0fc6d7e795cb0629c76a1055b953ec6297c2509613a2d209d55b2244d762031
";

macro_rules! pem {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../ratekeeper/tests/it/identity/keys/",
            $name,
            ".pem"
        ))
    };
}

/// A token that one of the test keys signed, for an hour.
fn token(private: &str, claims: &Value) -> String {
    let mut claims = claims.clone();
    claims["exp"] = (get_current_timestamp() + 3600).into();
    let key = EncodingKey::from_rsa_pem(private.as_bytes()).expect("a test key");
    encode(&Header::new(Algorithm::RS256), &claims, &key).expect("claims can be signed")
}

fn folder() -> Folder {
    Folder::of(&[
        ("ratekeeper.yaml", RULES),
        ("secrets/keys.yaml", KEYS),
        ("secrets/public.pem", pem!("rsa.public")),
    ])
}

/// Goal: keys and tokens are verified by the files that the rule file names, from its own folder; who
/// brings something else is counted by address.
/// Method: one server in another folder than its file; each credential in the request form.
#[test]
fn keys_and_tokens_are_verified_by_the_files_that_are_named() {
    let folder = folder();
    let mut command = program::command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &folder.path("ratekeeper.yaml")]);
    let server = Program::start(command);
    let ask = |headers: Value| {
        let body = json!({"request": {"method": "GET", "path": "/", "ip": "192.0.2.1",
            "headers": headers}});
        check(server.address, &body.to_string()).json()
    };
    let bearer = |token: &str| json!({"Authorization": format!("Bearer {token}")});
    let claims = json!({"sub": "ann", "plan": "pro", "org": 42});
    let good = token(pem!("rsa.private"), &claims);
    let forged = token(pem!("rsa-other.private"), &claims);

    assert_eq!(ask(json!({"x-api-key": "test-key-of-acme"}))["limit"], 50);
    assert_eq!(ask(json!({"X-Api-Key": "another"}))["remaining"], 4);
    let answer = ask(bearer(&good));
    assert_eq!(answer["results"][0]["limit"], 50);
    assert_eq!(answer["results"][1]["rule"], "org");
    let answer = ask(bearer(&forged));
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(1), "no claim, no rule");
    assert_eq!(answer["remaining"], 3, "by address, as whoever had no good key");
    let by_key = r#"{"rule":"api","key":"ann","tier":"pro","cost":0}"#;
    assert_eq!(check(server.address, by_key).json()["remaining"], 49, "the user of the token");
}

/// Goal: a file that is named and is not there, or is not what it should be, is a fault of the config.
/// Method: take the files away, and put others in their place.
#[test]
fn a_named_file_that_is_not_good_is_told() {
    let validate = |folder: &Folder| {
        let output = output(&["validate", &folder.path("ratekeeper.yaml")]);
        assert_eq!(output.status.code(), Some(2));
        folder.shown(&String::from_utf8_lossy(&output.stderr))
    };
    let bare = Folder::of(&[("ratekeeper.yaml", RULES)]);
    let told = validate(&bare);
    assert!(told.contains("ratekeeper.yaml:3:38: `secrets/keys.yaml` is not there; "), "{told}");
    assert!(told.contains("the file that `key` names is not there; "), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");

    let other = folder();
    other.write("secrets/keys.yaml", "- {id: k1, owner: acme, hash: test-key-of-acme}");
    other.write("secrets/public.pem", "no key");
    let told = validate(&other);
    assert!(told.contains("secrets/keys.yaml:1:31: `hash` is not a hash of SHA-256; "), "{told}");
    assert!(!told.contains("test-key-of-acme"), "no key is shown: {told}");
}
