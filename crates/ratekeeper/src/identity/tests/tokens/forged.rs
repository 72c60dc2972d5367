//! Tokens that somebody made up, changed or misused.
//!
//! Invariant: row 20 of the twenty to try first; each of them is nobody.

use super::{SECRET, bearer, claims, hs256, identity, pem, sign, tokens, user};
use crate::identity::tests::{STRANGER, ask, behind, callers, fault, sent};
use crate::identity::{Identity, Tokens};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;

/// `{"alg":"none","typ":"JWT"}`, and the same in other cases.
const UNSIGNED: [&str; 3] = [
    "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0",
    "eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0",
    "eyJhbGciOiJOT05FIiwidHlwIjoiSldUIn0",
];

/// Goal: row 20, `none`. A token that nobody signed is nobody's.
/// Method: good claims below a header that asks for no signature, with none, an empty and a good one.
#[test]
fn row_20_a_token_without_a_signature_is_nobodys() {
    let good = hs256(json!({}));
    let parts: Vec<&str> = good.split('.').collect();
    assert!(user(&identity(), &bearer(&good)).is_some());
    for header in UNSIGNED {
        for forged in [
            format!("{header}.{}.", parts[1]),
            format!("{header}.{}", parts[1]),
            format!("{header}.{}.{}", parts[1], parts[2]),
        ] {
            assert_eq!(user(&identity(), &bearer(&forged)), None, "{forged}");
        }
    }
    for broken in [
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{good}."),
    ] {
        assert_eq!(user(&identity(), &bearer(&broken)), None, "{broken}");
    }
}

/// Goal: a public key is never taken for a secret.
/// Method: a token signed by HS256 with the bytes of the public key, in PEM, against RS256, ES256 and
/// `EdDSA` with that key.
#[test]
fn row_20_a_public_key_is_no_secret() {
    for (algorithm, public) in [
        ("RS256", pem!("rsa.public")),
        ("ES256", pem!("ec-p256.public")),
        ("EdDSA", pem!("ed25519.public")),
    ] {
        let identity = behind().tokens(Tokens::new(&[algorithm], public, "sub", None).unwrap());
        let text = str::from_utf8(public).unwrap();
        let from_begin = &text[text.find("-----BEGIN").unwrap()..];
        for secret in [text, text.trim_end(), from_begin, from_begin.trim_end()] {
            let secret = EncodingKey::from_secret(secret.as_bytes());
            let token = sign(Algorithm::HS256, &secret, &claims(json!({})));
            assert_eq!(user(&identity, &bearer(&token)), None, "{algorithm}");
        }
    }
}

/// Goal: a token signed with another key is nobody's.
/// Method: another secret, and another RSA key.
#[test]
fn a_token_by_another_key_is_nobodys() {
    let secret = EncodingKey::from_secret(&[SECRET, b"."].concat());
    assert_eq!(
        user(&identity(), &bearer(&sign(Algorithm::HS256, &secret, &claims(json!({}))))),
        None
    );
    let rsa = EncodingKey::from_rsa_pem(pem!("rsa-other.private")).unwrap();
    let token = sign(Algorithm::RS256, &rsa, &claims(json!({})));
    for (public, own) in [(pem!("rsa.public"), false), (pem!("rsa-other.public"), true)] {
        let identity = behind().tokens(Tokens::new(&["RS256"], public, "sub", None).unwrap());
        assert_eq!(user(&identity, &bearer(&token)).is_some(), own);
    }
}

/// Goal: extensions that have to be understood, and are not, make a token nobody's.
/// Method: a `crit` in the header of a token that holds otherwise.
#[test]
fn a_token_with_critical_extensions_is_nobodys() {
    for (crit, holds) in [(None, true), (Some(vec!["exp".to_owned()]), false)] {
        let header = Header { crit, ..Header::new(Algorithm::HS256) };
        let token = encode(&header, &claims(json!({})), &EncodingKey::from_secret(SECRET)).unwrap();
        assert_eq!(user(&identity(), &bearer(&token)).is_some(), holds);
    }
}

