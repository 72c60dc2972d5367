//! Row 20: credentials that nobody has verified.
//!
//! Invariant: whoever brings one is counted by its address, as if it had brought none. The endpoints of
//! the row, by which an operator resets keys, are the server's.

#[cfg(feature = "jwt")]
use super::OTHER;
use super::{MOST, attack};
#[cfg(any(feature = "yaml", feature = "jwt"))]
use crate::layer::from;
use crate::layer::{Door, RateLimitLayer, door, get, limiter, rule, set, with};
#[cfg(feature = "jwt")]
use http::Request;
#[cfg(any(feature = "yaml", feature = "jwt"))]
use ratekeeper::{Identity, rule::RuleSet};

/// A door that counts by user, API key or address, whichever there is.
#[cfg(any(feature = "yaml", feature = "jwt"))]
fn known(identity: Identity) -> Door {
    let rules = RuleSet { identity, ..set([rule("api", "5/minute")]) };
    Door::new(&RateLimitLayer::new(limiter(rules).0))
}

/// Goal: row 20. Without anything that verifies them, credentials are nobody's.
/// Method: a hundred made-up keys, tokens, passwords and sessions.
#[test]
fn row_20_credentials_that_nothing_verifies() {
    let names =
        ["x-api-key", "authorization", "cookie", "x-user", "x-user-id", "proxy-authorization"];
    let ask = |nth: usize| with(get("/"), names[nth % 6], format!("Bearer made-up-{nth}"));
    attack(&door([rule("api", "5/minute")]), (0..100).map(ask));
}

/// Goal: row 20. A user is whom the application says, and a caller that it does not know is its address.
/// Method: an application that knows one session, and callers that guess.
#[test]
fn row_20_sessions_that_the_application_does_not_know() {
    let layer = RateLimitLayer::new(limiter(set([rule("api", "5/minute")])).0);
    let door = Door::new(&layer.user(|seen| {
        let session = seen.headers().get("x-session")?;
        (session == "right").then(|| "alice".to_owned())
    }));
    attack(&door, (0..50).map(|nth| with(get("/"), "x-session", format!("guess-{nth}"))));
    assert_eq!(door.admits((0..9).map(|_| with(get("/"), "x-session", "right"))), MOST);
}

/// Goal: row 20. Random API keys are counted by address; the right one is its owner's.
/// Method: two hundred guesses, some nearly right; a key on two lines is refused.
#[test]
#[cfg(feature = "yaml")]
fn row_20_random_api_keys() {
    use ratekeeper::identity::ApiKey;
    let key = ApiKey {
        id: "k1".into(),
        owner: "acme".into(),
        tier: None,
        hash: ApiKey::hash_of(b"right key"),
    };
    let door = known(Identity::default().api_keys("X-Api-Key", [key]).unwrap());
    let guesses = ["right ke", "right keyy", "Right key", "right  key", ""];
    let guess = |nth: usize| {
        with(get("/"), "x-api-key", format!("{}{}", guesses[nth % 5], "x".repeat(nth / 5)))
    };
    attack(&door, (0..200).map(guess));
    let right = || with(from("192.0.2.77", "GET", "/"), "x-api-key", "right key");
    assert_eq!(door.admits((0..9).map(|_| right())), MOST);
    assert_eq!(door.status(with(right(), "x-api-key", "right key")), 400);
    assert_eq!(
        door.admits((0..9).map(|_| from("192.0.2.77", "GET", "/"))),
        MOST,
        "the address has its own"
    );
}

/// Goal: row 20. Tokens that are not signed, signed by others, expired, or that say so in words are
/// counted by address; the right one is its user's; on two lines it is refused.
/// Method: one of each, in turn.
#[test]
#[cfg(feature = "jwt")]
fn row_20_tokens_that_prove_nothing() {
    use ratekeeper::identity::Tokens;
    let public = include_bytes!("../../identity/keys/ec-p256.public.pem");
    let private = include_bytes!("../../identity/keys/ec-p256.private.pem");
    let door =
        known(Identity::default().tokens(Tokens::new(&["ES256"], public, "sub", None).unwrap()));
    let header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::ES256);
    let own = jsonwebtoken::EncodingKey::from_ec_pem(private).unwrap();
    let token = |claims: serde_json::Value| jsonwebtoken::encode(&header, &claims, &own).unwrap();
    let far = 4_102_444_800_u64;
    let right = token(serde_json::json!({"sub": "alice", "exp": far}));
    let (signed, _) = right.rsplit_once('.').unwrap();
    let payload = signed.split_once('.').unwrap().1;
    let forged = [
        format!("eyJhbGciOiJub25lIn0.{payload}."),
        format!("eyJhbGciOiJub25lIn0.{payload}"),
        format!("{signed}."),
        format!("{right}AAAA"),
        token(serde_json::json!({"sub": "alice", "exp": 1})),
        token(serde_json::json!({"sub": "alice", "exp": "4102444800"})),
        token(serde_json::json!({"sub": "", "exp": far})),
        "not.a.token".to_owned(),
    ];
    let bearer = |request: Request<()>, token: &str| {
        with(request, "authorization", format!("Bearer {token}"))
    };
    attack(&door, (0..40).map(|nth| bearer(get("/"), &forged[nth % forged.len()])));
    assert_eq!(door.admits((0..9).map(|_| bearer(from(OTHER, "GET", "/"), &right))), MOST);
    assert_eq!(door.status(bearer(bearer(get("/"), &right), &right)), 400);
}
