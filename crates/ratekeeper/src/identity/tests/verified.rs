//! Who a door is told that a caller is.
//!
//! Invariant: a door is told what rules go by, and nothing that was not proved.

#[cfg(any(feature = "yaml", feature = "jwt"))]
use super::fault;
use super::{PROXY, STRANGER, behind, behind_by, ip, sent};
use crate::identity::{Identity, Verified};
use crate::{Limiter, Rejected, Request, RuleSet};

fn limiter(identity: Identity) -> Limiter {
    Limiter::memory().rules(RuleSet { identity, ..RuleSet::default() }).build()
}

/// Who a stranger with these header fields is, whatever the application says.
fn identify(
    identity: &Identity,
    headers: &[(&str, &str)],
) -> Result<Option<(String, Option<String>)>, Rejected> {
    let headers = sent(headers);
    let request = Request {
        peer: Some(ip(STRANGER)),
        headers: &headers,
        user: Some("said"),
        tier: Some("said"),
        ..Request::new("GET", "/")
    };
    let verified = limiter(identity.clone()).identify(&request)?;
    Ok(verified.map(|Verified { user, tier }| (user, tier)))
}

/// Goal: where nothing verifies, nobody is anybody.
/// Method: credentials and a user of the application's, to a limiter that knows no way to verify.
#[test]
fn nobody_is_verified_where_nothing_verifies() {
    let headers = [("authorization", "Bearer a.b.c"), ("x-api-key", "k"), ("x-api-key", "l")];
    assert_eq!(identify(&Identity::default(), &headers), Ok(None));
}

/// Goal: an API key is its owner's, with its tier; a key that is unknown is nobody's, and two are
/// refused.
/// Method: each of them.
#[test]
#[cfg(feature = "yaml")]
fn an_api_key_proves_its_owner() {
    let key = |id: &str, tier: Option<&str>| crate::identity::ApiKey {
        id: id.into(),
        owner: format!("owner of {id}").into(),
        tier: tier.map(Into::into),
        hash: crate::identity::ApiKey::hash_of(id.as_bytes()),
    };
    let keys = [key("one", None), key("two", Some("pro"))];
    let identity = Identity::default().api_keys("X-Key", keys).unwrap();
    let one = Some(("owner of one".to_owned(), None));
    assert_eq!(identify(&identity, &[("x-key", "one")]), Ok(one));
    let two = Some(("owner of two".to_owned(), Some("pro".to_owned())));
    assert_eq!(identify(&identity, &[("X-Key", " two ")]), Ok(two));
    for forged in ["", "One", "one two", "three"] {
        assert_eq!(identify(&identity, &[("x-key", forged)]), Ok(None), "{forged}");
    }
    assert_eq!(identify(&identity, &[]), Ok(None));
    let twice = fault(identify(&identity, &[("x-key", "one"), ("x-key", "one")]));
    assert_eq!(twice, "`x-key` is on more than one line; send it once");
}

/// Goal: a token proves whom it names, with its tier; a forged one proves nobody, and two are refused.
/// Method: each of them; a key beside the token says nothing of its user.
#[test]
#[cfg(feature = "jwt")]
fn a_token_proves_whom_it_names() {
    use super::tokens::{hs256, tokens};
    use serde_json::json;

    let identity = Identity::default().tokens(tokens());
    #[cfg(feature = "yaml")]
    let identity = {
        let (id, owner, tier) = ("k".into(), "owner".into(), Some("pro".into()));
        let hash = crate::identity::ApiKey::hash_of(b"k");
        let key = crate::identity::ApiKey { id, owner, tier, hash };
        identity.api_keys("x-key", [key]).unwrap()
    };
    let bearer = |besides| format!("Bearer {}", hs256(besides));
    let (plain, with_plan) = (bearer(json!({})), bearer(json!({"plan": "team"})));
    let ann = |tier: Option<&str>| Ok(Some(("ann".to_owned(), tier.map(str::to_owned))));
    let key = ("x-key", "k");
    assert_eq!(identify(&identity, &[("authorization", &plain), key]), ann(None));
    assert_eq!(identify(&identity, &[("authorization", &with_plan)]), ann(Some("team")));
    for forged in [plain.replacen('.', ".e", 1), bearer(json!({"exp": 0})), "Bearer".into()] {
        assert_eq!(identify(&identity, &[("authorization", &forged)]), Ok(None), "{forged}");
    }
    let twice = fault(identify(&identity, &[("authorization", &plain), ("authorization", &plain)]));
    assert_eq!(twice, "`authorization` is on more than one line; send it once");
}

/// Goal: who somebody is does not get into logs.
/// Method: what `Debug` shows.
#[test]
fn a_user_is_not_shown() {
    let verified = Verified { user: "ann".into(), tier: Some("pro".into()) };
    assert_eq!(format!("{verified:?}"), r#"Verified { tier: Some("pro"), .. }"#);
}

/// Goal: a door is told the address that rules go by, whole, and the field that it is from.
/// Method: peers that are trusted and not, addresses of both families, a field that cannot be read,
/// and no peer at all.
#[test]
fn a_door_is_told_the_address_of_the_client() {
    let limiter = limiter(behind_by("X-Real-IP"));
    assert_eq!(&*limiter.client_ip_header(), "x-real-ip");
    let client = |peer: Option<&str>, value: &str| {
        let headers = sent(&[("X-Real-IP", value)]);
        let peer = peer.map(ip);
        limiter.client(&Request { peer, headers: &headers, ..Request::new("GET", "/") })
    };
    for (peer, value, expected) in [
        (PROXY, "192.0.2.5", "192.0.2.5"),
        (PROXY, "2001:db8::1:2:3:4", "2001:db8::1:2:3:4"),
        (PROXY, "unknown", PROXY),
        ("::ffff:10.0.0.1", "192.0.2.5", "192.0.2.5"),
        (STRANGER, "192.0.2.5", STRANGER),
    ] {
        assert_eq!(client(Some(peer), value), Some(ip(expected)), "{peer} {value}");
    }
    assert_eq!(client(None, "192.0.2.5"), None);
    assert_eq!(client(Some(PROXY), "192.0.2.5\u{7f}"), None, "what cannot be read is nobody's");
    assert_eq!(&*self::limiter(behind()).client_ip_header(), "x-forwarded-for");
}
