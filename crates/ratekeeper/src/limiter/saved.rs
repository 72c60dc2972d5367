//! The state of a memory store as bytes, so that a restart is no amnesty.
//!
//! Invariants: keys are in it as hashes, and the key of the hash with them, so the bytes are to be kept as
//! secret as the keys are; bytes that are damaged are refused as a whole.

use super::Limiter;
use crate::key::Secret;
use crate::store::memory::Kept;
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;
use std::io::{self, Write};

/// What the bytes begin with; the last of it is the version.
const MAGIC: &[u8; 8] = b"RKSTATE1";

/// Where the first bucket begins: after the four keys and the time.
const FIRST: usize = MAGIC.len() + 5 * size_of::<u64>();

/// Most entries of one log.
const ENTRIES_MAX: u32 = 1 << 24;

/// The state of a memory store that was saved; see [`Builder::saved`](super::Builder::saved).
#[derive(Clone)]
pub struct Saved {
    pub(super) keys: [u64; 4],
    /// The tick at which it was saved.
    pub(super) at: u64,
    /// All of it, as it was written: a bucket takes less room there than anywhere else.
    bytes: Vec<u8>,
    count: u64,
}

/// Bytes that are no saved state, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSaved(&'static str);

impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the saved state {}", self.0)
    }
}

impl std::error::Error for NotSaved {}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} buckets", self.count)
    }
}

impl Limiter {
    /// Writes what the memory store holds, permits and what was reserved by name excepted; how many
    /// buckets. Decisions go on meanwhile.
    ///
    /// ```
    /// use ratekeeper::Limiter;
    /// use ratekeeper::limiter::Saved;
    ///
    /// let mut bytes = Vec::new();
    /// let before = Limiter::memory().rule("api", "5/hour")?.build();
    /// before.rule("api")?.check("alice").cost(4).try_now()?;
    /// before.save(&mut bytes)?;
    /// let after = Limiter::memory().rule("api", "5/hour")?.saved(Saved::read(bytes)?).build();
    /// assert_eq!(after.rule("api")?.peek("alice").try_now()?.remaining(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, to: &mut dyn Write) -> io::Result<u64> {
        let mut out = Out { to, sum: SipHasher13::new(), done: Ok(()) };
        out.put(MAGIC);
        self.0.secret.keys().iter().for_each(|key| out.number(*key));
        let (now, mut count) = (self.0.clock.now(), 0);
        out.number(now);
        self.0.store.each_kept(now, |kept| {
            count += 1;
            out.bucket(&kept);
        });
        out.put(&[0]);
        out.number(count);
        let sum = out.sum.finish();
        out.number(sum);
        out.done.map(|()| count)
    }
}

/// Writes, and sums up what was written; the first failure stays.
struct Out<'a> {
    to: &'a mut dyn Write,
    sum: SipHasher13,
    done: io::Result<()>,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) {
        if self.done.is_ok() {
            self.sum.write(bytes);
            self.done = self.to.write_all(bytes);
        }
    }

    fn number(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    fn head(&mut self, kind: u8, spent: bool, bucket: u64) {
        self.put(&[kind | u8::from(spent) << 7]);
        self.number(bucket);
    }

    fn bucket(&mut self, kept: &Kept) {
        match kept {
            Kept::One { bucket, spent, words } => {
                self.head(1, *spent, *bucket);
                words.iter().for_each(|word| self.number(*word));
            }
            Kept::Two { bucket, spent, words } => {
                self.head(2, *spent, *bucket);
                words.iter().for_each(|word| self.number(*word));
            }
            Kept::Log { bucket, spent, whole_at, entries } => {
                self.head(3, *spent, *bucket);
                self.number(*whole_at);
                self.put(&(entries.len() as u32).to_le_bytes());
                for (at, cost) in entries {
                    self.number(*at);
                    self.number(*cost);
                }
            }
        }
    }
}

impl Saved {
    /// Reads what [`Limiter::save`] wrote.
    pub fn read(bytes: Vec<u8>) -> Result<Saved, NotSaved> {
        let (rest, sum) = bytes.split_last_chunk().ok_or(NotSaved("is too short"))?;
        let mut hasher = SipHasher13::new();
        // As it was written: a hash of the same bytes in other pieces is the same.
        hasher.write(rest);
        if !rest.starts_with(MAGIC) {
            return Err(NotSaved("is of another version, or of something else"));
        }
        if hasher.finish() != u64::from_le_bytes(*sum) {
            return Err(NotSaved("is damaged"));
        }
        let found = Saved::parse(&mut In(&rest[MAGIC.len()..]));
        let (keys, at, count) = found.ok_or(NotSaved("is damaged"))?;
        Ok(Saved { keys, at, count, bytes })
    }

    /// The keys, the time and how many buckets there are, if all of it can be read.
    fn parse(from: &mut In<'_>) -> Option<([u64; 4], u64, u64)> {
        let keys = [from.number()?, from.number()?, from.number()?, from.number()?];
        let (at, mut count) = (from.number()?, 0);
        while from.bucket()?.is_some() {
            count += 1;
        }
        (from.number()? == count && from.0.is_empty()).then_some((keys, at, count))
    }

    /// The buckets, each as it is asked for.
    pub(super) fn buckets(&self) -> impl Iterator<Item = Kept> + '_ {
        let mut from = In(self.bytes.get(FIRST..).unwrap_or_default());
        // All of it could be read before.
        std::iter::from_fn(move || from.bucket().flatten())
    }

    /// The key of the hashes.
    pub(super) fn secret(&self) -> Secret {
        Secret::of_keys(self.keys)
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (own, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*own)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// The next bucket, or none if that was the last; nothing if it cannot be read.
    fn bucket(&mut self) -> Option<Option<Kept>> {
        let [head] = self.take()?;
        let (kind, spent) = (head & 0x7f, head & 0x80 != 0);
        if kind == 0 {
            return Some(None);
        }
        let bucket = self.number()?;
        Some(Some(match kind {
            1 => Kept::One { bucket, spent, words: [self.number()?] },
            2 => Kept::Two { bucket, spent, words: [self.number()?, self.number()?] },
            3 => {
                let (whole_at, count) = (self.number()?, u32::from_le_bytes(self.take()?));
                let entries = (0..count.min(ENTRIES_MAX))
                    .map(|_| Some((self.number()?, self.number()?)))
                    .collect::<Option<_>>()?;
                Kept::Log { bucket, spent, whole_at, entries }
            }
            _ => return None,
        }))
    }
}
