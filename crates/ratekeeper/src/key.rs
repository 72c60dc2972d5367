//! Who is counted: text or bytes, or several parts together.
//!
//! Invariant: two keys that differ in any byte of any part, or in where the parts are cut, are
//! different keys: `["a", "bc"]` is never `["ab", "c"]`. Only a keyed hash of them is ever stored.

#[cfg(feature = "redis")]
mod fleet;

use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

/// Something that can be counted: a string, bytes, or an array of such parts.
///
/// A single part and an array of that one part are the same key; an array of arrays is the list of
/// all their parts.
pub trait Key {
    /// The only part, if there is but one.
    fn single(&self) -> Option<&[u8]>;

    /// Hands every part over, in order.
    fn parts<F: FnMut(&[u8])>(&self, each: &mut F);
}

/// Keys of one part.
macro_rules! one_part {
    ($($key:ty),*) => {$(
        impl Key for $key {
            #[inline]
            fn single(&self) -> Option<&[u8]> {
                Some(self.as_ref())
            }

            fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
                each(self.as_ref());
            }
        }
    )*};
}

one_part!(str, String, [u8]);

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn single(&self) -> Option<&[u8]> {
        (**self).single()
    }

    fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
        (**self).parts(each);
    }
}

impl<K: Key> Key for [K] {
    fn single(&self) -> Option<&[u8]> {
        if let [only] = self { only.single() } else { None }
    }

    fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
        self.iter().for_each(|part| part.parts(each));
    }
}

/// Arrays and vectors are slices.
macro_rules! as_slice {
    ($([$($generics:tt)*] $key:ty),*) => {$(
        impl<$($generics)*> Key for $key {
            fn single(&self) -> Option<&[u8]> {
                self.as_slice().single()
            }

            fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
                self.as_slice().parts(each);
            }
        }
    )*};
}

as_slice!([K: Key, const N: usize] [K; N], [K: Key] Vec<K>);

/// Who is counted, as far as it is ever kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Who {
    /// The fingerprint in this process.
    pub(crate) local: u64,
    /// The hash in a store that is shared.
    #[cfg(feature = "redis")]
    pub(crate) shared: u128,
}

/// The key of the fingerprints: random for each limiter, so that nobody can search for collisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secret {
    single: SecretState,
    several: SecretState,
    #[cfg(feature = "redis")]
    fleet: Option<fleet::Fleet>,
}

/// SipHash-1-3 under a key of its own.
#[derive(Clone)]
struct SecretState(SipHasher13);

impl SecretState {
    fn of(first: u64, second: u64) -> SecretState {
        SecretState(SipHasher13::new_with_keys(first, second))
    }
}

/// Random; but loom wants every run to be the same.
impl Default for SecretState {
    fn default() -> SecretState {
        #[cfg(not(loom))]
        let random = |number: u64| std::hash::RandomState::new().hash_one(number);
        #[cfg(loom)]
        let random = |number: u64| number;
        SecretState::of(random(1), random(2))
    }
}

impl BuildHasher for SecretState {
    type Hasher = SipHasher13;

    #[inline]
    fn build_hasher(&self) -> SipHasher13 {
        self.0
    }
}

/// Shows nothing of its key.
impl fmt::Debug for SecretState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretState(…)")
    }
}

impl Secret {
    /// The secret of these keys.
    pub(crate) fn of_keys([a, b, c, d]: [u64; 4]) -> Secret {
        let (single, several) = (SecretState::of(a, b), SecretState::of(c, d));
        Secret {
            single,
            several,
            #[cfg(feature = "redis")]
            fleet: None,
        }
    }

    /// The keys, to be kept as secret as the keys that are counted.
    pub(crate) fn keys(&self) -> [u64; 4] {
        let ((a, b), (c, d)) = (self.single.0.keys(), self.several.0.keys());
        [a, b, c, d]
    }

    /// The secret of a limiter whose store is shared by a fleet.
    #[cfg(feature = "redis")]
    pub(crate) fn of_fleet(secret: Option<&[u8]>) -> Secret {
        Secret { fleet: Some(fleet::Fleet::new(secret)), ..Secret::default() }
    }

    /// Who has this hash in a store that is shared.
    #[cfg(feature = "redis")]
    pub(crate) fn who_is(&self, shared: u128) -> Who {
        Who { local: self.single.hash_one(shared), shared }
    }

    /// The name of a meter in a store that is shared.
    #[cfg(feature = "redis")]
    pub(crate) fn shared_name(&self, name: &str) -> u128 {
        self.fleet.as_ref().map_or(0, |fleet| fleet.name(name))
    }

    /// Who a key is.
    #[inline]
    pub(crate) fn who<K: Key + ?Sized>(&self, key: &K) -> Who {
        #[cfg(feature = "redis")]
        {
            if let Some(fleet) = &self.fleet {
                return self.who_is(fleet.hash(key));
            }
            Who { local: self.fingerprint(key), shared: 0 }
        }
        #[cfg(not(feature = "redis"))]
        Who { local: self.fingerprint(key) }
    }

    /// The keyed hash of a key. Each of several parts is followed by its length, so that, read from
    /// the end, they can be told apart; and several parts are hashed under another key than one.
    #[inline]
    fn fingerprint<K: Key + ?Sized>(&self, key: &K) -> u64 {
        if let Some(only) = key.single() {
            let mut hasher = self.single.build_hasher();
            hasher.write(only);
            return hasher.finish();
        }
        let mut hasher = self.several.build_hasher();
        key.parts(&mut |part| {
            hasher.write(part);
            hasher.write_u64(part.len() as u64);
        });
        hasher.finish()
    }

    /// What tells the buckets of one meter from those of others.
    pub(crate) fn salt(&self, name: &str) -> u64 {
        // As bytes alone, which no compiler lays out in another way.
        let mut hasher = self.several.build_hasher();
        hasher.write(name.as_bytes());
        hasher.finish()
    }
}
