//! Hashes that a whole fleet agrees on: 128 bits, under a secret or a fixed public key, the same in
//! every process and for years.
//!
//! Invariant: what is hashed is text and lengths in a fixed order of bytes, nothing that a compiler or a
//! machine could lay out in another way.

use super::Key;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::fmt;
use std::hash::Hasher;

/// The key of the hash where no secret is set. It hides nothing from who can guess keys.
const PUBLIC: &[u8; 16] = b"ratekeeper names";

#[derive(Clone)]
pub(super) struct Fleet {
    single: SipHasher24,
    several: SipHasher24,
    names: SipHasher24,
}

/// Shows nothing of its keys.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fleet(…)")
    }
}

impl Fleet {
    pub(super) fn new(secret: Option<&[u8]>) -> Fleet {
        let key = |purpose: &[u8]| {
            let mut hasher = SipHasher24::new_with_key(PUBLIC);
            write(&mut hasher, purpose);
            write(&mut hasher, secret.unwrap_or_default());
            SipHasher24::new_with_key(&hasher.finish128().as_u128().to_le_bytes())
        };
        Fleet { single: key(b"single"), several: key(b"several"), names: key(b"names") }
    }

    /// The hash of a key. A single part has its own, so that no list of parts is the same.
    pub(super) fn hash<K: Key + ?Sized>(&self, key: &K) -> u128 {
        if let Some(only) = key.single() {
            let mut hasher = self.single;
            write(&mut hasher, only);
            return hasher.finish128().as_u128();
        }
        let mut hasher = self.several;
        key.parts(&mut |part| write(&mut hasher, part));
        hasher.finish128().as_u128()
    }

    /// The hash of a meter's name.
    pub(super) fn name(&self, name: &str) -> u128 {
        let mut hasher = self.names;
        write(&mut hasher, name.as_bytes());
        hasher.finish128().as_u128()
    }
}

/// Each part is followed by its length, so that, read from the end, parts can be told apart.
fn write(hasher: &mut SipHasher24, part: &[u8]) {
    hasher.write(part);
    hasher.write(&(part.len() as u64).to_le_bytes());
}
