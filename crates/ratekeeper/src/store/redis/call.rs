//! One call of a script, whose keys have one tag; or several of them that go as one.
//!
//! Invariant: a call that charges is one request, all or none; what several of them are told lies one after the
//! other, in their order.

use super::ask::Seen;
use super::name::Tag;
use super::script::{Part, Script, Scripts};
use crate::algorithm::NOW_MAX;
use redis::Value;
use tokio::time::Instant;

pub(super) struct Call {
    pub(super) charges: bool,
    pub(super) tag: Tag,
    /// The time, where it is given.
    pub(super) given: Option<u64>,
    pub(super) deadline: Instant,
    pub(super) parts: Vec<Part>,
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) args: Vec<Vec<u8>>,
}

/// What a script said: the time, and of each key what it reports.
pub(super) struct Told {
    pub(super) now: u64,
    pub(super) rows: Vec<Seen>,
}

/// A script, and what it is called with.
pub(super) struct Texts<'a> {
    pub(super) script: &'a Script,
    pub(super) keys: Vec<&'a [u8]>,
    pub(super) args: Vec<&'a [u8]>,
}

impl Call {
    pub(super) fn new(charges: bool, tag: Tag, given: Option<u64>, deadline: Instant) -> Call {
        let (parts, keys, args) = (Vec::new(), Vec::new(), Vec::new());
        Call { charges, tag, given, deadline, parts, keys, args }
    }

    pub(super) fn add(&mut self, part: Part, key: Vec<u8>, argument: Vec<u8>) {
        self.parts.push(part);
        self.keys.push(key);
        self.args.push(argument);
    }

    /// Whether it can go with others. What brings something over from a former name goes alone; and so do permits,
    /// since who leaves gives them back, which has to come after they were taken.
    pub(super) fn is_sociable(&self) -> bool {
        let alone = |part: &Part| matches!(part, Part::Former | Part::Permits | Part::Plain);
        self.charges && !self.parts.iter().any(alone)
    }

    /// Whether its script is the one for requests that came together.
    fn is_sized(&self) -> bool {
        self.charges && !self.parts.contains(&Part::Former)
    }

    /// How many rows it is told.
    fn rows(&self) -> usize {
        match self.charges {
            true => 1 + self.keys.len(),
            false => 2 * self.keys.len(),
        }
    }
}

/// What one script is called with for all of these, which are of one time, if it is given, and alone unless they
/// are sociable. `sizes` and `given` are written down first.
pub(super) fn texts<'a>(
    calls: &[&'a Call],
    sizes: &'a mut Vec<u8>,
    given: &'a mut Vec<u8>,
) -> Texts<'a> {
    let time = calls.first().and_then(|call| call.given);
    let sized = calls.iter().all(|call| call.is_sized());
    let (mut parts, mut keys, mut args) = (Vec::new(), Vec::new(), Vec::new());
    if sized {
        for call in calls {
            sizes.extend(u16::try_from(call.keys.len()).unwrap_or(u16::MAX).to_be_bytes());
        }
        args.push(&sizes[..]);
    }
    let mut last: &[u8] = b"";
    for call in calls {
        parts.extend(&call.parts);
        keys.extend(call.keys.iter().map(Vec::as_slice));
        for arg in &call.args {
            let same = sized && arg == last;
            args.push(if same { b"" } else { arg });
            last = arg;
        }
    }
    let charges = calls.iter().any(|call| call.charges);
    let script = Scripts::of(time.is_some()).get(charges, parts.into_iter());
    if let Some(time) = time {
        given.extend(time.to_string().into_bytes());
        args.push(&given[..]);
    }
    Texts { script, keys, args }
}

/// What each of the calls is told; `None` if the answer is none of our scripts'.
pub(super) fn told(answer: Value, calls: &[&Call]) -> Option<Vec<Told>> {
    let (now, mut rows) = read(answer)?;
    if rows.len() != calls.iter().map(|call| call.rows()).sum::<usize>() {
        return None;
    }
    let mut each: Vec<Told> = Vec::with_capacity(calls.len());
    for call in calls.iter().rev() {
        each.push(Told { now, rows: rows.split_off(rows.len() - call.rows()) });
    }
    each.reverse();
    Some(each)
}

/// The time, and what follows it.
pub(super) fn read(answer: Value) -> Option<(u64, Vec<Seen>)> {
    let Value::Array(values) = answer else { return None };
    let mut values = values.into_iter();
    let Some(Value::Int(now)) = values.next() else { return None };
    let seen = values.map(|value| match value {
        Value::Nil => Some(Seen::Nothing),
        Value::BulkString(text) => Some(Seen::Text(text)),
        Value::Int(0) => Some(Seen::Alien),
        Value::Int(number) => Some(Seen::Flags(u64::try_from(number).ok()?)),
        _ => None,
    });
    Some((u64::try_from(now).ok()?.min(NOW_MAX), seen.collect::<Option<_>>()?))
}
