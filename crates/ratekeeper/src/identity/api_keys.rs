//! API keys: known by their hashes, found by the hash of what a caller brings.
//!
//! Keys are long and random, so that a plain SHA-256 hides them; and since what is looked up is a
//! hash, the time that it takes tells nothing about keys that exist. Invariant: no key itself is
//! stored, shown or named in an error.

use super::forwarded::trimmed;
use super::{Arc, IdentityError, fmt};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Longest key that is hashed; a longer one is unknown.
const KEY_MAX: usize = 256;

/// Longest id, owner or tier.
const TEXT_MAX: usize = 256;

/// Most keys.
const KEYS_MAX: usize = 1_000_000;

/// What stands before the digits of a hash.
const SCHEME: &str = "sha256:";

/// Digits of a hash.
const DIGITS: usize = 64;

/// One key that is known.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The name of the key, which is no secret.
    pub id: Arc<str>,
    /// Whose it is: the user.
    pub owner: Arc<str>,
    /// The owner's tier.
    pub tier: Option<Arc<str>>,
    /// The SHA-256 of the key, as [`hash_of`](ApiKey::hash_of) gives it.
    pub hash: [u8; 32],
}

impl ApiKey {
    /// The hash of a key.
    pub fn hash_of(key: &[u8]) -> [u8; 32] {
        Sha256::digest(key).into()
    }

    /// A hash as it is written in files: `sha256:` and 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// If it is anything else, or the hash of nothing.
    pub fn parse_hash(text: &str) -> Result<[u8; 32], IdentityError> {
        // What is written here may be the key itself, so that it is not repeated.
        let refused = |fault: &str| {
            Err(IdentityError::new(format!(
                "the hash {fault}; write `{SCHEME}` and the {DIGITS} digits that \
                 `printf %s KEY | sha256sum` prints"
            )))
        };
        let Some(digits) = text.strip_prefix(SCHEME) else {
            return refused("does not begin with `sha256:`");
        };
        if digits.len() != DIGITS {
            return refused(&format!("has {} digits", digits.chars().count()));
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit =
                |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
                return refused("has something that is no hexadecimal digit");
            };
            *byte = high << 4 | low;
        }
        if hash == ApiKey::hash_of(b"") {
            return refused("is that of an empty key");
        }
        Ok(hash)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ApiKey");
        shown.field("id", &self.id).field("owner", &self.owner).field("tier", &self.tier);
        shown.finish_non_exhaustive()
    }
}

/// All keys that are known.
pub(super) struct ApiKeys {
    /// In lower case.
    pub(super) header: Arc<str>,
    by_hash: HashMap<[u8; 32], ApiKey>,
}

impl ApiKeys {
    pub(super) fn new(
        header: Arc<str>,
        keys: impl IntoIterator<Item = ApiKey>,
    ) -> Result<ApiKeys, IdentityError> {
        let mut by_hash: HashMap<[u8; 32], ApiKey> = HashMap::new();
        let mut ids = std::collections::HashSet::new();
        for (number, key) in (1..).zip(keys) {
            let refused = |fault: String| Err(IdentityError::new(format!("api_key.keys: {fault}")));
            if number > KEYS_MAX {
                return refused(format!("more than {KEYS_MAX} keys; remove some"));
            }
            let fields =
                [("id", Some(&key.id)), ("owner", Some(&key.owner)), ("tier", key.tier.as_ref())];
            for (field, text) in fields.into_iter().filter_map(|(name, text)| Some((name, text?))) {
                if text.is_empty() || text.len() > TEXT_MAX {
                    return refused(format!(
                        "key number {number}: `{field}` is empty or longer than {TEXT_MAX} bytes; \
                         write one of 1 to {TEXT_MAX} bytes"
                    ));
                }
            }
            if !ids.insert(key.id.clone()) {
                return refused(format!("two keys have the id {:?}; rename one", key.id));
            }
            match by_hash.entry(key.hash) {
                Entry::Vacant(place) => drop(place.insert(key)),
                Entry::Occupied(other) => {
                    let (id, other) = (&key.id, &other.get().id);
                    return refused(format!("{other:?} and {id:?} are the same key; remove one"));
                }
            }
        }
        Ok(ApiKeys { header, by_hash })
    }

    /// The key that this value of the header is, if it is known.
    pub(super) fn verified(&self, value: &[u8]) -> Option<&ApiKey> {
        let key = trimmed(value);
        if key.is_empty() || key.len() > KEY_MAX {
            return None;
        }
        self.by_hash.get(&ApiKey::hash_of(key))
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ApiKeys");
        shown.field("header", &self.header).field("count", &self.by_hash.len()).finish()
    }
}
