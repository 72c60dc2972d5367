//! One bucket of a request, as the scripts read it, and what they report of it.
//!
//! The script decides; every figure of the answer is then computed here, from the state and the time
//! that it reports, by the very functions that the memory store uses. Invariant: numbers that a script
//! is given are whole and within 2^53.

use super::super::{Charge, Kind, Stamp};
use super::script::Part;
use super::{Share, Taken};
use crate::algorithm::bucket::Arrival;

/// The largest number of a script.
const MOST: u64 = (1 << 53) - 1;

/// What is asked of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// Give units back.
    Refund(u64),
    /// A charge of so many units, which went there, was so many in truth.
    Settle { stamp: Stamp, held: u64, actual: u64 },
    /// Give a permit back.
    Release(u64),
    /// Forget what was used; of permits, those by name.
    Forget,
}

/// What a script reports of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There is none: it is whole.
    Nothing,
    /// What it holds, or a summary.
    Text(Vec<u8>),
    /// Something that is not ours.
    Alien,
    /// Not of a bucket: that something was done, and what.
    Flags(u64),
}

fn numbers(letter: u8, numbers: &[u64]) -> Vec<u8> {
    let bytes = numbers.iter().flat_map(|number| number.min(&MOST).to_le_bytes());
    [letter].into_iter().chain(bytes).collect()
}

pub(super) fn part_of(kind: &Kind) -> Part {
    match kind {
        Kind::Fixed(_) => Part::Fixed,
        Kind::Log(_) => Part::Log,
        Kind::Counter(_) => Part::Counter,
        Kind::Bucket(_) | Kind::Shaping(_) => Part::Bucket,
        Kind::Concurrency(_) => Part::Permits,
    }
}

/// The argument that charges a bucket, or only looks at it. A permit has this identity, and is held for
/// as long beyond its time as its turn is away.
pub(super) fn charge(
    charge: &Charge<'_>,
    looks: bool,
    patience: u64,
    taken: &Taken<'_>,
    later: u64,
) -> Vec<u8> {
    let (cost, letter) =
        (if looks { 0 } else { charge.cost }, part_of(&charge.meter.kind).letter(true));
    let amount = charge.meter.shown;
    match &charge.meter.kind {
        Kind::Bucket(bucket) => bucket_charge(letter, bucket, cost, MOST),
        Kind::Shaping(shaping) => {
            let wait = shaping.max_wait().min(patience).min(MOST - 1);
            bucket_charge(letter, shaping.bucket(), cost, wait)
        }
        Kind::Fixed(window) => numbers(letter, &[cost, amount, window.period()]),
        Kind::Counter(counter) => numbers(letter, &[cost, amount, counter.period()]),
        // What would have to go for a cost, only the script can see.
        Kind::Log(log) => numbers(letter, &[charge.cost, amount, log.period(), u64::from(looks)]),
        Kind::Concurrency(_) => {
            let hold = charge.meter.hold.min(taken.hold_most) + later;
            let mut argument = numbers(letter, &[cost, amount, hold]);
            argument.extend(taken.id.to_be_bytes());
            argument
        }
    }
}

/// The argument that charges a bucket a cost and a share beside it, if so much is left as the share says, else the
/// cost alone.
pub(super) fn share(charge: &Charge<'_>, share: Share, taken: &Taken<'_>) -> Vec<u8> {
    let units = [charge.cost.saturating_add(share.spare), charge.cost + share.units, charge.cost];
    let each = units.map(|units| self::charge(&charge.for_units(units), false, 0, taken, 0));
    [&b"+"[..], &each[0], &each[1], &each[2]].concat()
}

fn bucket_charge(
    letter: u8,
    bucket: &crate::algorithm::bucket::Bucket,
    cost: u64,
    wait: u64,
) -> Vec<u8> {
    let (cost, full) = (bucket.time_of(cost), bucket.time_of_full());
    numbers(letter, &[cost.tick, cost.part, full.tick, full.part, bucket.drain(), wait])
}

