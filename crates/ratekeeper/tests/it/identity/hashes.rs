//! API keys as they are set up: by hashes.
//!
//! Invariant: neither a key nor its hash is in any text, and two keys are never one.

use super::refused;
use proptest::prelude::*;
use ratekeeper::Identity;
use ratekeeper::identity::{ApiKey, IdentityError};

/// The hash of `abc`, from the standard.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn key(id: &str, owner: &str, secret: &str) -> ApiKey {
    ApiKey {
        id: id.into(),
        owner: owner.into(),
        tier: None,
        hash: ApiKey::hash_of(secret.as_bytes()),
    }
}

fn keys(keys: impl IntoIterator<Item = ApiKey>) -> Result<Identity, IdentityError> {
    Identity::default().api_keys("X-Api-Key", keys)
}

/// Goal: hashes are SHA-256, and read in either case.
/// Method: the standard's example.
#[test]
fn a_hash_is_sha_256_in_hexadecimal() {
    for text in [format!("sha256:{ABC}"), format!("sha256:{}", ABC.to_uppercase())] {
        assert_eq!(ApiKey::parse_hash(&text), Ok(ApiKey::hash_of(b"abc")));
    }
}

/// Goal: what is no hash is refused, with the command that makes one, and not repeated: it may be the
/// key.
/// Method: each fault there can be.
#[test]
fn what_is_no_hash_is_refused_and_not_repeated() {
    let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let (short, long) = (format!("sha256:{}", &ABC[1..]), format!("sha256:{ABC}0"));
    let (wrong, wide) = (format!("sha256:g{}", &ABC[1..]), format!("sha256:\u{e9}{}", &ABC[2..]));
    let (scheme, signed) = (format!("SHA256:{ABC}"), format!("sha256:+{}", &ABC[1..]));
    for text in [
        "",
        "sha256:",
        "KEY-THAT-IS-SECRET",
        ABC,
        nothing,
        &short,
        &long,
        &wrong,
        &wide,
        &scheme,
        &signed,
    ] {
        let fault = ApiKey::parse_hash(text).unwrap_err().to_string();
        assert!(fault.starts_with("the hash ") && fault.contains("; write `sha256:`"), "{fault}");
        assert!(
            fault.contains("sha256sum")
                && !fault.contains("THAT-IS-SECRET")
                && !fault.contains(&ABC[9..]),
            "{fault}"
        );
    }
}

proptest! {
    /// Goal: every hash that is written is read back.
    /// Method: hashes of random keys.
    #[test]
    fn a_hash_that_is_written_reads_back(secret in any::<Vec<u8>>()) {
        prop_assume!(!secret.is_empty());
        let hash = ApiKey::hash_of(&secret);
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(ApiKey::parse_hash(&format!("sha256:{digits}")), Ok(hash));
    }
}

/// Goal: two keys have two ids and two hashes; one owner may have both.
/// Method: the same id, the same hash, the same owner.
#[test]
fn no_two_keys_are_the_same() {
    assert!(keys([key("a", "acme", "1"), key("b", "acme", "2")]).is_ok());
    let same_id = refused(keys([key("a", "acme", "1"), key("a", "bob", "2")]), "api_key.keys");
    assert!(same_id.contains("the id \"a\""), "{same_id}");
    let same_hash = refused(keys([key("a", "acme", "1"), key("b", "bob", "1")]), "api_key.keys");
    assert!(same_hash.contains("\"a\" and \"b\" are the same key"), "{same_hash}");
}

/// Goal: ids, owners and tiers are 1 to 256 bytes, and the header is a name.
/// Method: both sides of each bound.
#[test]
fn names_are_not_empty_and_have_a_bound() {
    let (longest, longer) = ("x".repeat(256), "x".repeat(257));
    let tier = |tier: &str| ApiKey { tier: Some(tier.into()), ..key("a", "b", "c") };
    assert!(keys([key(&longest, &longest, "1")]).is_ok() && keys([tier(&longest)]).is_ok());
    for (field, wrong) in [
        ("id", key("", "b", "1")),
        ("id", key(&longer, "b", "1")),
        ("owner", key("a", "", "1")),
        ("owner", key("a", &longer, "1")),
        ("tier", tier("")),
        ("tier", tier(&longer)),
    ] {
        let text = refused(keys([key("z", "z", "z"), wrong]), "api_key.keys");
        assert!(text.contains("key number 2") && text.contains(&format!("`{field}`")), "{text}");
    }
    for header in ["", "X_Api_Key", "X Api"] {
        refused(Identity::default().api_keys(header, []), "api_key.header");
    }
}

/// Goal: no text shows a hash, by which a key could be guessed.
/// Method: what a key and an identity with it say of themselves.
#[test]
fn a_hash_is_never_shown() {
    let known = ApiKey { tier: Some("pro".into()), ..key("the id", "acme", "abc") };
    let shown = format!("{known:?} {:?}", keys([known.clone()]).unwrap());
    assert!(shown.contains("the id") && shown.contains("x-api-key"), "{shown}");
    assert!(!shown.contains("186, 120") && !shown.contains("ba78"), "{shown}");
}
