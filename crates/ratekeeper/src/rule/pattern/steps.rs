//! A pattern as steps, and how a path walks through them.
//!
//! Invariant: a walk is at a set of steps, not at one, so its work is segments times steps and there
//! is no going back.

use super::SEGMENTS_MAX;
use super::fold::GHOST;
use std::borrow::Cow;

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// This segment.
    Name(Box<str>),
    /// One segment that is not empty.
    One,
    /// Any number of segments.
    Any,
}

/// Which steps come next, one bit each; the bit after the last step says that the walk is done.
type Places = u128;

// Each segment, a slash at the end, and the end itself have a bit.
const _: () = assert!(SEGMENTS_MAX + 2 <= Places::BITS as usize);

/// The steps of a canonical pattern. Two `**` in a row say no more than one.
pub(super) fn read<'a>(segments: impl Iterator<Item = Cow<'a, str>>) -> Box<[Step]> {
    let step = |segment: Cow<'a, str>| match &*segment {
        "*" => Step::One,
        "**" => Step::Any,
        name => Step::Name(name.into()),
    };
    let mut steps: Vec<Step> = segments.map(step).collect();
    steps.dedup_by(|next, last| *next == Step::Any && *last == Step::Any);
    steps.into()
}

/// Whether folded segments walk through these steps.
pub(super) fn generously<'a>(steps: &[Step], segments: impl Iterator<Item = &'a str>) -> bool {
    walk(
        steps,
        segments,
        |segment| segment == GHOST,
        |step, segment| match step {
            Step::Name(name) => **name == *segment,
            Step::One => true,
            Step::Any => false,
        },
    )
}

/// Whether segments, as they are, walk through these steps.
pub(super) fn strictly<'a>(steps: &[Step], segments: impl Iterator<Item = &'a str>) -> bool {
    walk(
        steps,
        segments,
        |_| false,
        |step, segment| match step {
            Step::Name(name) => **name == *segment,
            Step::One => !segment.is_empty(),
            Step::Any => false,
        },
    )
}

/// Whether all that walks through `other` walks through these steps; no, where that is not plain.
pub(super) fn include(steps: &[Step], other: &[Step]) -> bool {
    walk(
        steps,
        other.iter(),
        |_| false,
        |step, other| match (step, other) {
            (Step::One, Step::Name(name)) => !name.is_empty(),
            (Step::Any, _) | (_, Step::Any) => false,
            _ => step == other,
        },
    )
}

/// Walks from the first step. What may be skipped leaves the walk where it is, too.
fn walk<S: Copy>(
    steps: &[Step],
    segments: impl Iterator<Item = S>,
    may_skip: impl Fn(S) -> bool,
    takes: impl Fn(&Step, S) -> bool,
) -> bool {
    let mut places = with_skipped(steps, 1);
    for segment in segments {
        let mut next = if may_skip(segment) { places } else { 0 };
        for (number, step) in steps.iter().enumerate().filter(|(at, _)| places >> at & 1 == 1) {
            if *step == Step::Any {
                next |= 1 << number;
            } else if takes(step, segment) {
                next |= 1 << (number + 1);
            }
        }
        places = with_skipped(steps, next);
    }
    places >> steps.len() & 1 == 1
}

/// Wherever `**` comes next, so does what follows it.
fn with_skipped(steps: &[Step], mut places: Places) -> Places {
    for (number, _) in steps.iter().enumerate().filter(|(_, step)| **step == Step::Any) {
        places |= (places >> number & 1) << (number + 1);
    }
    places
}
