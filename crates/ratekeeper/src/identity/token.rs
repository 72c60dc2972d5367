//! Tokens: JSON Web Tokens in `Authorization: Bearer`, verified by one key.
//!
//! Whether a token is over is told by the wall clock and not by the limiter's, which stands still
//! while a machine sleeps. Invariant: a claim is believed only if the signature is by an algorithm
//! that was named beforehand, all of one family, with the key of that family, and the dates hold.

mod key;

use super::forwarded::trimmed;
use super::{Arc, IdentityError, fmt};
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The header field, in lower case.
pub(super) const AUTHORIZATION: &str = "authorization";

/// Longest token that is looked at.
const TOKEN_MAX: usize = 8 * 1024;

/// Seconds by which two clocks may be apart.
const LEEWAY: u64 = 30;

/// Longest name of a claim.
const CLAIM_MAX: usize = 256;

/// How tokens are verified, and which claims say who it is.
///
/// A token has to have an `exp` that is not over, an `nbf`, if any, that has come (both with 30
/// seconds of grace), and a user. One with an `aud` is for somebody: it is nobody here unless
/// [`audience`](Tokens::audience) says so. A token that is refused is none: its caller is counted by
/// address.
#[derive(Clone)]
pub struct Tokens {
    key: DecodingKey,
    validation: Validation,
    user_claim: Arc<str>,
    tier_claim: Option<Arc<str>>,
}

impl Tokens {
    /// Tokens that are signed by one of these algorithms (`RS256`, `ES256`, `EdDSA`, `HS256` and
    /// their like, all of one family), with the public key in PEM, or the secret if it is `HS`.
    ///
    /// It makes `RustCrypto` the cryptography of the crate `jsonwebtoken`, unless the program has
    /// installed another.
    ///
    /// # Errors
    ///
    /// If an algorithm is unknown or of another family than the first, the key is not one for them or
    /// too weak, or the name of a claim is empty or too long.
    pub fn new(
        algorithms: &[&str],
        key: &[u8],
        user_claim: &str,
        tier_claim: Option<&str>,
    ) -> Result<Tokens, IdentityError> {
        for (setting, claim) in [("user", Some(user_claim)), ("tier", tier_claim)] {
            if claim.is_some_and(|claim| claim.is_empty() || claim.len() > CLAIM_MAX) {
                return Err(IdentityError::new(format!(
                    "jwt.{setting}: the name of the claim is empty or longer than {CLAIM_MAX} bytes; \
                     write such as `sub`"
                )));
            }
        }
        let algorithms = read_algorithms(algorithms)?;
        let key = key::read(&algorithms, key)?;
        // Where another crate has switched on a second cryptography, none is the default, and the
        // first token would end in a panic. One that is installed stays.
        let _ = DEFAULT_PROVIDER.install_default();
        let mut validation = Validation {
            algorithms,
            leeway: LEEWAY,
            validate_exp: true,
            validate_nbf: true,
            ..Validation::default()
        };
        validation.set_required_spec_claims(&["exp"]);
        let (user_claim, tier_claim) = (user_claim.into(), tier_claim.map(Arc::from));
        Ok(Tokens { key, validation, user_claim, tier_claim })
    }

    /// Only tokens of this issuer, or of one given before.
    #[must_use]
    pub fn issuer(mut self, issuer: &str) -> Tokens {
        self.validation.iss.get_or_insert_default().insert(issuer.to_owned());
        self.validation.required_spec_claims.insert("iss".to_owned());
        self
    }

    /// Only tokens for this audience, or for one given before.
    #[must_use]
    pub fn audience(mut self, audience: &str) -> Tokens {
        self.validation.aud.get_or_insert_default().insert(audience.to_owned());
        self.validation.required_spec_claims.insert("aud".to_owned());
        self
    }

    /// What a value of `Authorization` proves, if anything.
    pub(super) fn verified(&self, authorization: &[u8]) -> Option<Verified> {
        let token = bearer(authorization)?;
        if token.len() > TOKEN_MAX {
            return None;
        }
        let token = decode::<Map<String, Value>>(token, &self.key, &self.validation).ok()?;
        // Extensions that have to be understood; we understand none.
        if token.header.crit.is_some() {
            return None;
        }
        let claims = token.claims;
        let user = match claims.get(&*self.user_claim)? {
            Value::Bool(_) => return None,
            user => text(user)?.into_owned(),
        };
        let tier = self.tier_claim.as_deref().and_then(|claim| claims.get(claim)?.as_str());
        let tier = tier.filter(|tier| !tier.is_empty()).map(str::to_owned);
        Some(Verified { user, tier, claims })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tokens");
        shown.field("algorithms", &self.validation.algorithms);
        shown.field("user", &self.user_claim).field("tier", &self.tier_claim);
        shown.field("issuers", &self.validation.iss).field("audiences", &self.validation.aud);
        shown.finish_non_exhaustive()
    }
}

/// What a token proves.
pub(super) struct Verified {
    pub(super) user: String,
    pub(super) tier: Option<String>,
    pub(super) claims: Map<String, Value>,
}

/// A claim as text: text that is not empty, integers and booleans.
pub(super) fn text(claim: &Value) -> Option<Cow<'_, str>> {
    match claim {
        Value::String(text) if !text.is_empty() => Some(Cow::Borrowed(text)),
        Value::Bool(truth) => Some(Cow::Borrowed(if *truth { "true" } else { "false" })),
        // An integer beyond 64 bits is read as the nearest fraction, which others are near to too.
        Value::Number(number) if number.is_u64() || number.is_i64() => {
            Some(Cow::Owned(number.to_string()))
        }
        _ => None,
    }
}

/// The token behind the word `Bearer`.
fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = trimmed(authorization).split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| trimmed(token))
}

fn read_algorithms(names: &[&str]) -> Result<Vec<Algorithm>, IdentityError> {
    let refused = |fault: String| Err(IdentityError::new(format!("jwt.algorithms: {fault}")));
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for name in names {
        let Ok(algorithm) = name.parse::<Algorithm>() else {
            let known = "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA, HS256, \
                         HS384, HS512";
            return refused(match name.eq_ignore_ascii_case("none") {
                true => format!("a token that nobody signed proves nothing; write one of {known}"),
                false => format!("there is no such algorithm; write one of {known}"),
            });
        };
        if algorithms.first().is_some_and(|first| first.family() != algorithm.family()) {
            return refused(format!(
                "{algorithm:?} needs another kind of key than {:?}, and would let a public key pass \
                 for a secret; write algorithms of one family",
                algorithms[0]
            ));
        }
        if !algorithms.contains(&algorithm) {
            algorithms.push(algorithm);
        }
    }
    match algorithms.is_empty() {
        true => refused("there is none; write the one that your issuer signs with".to_owned()),
        false => Ok(algorithms),
    }
}
