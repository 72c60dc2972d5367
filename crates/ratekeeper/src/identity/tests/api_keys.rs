//! API keys that are known, unknown and varied.
//!
//! Invariant: a key that is not known is nobody; it opens nothing, and is no error.

use super::{STRANGER, Sent, ask, behind, callers, fault, sent};
use crate::identity::{ApiKey, Identity};
use proptest::prelude::*;

fn key(id: &str, owner: &str, tier: Option<&str>, key: &[u8]) -> ApiKey {
    ApiKey {
        id: id.into(),
        owner: owner.into(),
        tier: tier.map(Into::into),
        hash: ApiKey::hash_of(key),
    }
}

/// Two keys of one owner, and one of another.
fn known() -> Identity {
    let keys = [
        key("k1", "acme", Some("pro"), b"first key of acme"),
        key("k2", "acme", None, b"second key of acme"),
        key("k3", "bob", None, b"key of bob"),
    ];
    behind().api_keys("X-Api-Key", keys).unwrap()
}

/// Id, user and tier that a request has.
fn who(identity: &Identity, headers: &Sent) -> [Option<String>; 3] {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let all = ask(identity, STRANGER, headers, |caller| {
        Ok([caller.api_key(), caller.user(), caller.tier()].map(|text| owned(text.unwrap())))
    });
    all.unwrap()
}

fn expect(id: &str, user: &str, tier: Option<&str>) -> [Option<String>; 3] {
    [Some(id.to_owned()), Some(user.to_owned()), tier.map(str::to_owned)]
}

const NOBODY: [Option<String>; 3] = [None, None, None];

/// Goal: a key that is known is its id, its owner and the owner's tier.
/// Method: each key, with spaces around it and the header in another case.
#[test]
fn a_known_key_is_its_owner() {
    for (header, value, expected) in [
        ("X-Api-Key", "first key of acme", expect("k1", "acme", Some("pro"))),
        ("x-api-key", "second key of acme", expect("k2", "acme", None)),
        ("X-API-KEY", " \tkey of bob ", expect("k3", "bob", None)),
    ] {
        assert_eq!(who(&known(), &sent(&[(header, value)])), expected);
    }
}

/// Goal: row 20. Random keys are nobody, and a caller who tries them stays one caller.
/// Method: a thousand of them, and keys that are nearly right.
#[test]
fn row_20_random_keys_are_nobody() {
    let tries = (0..1000).map(|number| {
        let headers = sent(&[("X-Api-Key", &format!("key {number}"))]);
        assert_eq!(who(&known(), &headers), NOBODY);
        ask(&known(), STRANGER, &headers, |caller| caller.network().map_err(Clone::clone))
    });
    assert_eq!(callers(tries), 1);
    for near in [
        "",
        " ",
        "Key of bob",
        "key of bo",
        "key of bob.",
        "k3",
        "key  of bob",
        "key of bob,key of bob",
    ] {
        assert_eq!(who(&known(), &sent(&[("X-Api-Key", near)])), NOBODY, "{near}");
    }
    let hash = ApiKey::hash_of(b"key of bob");
    assert_eq!(who(&known(), &vec![("X-Api-Key".to_owned(), hash.to_vec())]), NOBODY);
}

/// Goal: the switch that is off is off, and only the configured header is read.
/// Method: a key that is known, without keys, in another header, and in an alias of the header.
#[test]
fn a_key_counts_only_where_it_is_asked_for() {
    assert_eq!(who(&behind(), &sent(&[("X-Api-Key", "key of bob")])), NOBODY);
    for other in ["X_Api_Key", "x_api_key", "X-Api-Key ", "Api-Key", "Authorization"] {
        assert_eq!(who(&known(), &sent(&[(other, "key of bob")])), NOBODY, "{other}");
    }
    let connection = sent(&[("Connection", "X-Api-Key"), ("X-Api-Key", "key of bob")]);
    assert_eq!(who(&known(), &connection), expect("k3", "bob", None));
}

/// Goal: a key on two lines is refused, the same key too; what is not asked for is not.
/// Method: two lines; the address is found all the same.
#[test]
fn a_key_on_two_lines_is_refused() {
    for second in ["key of bob", "other"] {
        let headers = sent(&[("X-Api-Key", "key of bob"), ("x-api-key", second)]);
        for question in [0, 1, 2] {
            let text = ask(&known(), STRANGER, &headers, |caller| {
                let answers = [caller.api_key(), caller.user(), caller.tier()];
                answers[question].map(|_| ()).map_err(Clone::clone)
            });
            let text = fault(text);
            assert!(text.contains("`x-api-key`") && !text.contains("bob"), "{text}");
        }
        assert!(
            ask(&known(), STRANGER, &headers, |caller| caller.address().map_err(Clone::clone))
                .is_ok()
        );
    }
}

proptest! {
    /// Goal: any key of 1 to 256 bytes is found by its hash, and a longer one is unknown.
    /// Method: random bytes on both sides of the bound, without space at their ends.
    #[test]
    fn keys_of_up_to_256_bytes_are_found(bytes in proptest::collection::vec(0x21..=0xff_u8, 1..300)) {
        let identity = Identity::default().api_keys("X-Key", [key("id", "owner", None, &bytes)]).unwrap();
        let headers = vec![("x-key".to_owned(), bytes.clone())];
        let expected = if bytes.len() <= 256 { expect("id", "owner", None) } else { NOBODY };
        prop_assert_eq!(who(&identity, &headers), expected);
    }
}

/// Goal: the bound is exact.
/// Method: 256 and 257 bytes.
#[test]
fn a_key_of_257_bytes_is_unknown() {
    for (length, found) in [(256, true), (257, false)] {
        let long = vec![b'k'; length];
        let identity =
            Identity::default().api_keys("X-Key", [key("id", "owner", None, &long)]).unwrap();
        assert_eq!(who(&identity, &vec![("X-Key".to_owned(), long)]) != NOBODY, found);
    }
}