/// The argument that charges a thousandth of a bucket of which a tick drains one.
pub(super) fn probe() -> Vec<u8> {
    numbers(Part::Bucket.letter(true), &[1, 0, 1_000, 0, 1, MOST])
}

/// The argument that stands before a bucket that had another name.
pub(super) fn former() -> Vec<u8> {
    vec![Part::Former.letter(true)]
}

/// The argument that puts a bucket under its new name.
pub(super) fn brought(arrival: Arrival) -> Vec<u8> {
    let Arrival { tick, part } = arrival;
    let text = if part == 0 { format!("1{tick}") } else { format!("1{tick}:{part}") };
    [&numbers(Part::Former.letter(false), &[arrival.up()])[..], text.as_bytes()].concat()
}

/// The argument that forgets a key.
pub(super) fn forget() -> Vec<u8> {
    vec![Part::Plain.letter(false)]
}

/// The argument that makes a record for so many ticks.
pub(super) fn record(ticks: u64, text: &[u8]) -> Vec<u8> {
    [&numbers(Part::Plain.letter(true), &[ticks])[..], text].concat()
}

/// The argument that gives a permit back.
pub(super) fn release(id: u64) -> Vec<u8> {
    [&numbers(Part::Permits.letter(false), &[0])[..], &id.to_be_bytes()[..]].concat()
}

/// The argument by which something comes back to a bucket, and the part of the script.
pub(super) fn back(kind: &Kind, amount: u64, back: Back) -> (Part, Vec<u8>) {
    let part = part_of(kind);
    let letter = part.letter(false);
    let argument = match (kind, back) {
        (Kind::Concurrency(_), Back::Release(id)) => release(id),
        (Kind::Concurrency(_), Back::Forget) => numbers(letter, &[1, 0]),
        (_, Back::Forget) => return (Part::Plain, forget()),
        (Kind::Bucket(bucket), back) => bucket_back(letter, bucket, back, false),
        (Kind::Shaping(shaping), back) => bucket_back(letter, shaping.bucket(), back, true),
        (Kind::Fixed(window), back) => {
            let index = |stamp: Stamp| stamp.tick / window.period();
            window_back(letter, amount, window.period(), back, index)
        }
        (Kind::Counter(counter), back) => {
            window_back(letter, amount, counter.period(), back, |stamp| stamp.tick)
        }
        (Kind::Log(log), back) => {
            window_back(letter, amount, log.period(), back, |stamp| stamp.tick)
        }
        (Kind::Concurrency(_), Back::Refund(_) | Back::Settle { .. }) => release(0),
    };
    (part, argument)
}

fn bucket_back(
    letter: u8,
    bucket: &crate::algorithm::bucket::Bucket,
    back: Back,
    shapes: bool,
) -> Vec<u8> {
    let zero = Arrival::default();
    let any = Arrival { tick: MOST, part: 0 };
    let (give, over, held, at, last) = match back {
        Back::Settle { stamp, held, actual } if actual > held => {
            (zero, bucket.time_of(actual - held), zero, stamp.into(), shapes)
        }
        Back::Settle { stamp, held, actual } => {
            (bucket.time_of(held - actual), zero, bucket.time_of(held), stamp.into(), shapes)
        }
        Back::Refund(units) => (bucket.time_of(units), zero, any, any, false),
        Back::Release(_) | Back::Forget => (zero, zero, zero, any, false),
    };
    let full = bucket.time_of_full();
    let pairs = [give, over, held, at, full].into_iter().flat_map(|time| [time.tick, time.part]);
    let rest = [bucket.drain(), u64::from(last)];
    numbers(letter, &pairs.chain(rest).collect::<Vec<u64>>())
}

fn window_back(
    letter: u8,
    amount: u64,
    period: u64,
    back: Back,
    index: impl Fn(Stamp) -> u64,
) -> Vec<u8> {
    let [settles, held, used, at] = match back {
        Back::Settle { stamp, held, actual } => [1, held, actual, index(stamp)],
        Back::Refund(units) => [0, units, 0, 0],
        Back::Release(_) | Back::Forget => [0; 4],
    };
    numbers(letter, &[amount, period, settles, held, used, at])
}