/// Goal: tokens of up to 8 KiB are read, and no longer ones.
/// Method: a claim fills a good token up to the bound, and beyond it to 9 KiB.
#[test]
fn a_token_of_more_than_8_kib_is_nobodys() {
    let of_length = |length: usize| {
        let fill = |bytes| hs256(json!({"fill": "x".repeat(bytes)}));
        let start = (length - fill(0).len()) * 3 / 4;
        (start.saturating_sub(4)..start + 4).map(fill).find(|token| token.len() == length)
    };
    for (length, read) in [(8192, true), (8193, false), (9216, false)] {
        // Of four lengths one cannot be had in base64: the neighbours are as good.
        let token =
            of_length(length).or_else(|| of_length(if read { length - 1 } else { length + 1 }));
        assert_eq!(user(&identity(), &bearer(&token.unwrap())).is_some(), read, "{length}");
    }
}

/// Goal: only `Authorization: Bearer` is read.
/// Method: a good token behind other schemes, in other fields, and behind the scheme in other cases.
#[test]
fn only_a_bearer_is_read() {
    let good = hs256(json!({}));
    for (scheme, read) in [
        ("Bearer ", true),
        ("bearer ", true),
        ("BEARER ", true),
        ("  Bearer   ", true),
        ("", false),
        ("Bearer", false),
        ("Bearer\t", false),
        ("Basic ", false),
        ("Token ", false),
        ("Bearer Bearer ", false),
        ("Bearer: ", false),
        ("JWT ", false),
    ] {
        let headers = sent(&[("Authorization", &format!("{scheme}{good}"))]);
        assert_eq!(user(&identity(), &headers).is_some(), read, "{scheme:?}");
    }
    for other in ["X-Authorization", "Proxy-Authorization", "Cookie", "Authorization_", "X-Api-Key"]
    {
        assert_eq!(
            user(&identity(), &sent(&[(other, &format!("Bearer {good}"))])),
            None,
            "{other}"
        );
    }
    for junk in
        ["Bearer", "Bearer ", "Bearer .", "Bearer ..", "Bearer a.b.c", "Bearer \u{e9}.b.c", "", " "]
    {
        assert_eq!(user(&identity(), &sent(&[("Authorization", junk)])), None, "{junk:?}");
    }
}

/// Goal: the switch that is off is off.
/// Method: a good token, without tokens configured, on one line and on two.
#[test]
fn without_tokens_configured_none_is_read() {
    let good = format!("Bearer {}", hs256(json!({})));
    for identity in [Identity::default(), behind()] {
        assert_eq!(user(&identity, &sent(&[("Authorization", &good)])), None);
        assert_eq!(
            user(&identity, &sent(&[("Authorization", &good), ("Authorization", &good)])),
            None
        );
    }
}

/// Goal: row 20, duplicate lines. `Authorization` on two lines is refused, whatever is on them.
/// Method: good with good, good with bad, bad with good.
#[test]
fn row_20_authorization_on_two_lines_is_refused() {
    let good = format!("Bearer {}", hs256(json!({})));
    for (first, second) in [(&*good, &*good), (&good, "Bearer x"), ("Basic x", &good), ("", "")] {
        let headers = sent(&[("Authorization", first), ("authorization", second)]);
        for question in [0, 1, 2] {
            let answer = ask(&identity(), STRANGER, &headers, |caller| {
                let answers = [
                    caller.user().map(drop),
                    caller.tier().map(drop),
                    caller.claim("sub").map(drop),
                ];
                answers[question].map_err(Clone::clone)
            });
            let text = fault(answer);
            assert!(text.contains("`authorization`") && !text.contains("Bearer"), "{text}");
        }
    }
}

/// Goal: row 20. Varied tokens leave a caller one caller.
/// Method: a thousand made-up users in tokens signed with a key of the caller's own.
#[test]
fn row_20_made_up_users_are_one_caller() {
    let own = EncodingKey::from_secret(b"a secret of somebody else, 32 bytes");
    let tries = (0..1000).map(|number| {
        let token = sign(Algorithm::HS256, &own, &claims(json!({"sub": format!("user {number}")})));
        assert_eq!(user(&identity(), &bearer(&token)), None);
        ask(&identity(), STRANGER, &bearer(&token), |caller| caller.network().map_err(Clone::clone))
    });
    assert_eq!(callers(tries), 1);
}

/// Goal: nothing of a secret is shown.
/// Method: what an identity with a secret and what its parts say of themselves.
#[test]
fn a_secret_is_never_shown() {
    let shown = format!("{:?} {:?}", identity(), tokens());
    assert!(shown.contains("HS256") && shown.contains("sub"), "{shown}");
    assert!(!shown.contains("only tests know") && !shown.contains("97, 32, 115"), "{shown}");
}
