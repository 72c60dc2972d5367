//! Names in the store: a short prefix, a hash tag of who is counted, and 128 bits of a keyed hash of
//! rule, shape and key.
//!
//! Invariant: a name is made of the prefix, two braces and letters, digits, `-` and `_`, whatever the
//! user's key is; all buckets of one key have the same tag, so a cluster keeps them in one slot.

/// Bits of the tag: some for each of the 16384 slots.
const TAG_BITS: u32 = 18;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Who is counted, as far as it chooses the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u32);

impl Tag {
    /// The tag of who has this hash.
    pub(crate) fn of(who: u128) -> Tag {
        Tag((who >> (128 - TAG_BITS)) as u32)
    }

    /// The tag that the upper bits of an identity hold.
    pub(crate) fn of_id(id: u64) -> Tag {
        Tag((id << 1 >> (64 - TAG_BITS)) as u32)
    }

    /// An identity that leads to this tag: a flag, the tag, and what is `random`.
    pub(crate) fn id(self, flag: bool, random: u64) -> u64 {
        let tag = u64::from(self.0) << (63 - TAG_BITS);
        u64::from(flag) << 63 | tag | random >> (TAG_BITS + 1)
    }

    /// Any tag of a slot for which `is` holds.
    pub(super) fn such_that(is: impl Fn(u16) -> bool) -> Option<Tag> {
        (0..1 << TAG_BITS).map(Tag).find(|tag| is(tag.slot()))
    }

    /// The slot of a cluster.
    pub(super) fn slot(self) -> u16 {
        crc16(&self.digits()) % 16_384
    }

    fn digits(self) -> [u8; 3] {
        [12, 6, 0].map(|shift| DIGITS[(self.0 >> shift) as usize % 64])
    }
}

/// `prefix:{tag}` and the 22 digits of a hash, or others that are no hash's.
pub(super) fn bucket(prefix: &str, tag: Tag, hash: u128) -> Vec<u8> {
    let digits = (0..22).map(|place| DIGITS[(hash >> (6 * place)) as usize % 64]);
    tagged(prefix, tag).into_iter().chain(digits).collect()
}

/// The name of what is held by name: a permit or a hold. Its digits are fewer than a bucket's.
pub(super) fn record(prefix: &str, what: Held, id: u64) -> Vec<u8> {
    let letter = match what {
        Held::Permit => b'p',
        Held::Hold => b'h',
    };
    let digits = (0..11).map(|place| DIGITS[(id >> (6 * place)) as usize % 64]);
    tagged(prefix, Tag::of_id(id)).into_iter().chain([letter]).chain(digits).collect()
}

/// What is held by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Permit,
    Hold,
}

/// The name of something else that there is one of for each tag.
pub(super) fn other(prefix: &str, tag: Tag, what: &str) -> Vec<u8> {
    [&tagged(prefix, tag)[..], what.as_bytes()].concat()
}

/// The tag of a name; `None` if it is none of ours.
pub(super) fn tag_of(name: &[u8]) -> Option<Tag> {
    let start = name.iter().position(|byte| *byte == b'{')?;
    let digits = name.get(start + 1..start + 4)?;
    let digit = |byte: &u8| DIGITS.iter().position(|known| known == byte);
    let number = digits.iter().try_fold(0, |number, byte| Some(number << 6 | digit(byte)?))?;
    u32::try_from(number).ok().map(Tag)
}

fn tagged(prefix: &str, tag: Tag) -> Vec<u8> {
    [prefix.as_bytes(), b":{", &tag.digits(), b"}"].concat()
}

/// The checksum by which a cluster chooses the slot (CRC-16/XMODEM).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}
