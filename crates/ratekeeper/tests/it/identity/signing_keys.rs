//! Tokens as they are set up: by algorithms and a key.
//!
//! Invariant: a set-up that cannot verify anything, or that anybody could sign for, is refused.

use super::refused;
use ratekeeper::identity::{IdentityError, Tokens};

const RSA: &[u8] = include_bytes!("keys/rsa.public.pem");
const P256: &[u8] = include_bytes!("keys/ec-p256.public.pem");
const P384: &[u8] = include_bytes!("keys/ec-p384.public.pem");
const ED: &[u8] = include_bytes!("keys/ed25519.public.pem");

fn tokens(algorithms: &[&str], key: &[u8]) -> Result<Tokens, IdentityError> {
    Tokens::new(algorithms, key, "sub", Some("plan"))
}

/// Goal: algorithms of one family are taken with a key of theirs.
/// Method: all that there are.
#[test]
fn algorithms_are_taken_with_their_key() {
    for (algorithms, key) in [
        (vec!["RS256"], RSA),
        (vec!["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "RS256"], RSA),
        (vec!["ES256"], P256),
        (vec!["ES384"], P384),
        (vec!["EdDSA"], ED),
        (vec!["HS256", "HS384", "HS512"], &[7; 32]),
    ] {
        assert!(tokens(&algorithms, key).is_ok(), "{algorithms:?}");
    }
}

/// Goal: no algorithm, `none`, an unknown one, and two families are refused.
/// Method: each of them, in either order.
#[test]
fn algorithms_of_two_families_are_refused() {
    let wrong: [(&[&str], &str); 10] = [
        (&[], "there is none"),
        (&["none"], "nobody signed"),
        (&["None"], "nobody signed"),
        (&["RS256", "NONE"], "nobody signed"),
        (&["rs256"], "no such"),
        (&[""], "no such"),
        (&["ES512"], "no such"),
        (&["HS256", "RS256"], "one family"),
        (&["RS256", "HS256"], "one family"),
        (&["ES256", "EdDSA"], "one family"),
    ];
    for (algorithms, fault) in wrong {
        let text = refused(tokens(algorithms, RSA), "jwt.algorithms");
        assert!(text.contains(fault), "{text}");
    }
}

/// Goal: a secret has at least 32 bytes, and is no public key.
/// Method: both sides of the bound, and every public key; for algorithms of the secret's family.
#[test]
fn a_secret_is_long_and_no_public_key() {
    assert!(tokens(&["HS256"], &[7; 32]).is_ok());
    assert!(refused(tokens(&["HS256"], &[7; 31]), "jwt.key").contains("less than 32 bytes"));
    refused(tokens(&["HS512"], b""), "jwt.key");
    for public in [RSA, P256, P384, ED] {
        assert!(
            refused(tokens(&["HS256"], public), "jwt.key").contains("a public key is no secret")
        );
    }
}

/// Goal: a key of another kind, of another curve, too weak, private, or none at all is refused.
/// Method: each of them, with the words that say so.
#[test]
fn a_key_that_does_not_fit_is_refused() {
    let cut = &RSA[..RSA.len() / 2];
    let weak: &[u8] = include_bytes!("keys/rsa-weak.public.pem");
    let private: &[u8] = include_bytes!("keys/rsa.private.pem");
    let certificate: &[u8] = include_bytes!("keys/certificate.pem");
    let large = [RSA, &[b'\n'; 16 * 1024]].concat();
    let begun: &[u8] = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    for (algorithm, key, fault) in [
        ("RS256", P256, "is no RSA key"),
        ("ES256", RSA, "is no EC key"),
        ("EdDSA", P256, "is no Ed25519 key"),
        ("RS256", ED, "is no RSA key"),
        ("ES256", ED, "is no EC key"),
        ("EdDSA", RSA, "is no Ed25519 key"),
        ("ES256", P384, "another curve"),
        ("ES384", P256, "another curve"),
        ("RS256", weak, "less than 2048"),
        ("RS256", private, "private key"),
        ("PS256", certificate, "certificate"),
        ("RS256", cut, "is no RSA key"),
        ("RS256", begun, "is no RSA key"),
        ("ES256", begun, "is no EC key"),
        ("EdDSA", begun, "is no Ed25519 key"),
        ("RS256", b"", "no public key in PEM"),
        ("RS256", &[7; 32], "no public key in PEM"),
        ("RS256", b"\xff\xfe", "no public key in PEM"),
        ("RS256", &large, "larger than any key"),
    ] {
        let text = refused(tokens(&[algorithm], key), "jwt.key");
        assert!(text.contains(fault), "{algorithm}: {text}");
    }
    assert!(refused(tokens(&["ES256", "ES384"], P256), "jwt.key").contains("not both"));
}

/// Goal: claims have names of 1 to 256 bytes.
/// Method: both sides of each bound.
#[test]
fn claims_have_names() {
    let (longest, longer) = ("x".repeat(256), "x".repeat(257));
    assert!(Tokens::new(&["EdDSA"], ED, &longest, None).is_ok());
    for wrong in ["", &longer] {
        refused(Tokens::new(&["EdDSA"], ED, wrong, None), "jwt.user");
        refused(Tokens::new(&["EdDSA"], ED, "sub", Some(wrong)), "jwt.tier");
    }
}

/// Goal: neither a secret nor a key is in any text.
/// Method: what tokens say of themselves, and refusals of a secret that is too short.
#[test]
fn a_secret_is_never_shown() {
    let secret = b"SECRETSECRETSECRETSECRETSECRETSECRET";
    let good = tokens(&["HS256"], secret).unwrap().issuer("https://issuer").audience("api");
    let shown = format!("{good:?}");
    assert!(
        shown.contains("HS256") && shown.contains("https://issuer") && shown.contains("api"),
        "{shown}"
    );
    let refused =
        [tokens(&["HS256"], &secret[..12]), tokens(&["RS256"], secret)].map(Result::unwrap_err);
    for text in [shown, format!("{refused:?}")] {
        assert!(!text.contains("SECRET") && !text.contains("83, 69"), "{text}");
    }
}
