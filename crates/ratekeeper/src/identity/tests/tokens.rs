//! Tokens that hold, and tokens that do not.
//!
//! Invariant: whatever is wrong with a token, its caller is nobody and is counted by address; only
//! two lines of them are an error. Dates are far enough from the bounds for a slow machine.

mod forged;

use super::{STRANGER, Sent, ask, behind, sent};
#[cfg(feature = "yaml")]
use crate::identity::ApiKey;
use crate::identity::{Identity, Tokens};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

/// A secret for the HS algorithms.
const SECRET: &[u8] = b"a secret that only tests know, 32";

/// The test key of this name, `private` or `public`.
macro_rules! pem {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/identity/keys/",
            $name,
            ".pem"
        ))
        .as_slice()
    };
}
use pem;

/// Claims that hold for an hour, with these besides; `null` takes one away.
fn claims(besides: Value) -> Value {
    let mut claims = json!({"sub": "ann", "exp": get_current_timestamp() + 3600});
    let Value::Object(besides) = besides else { return besides };
    for (name, value) in besides {
        claims[&name] = value;
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn sign(algorithm: Algorithm, key: &EncodingKey, claims: &Value) -> String {
    encode(&Header::new(algorithm), claims, key).unwrap()
}

/// A token signed with [`SECRET`].
pub(super) fn hs256(besides: Value) -> String {
    sign(Algorithm::HS256, &EncodingKey::from_secret(SECRET), &claims(besides))
}

/// Verifies tokens that are signed with [`SECRET`].
pub(super) fn tokens() -> Tokens {
    Tokens::new(&["HS256"], SECRET, "sub", Some("plan")).unwrap()
}

fn identity() -> Identity {
    behind().tokens(tokens())
}

/// A request with this token.
fn bearer(token: &str) -> Sent {
    sent(&[("Authorization", &format!("Bearer {token}"))])
}

/// The user that a request has.
fn user(identity: &Identity, headers: &Sent) -> Option<String> {
    let user = ask(identity, STRANGER, headers, |caller| {
        assert!(caller.address().is_ok());
        caller.user().map(|user| user.map(str::to_owned)).map_err(Clone::clone)
    });
    user.unwrap()
}

/// Goal: tokens of every kind of signature are verified.
/// Method: sign one with each test key, verify it with the public half; changed by a character it is
/// nobody's.
#[test]
fn good_tokens_of_every_algorithm_are_verified() {
    let rsa = EncodingKey::from_rsa_pem(pem!("rsa.private")).unwrap();
    let p256 = EncodingKey::from_ec_pem(pem!("ec-p256.private")).unwrap();
    let p384 = EncodingKey::from_ec_pem(pem!("ec-p384.private")).unwrap();
    let ed = EncodingKey::from_ed_pem(pem!("ed25519.private")).unwrap();
    let secret = EncodingKey::from_secret(SECRET);
    for (name, algorithm, signs, verifies) in [
        ("HS256", Algorithm::HS256, &secret, SECRET),
        ("HS384", Algorithm::HS384, &secret, SECRET),
        ("HS512", Algorithm::HS512, &secret, SECRET),
        ("RS256", Algorithm::RS256, &rsa, pem!("rsa.public")),
        ("RS512", Algorithm::RS512, &rsa, pem!("rsa.public")),
        ("PS256", Algorithm::PS256, &rsa, pem!("rsa.public")),
        ("ES256", Algorithm::ES256, &p256, pem!("ec-p256.public")),
        ("ES384", Algorithm::ES384, &p384, pem!("ec-p384.public")),
        ("EdDSA", Algorithm::EdDSA, &ed, pem!("ed25519.public")),
    ] {
        let token = sign(algorithm, signs, &claims(json!({})));
        let identity = behind().tokens(Tokens::new(&[name], verifies, "sub", None).unwrap());
        assert_eq!(user(&identity, &bearer(&token)).as_deref(), Some("ann"), "{name}");
        // Another claim, and another signature.
        let signature = token.rfind('.').unwrap() + 10;
        let other = if &token[signature..=signature] == "A" { "B" } else { "A" };
        let mut changed = token.clone();
        changed.replace_range(signature..=signature, other);
        for forged in [token.replacen(".", ".e", 1), changed] {
            assert_eq!(user(&identity, &bearer(&forged)), None, "{name}");
        }
    }
}

/// Goal: any of several algorithms of one family is accepted, and no other.
/// Method: RS256 and PS256 are named; RS512 by the same key is not.
#[test]
fn only_algorithms_that_were_named_are_accepted() {
    let rsa = EncodingKey::from_rsa_pem(pem!("rsa.private")).unwrap();
    let identity =
        behind().tokens(Tokens::new(&["RS256", "PS256"], pem!("rsa.public"), "sub", None).unwrap());
    for (algorithm, accepted) in
        [(Algorithm::RS256, true), (Algorithm::PS256, true), (Algorithm::RS512, false)]
    {
        let token = sign(algorithm, &rsa, &claims(json!({})));
        assert_eq!(user(&identity, &bearer(&token)).is_some(), accepted, "{algorithm:?}");
    }
}

/// Goal: dates hold with 30 seconds of grace, and have to be numbers; `exp` has to be there.
/// Method: tokens on both sides of each bound, and dates that are no dates.
#[test]
fn dates_hold_with_half_a_minute_of_grace() {
    let now = get_current_timestamp();
    for (besides, holds) in [
        (json!({"exp": now - 20}), true),
        (json!({"exp": now - 31}), false),
        (json!({"exp": 0}), false),
        (json!({"exp": null}), false),
        (json!({"exp": (now + 3600).to_string()}), false),
        (json!({"exp": [now + 3600]}), false),
        (json!({"exp": true}), false),
        (json!({"exp": -1}), false),
        (json!({"exp": now as f64 + 3600.5}), true),
        (json!({"exp": u64::MAX}), true),
        (json!({"nbf": now - 3600}), true),
        (json!({"nbf": now + 20}), true),
        (json!({"nbf": now + 60}), false),
        (json!({"nbf": "tomorrow"}), false),
        (json!({"nbf": now.to_string()}), false),
    ] {
        assert_eq!(
            user(&identity(), &bearer(&hs256(besides.clone()))).is_some(),
            holds,
            "{besides}"
        );
    }
}

/// Goal: where an issuer or an audience is asked for, a token of another, or of none, is nobody's;
/// and a token for an audience is nobody's where none is named.
/// Method: each kind of claim against each set-up.
#[test]
fn issuer_and_audience_have_to_fit() {
    let issuer = behind().tokens(tokens().issuer("https://a").issuer("https://b"));
    let audience = behind().tokens(tokens().audience("api"));
    for (identity, besides, fits) in [
        (&issuer, json!({"iss": "https://a"}), true),
        (&issuer, json!({"iss": "https://b"}), true),
        (&issuer, json!({"iss": "https://c"}), false),
        (&issuer, json!({"iss": 7}), false),
        (&issuer, json!({}), false),
        (&audience, json!({"aud": "api"}), true),
        (&audience, json!({"aud": ["web", "api"]}), true),
        (&audience, json!({"aud": "web"}), false),
        (&audience, json!({"aud": ["web"]}), false),
        (&audience, json!({"aud": 7}), false),
        (&audience, json!({}), false),
        (&identity(), json!({"iss": "https://c"}), true),
        (&identity(), json!({"aud": "api"}), false),
    ] {
        assert_eq!(user(identity, &bearer(&hs256(besides.clone()))).is_some(), fits, "{besides}");
    }
}

/// Goal: the user is text or an integer, and a token without one is nobody's.
/// Method: claims of every type, as user; and the tier, which may be missing.
#[test]
fn the_user_is_text_or_an_integer() {
    for (sub, expected) in [
        (json!("ann"), Some("ann")),
        (json!(42), Some("42")),
        (json!(-7), Some("-7")),
        (json!(u64::MAX), Some("18446744073709551615")),
        (json!(""), None),
        (json!(1.0), None),
        (json!(1e300), None),
        (json!(true), None),
        (json!(["ann"]), None),
        (json!({"a": 1}), None),
        (json!(null), None),
    ] {
        assert_eq!(
            user(&identity(), &bearer(&hs256(json!({"sub": sub})))).as_deref(),
            expected,
            "{sub}"
        );
    }
    for (plan, expected) in
        [(json!("pro"), Some("pro")), (json!(""), None), (json!(7), None), (json!(null), None)]
    {
        let headers = bearer(&hs256(json!({"plan": plan})));
        let tier = ask(&identity(), STRANGER, &headers, |caller| {
            Ok(caller.tier().unwrap().map(str::to_owned))
        });
        assert_eq!(tier.unwrap().as_deref(), expected, "{plan}");
    }
}

/// Goal: claims are told as text where that is without loss.
/// Method: claims of every type; and of a token that does not hold, none.
#[test]
fn claims_are_told_as_text() {
    let besides = json!({"org": "acme", "n": 12, "minus": -3, "yes": true, "no": false, "half": 0.5, "empty": "",
        "list": [1], "map": {}, "big": 1e30});
    let told = |headers: &Sent, name: &str| {
        let told = ask(&identity(), STRANGER, headers, |caller| {
            Ok(caller.claim(name).unwrap().map(std::borrow::Cow::into_owned))
        });
        told.unwrap()
    };
    let good = bearer(&hs256(besides.clone()));
    for (name, expected) in [
        ("org", Some("acme")),
        ("n", Some("12")),
        ("minus", Some("-3")),
        ("yes", Some("true")),
        ("no", Some("false")),
        ("half", None),
        ("empty", None),
        ("list", None),
        ("map", None),
        ("big", None),
        ("absent", None),
        ("sub", Some("ann")),
    ] {
        assert_eq!(told(&good, name).as_deref(), expected, "{name}");
    }
    let mut over = besides;
    over["exp"] = json!(1);
    assert_eq!(told(&bearer(&hs256(over)), "org"), None);
    let all =
        ask(&identity(), STRANGER, &good, |caller| Ok(caller.claims().unwrap().unwrap().len()));
    assert_eq!(all, Ok(12));
}

/// Goal: the application goes before the token, the token before the key; the key keeps its id.
/// Method: a request with all three, then with less and less.
#[test]
#[cfg(feature = "yaml")]
fn the_application_goes_before_the_token_and_the_token_before_the_key() {
    let key = ApiKey {
        id: "k".into(),
        owner: "bob".into(),
        tier: Some("free".into()),
        hash: ApiKey::hash_of(b"key"),
    };
    let identity = identity().api_keys("X-Api-Key", [key]).unwrap();
    let good = format!("Bearer {}", hs256(json!({"plan": "pro"})));
    let over = format!("Bearer {}", hs256(json!({"plan": "pro", "exp": 1})));
    let without_tier = format!("Bearer {}", hs256(json!({})));
    for (given, token, key, expected) in [
        (Some("zoe"), &good, true, (Some("zoe"), Some("gold"), Some("k"))),
        (None, &good, true, (Some("ann"), Some("pro"), Some("k"))),
        (None, &good, false, (Some("ann"), Some("pro"), None)),
        (None, &without_tier, true, (Some("ann"), None, Some("k"))),
        (None, &over, true, (Some("bob"), Some("free"), Some("k"))),
        (None, &over, false, (None, None, None)),
    ] {
        let headers =
            sent(&[("Authorization", token), ("X-Api-Key", if key { "key" } else { "other" })]);
        let tier = given.map(|_| "gold");
        let request = crate::Request {
            headers: &headers,
            user: given,
            tier,
            ..crate::Request::new("GET", "/")
        };
        let caller = crate::identity::Caller::new(&identity, &request);
        let found = (caller.user().unwrap(), caller.tier().unwrap(), caller.api_key().unwrap());
        assert_eq!(found, expected);
    }
}
