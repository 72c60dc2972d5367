//! Limits of single keys that are set while the server runs.
//!
//! They are read as one more rule file, after those of the release, so they mean what they would mean there,
//! and stand above what is there. Invariant: each is on a line of its own, so that a fault names the one that it
//! is of; one that no longer fits the rules is left out, and told, and never keeps a release from being accepted.

use crate::config::Faults;
use ratekeeper::rule::file::Source;
use serde_json::{Value, json};

/// Most overrides that are set while the server runs. Beyond it: 422.
pub const OVERRIDES_MAX: usize = 10_000;

/// The name of their file, which only faults show.
pub(crate) const NAME: &str = "overrides set by calls";

/// The name of what came with a call, which only faults show.
pub(crate) const BODY: &str = "body";

/// Lines before the first.
const BEFORE: usize = 1;

/// All of them, as a file; none if there are none.
pub(crate) fn source(overrides: &[Value]) -> Option<Source> {
    if overrides.is_empty() {
        return None;
    }
    let lines: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let text = format!("{{\"overrides\":[\n{}\n]}}\n", lines.join(",\n"));
    Some(Source { name: NAME.into(), text })
}

/// Which of them have these faults; none if a fault is elsewhere.
pub(crate) fn faulty(faults: &Faults, most: usize) -> Option<Vec<usize>> {
    let number = |line: u32| (line as usize).checked_sub(BEFORE + 1).filter(|index| *index < most);
    let each = faults.listed.iter().map(|fault| number(fault.line).filter(|_| fault.file == NAME));
    let mut found: Vec<usize> = each.collect::<Option<_>>()?;
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// The faults that are not theirs: an override of a faulty rule is no fault of its own.
pub(crate) fn elsewhere(mut faults: Faults) -> Faults {
    if faults.listed.iter().any(|fault| fault.file != NAME) {
        faults.listed.retain(|fault| fault.file != NAME);
    }
    faults
}

/// The faults of one of them, as the body of a call has them.
pub(crate) fn only(mut faults: Faults, index: usize) -> Faults {
    faults.listed.retain(|fault| fault.line as usize == index + BEFORE + 1);
    for fault in &mut faults.listed {
        (fault.file, fault.line, fault.column) = (BODY.into(), 1, 1);
    }
    Faults { more: 0, ..faults }
}

/// Whether two are of the same rule and the same key. `guess` is what each part is if nobody says it.
pub(crate) fn same(one: &Value, other: &Value, guess: &[String]) -> bool {
    let parts = |value: &Value| -> Vec<(Option<String>, Value)> {
        let all = match value.get("key") {
            Some(Value::Array(parts)) => &parts[..],
            Some(part) => std::slice::from_ref(part),
            None => &[],
        };
        let said = |(place, part): (usize, &Value)| {
            let named = part.as_object().and_then(|own| own.iter().next());
            match named {
                Some((kind, value)) => (Some(kind.clone()), value.clone()),
                None => (guess.get(place).cloned(), part.clone()),
            }
        };
        all.iter().enumerate().map(said).collect()
    };
    one.get("rule") == other.get("rule") && parts(one) == parts(other)
}

/// Those with this one instead of the one of its key, if it has a limit; whether anything changed.
pub(crate) fn with(overrides: &[Value], own: &Value, guess: &[String]) -> (Vec<Value>, bool) {
    let mut next: Vec<Value> =
        overrides.iter().filter(|other| !same(other, own, guess)).cloned().collect();
    if own.get("limit").is_some_and(|limit| !limit.is_null()) {
        next.push(own.clone());
    }
    let changed = next != overrides;
    (next, changed)
}

/// What one is of, without who is counted, for a line of a log.
pub(crate) fn told(own: &Value) -> String {
    let rule = own.get("rule").and_then(Value::as_str).unwrap_or_default();
    json!(rule).to_string()
}
