//! Switches: what operators turn by calls, and what a file says.
//!
//! Invariant: the file stands above calls, rule by rule; what is taken out of it is as it was before. A file that
//! makes no sense changes nothing.

use super::moment;
use crate::config::{Fault, Faults, bytes, shown};
use ratekeeper::limiter::Switch;
use ratekeeper::rule::Rollout;
use ratekeeper::rule::file::{self, Source};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Most switches. Beyond it: 422.
pub const SWITCHES_MAX: usize = 1_000;

/// Most bytes of a switch file.
pub const SWITCH_FILE_MAX: usize = 1024 * 1024;

/// Longest reason.
pub(crate) const REASON_MAX: usize = 1_024;

/// The name that stands for all rules.
pub(crate) const ALL: &str = "*";

/// What a switch says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turned {
    /// `off`, `shadow` or `N%`.
    pub(crate) rollout: String,
    /// Until when, in seconds since the epoch.
    pub(crate) until: Option<u64>,
    pub(crate) reason: Option<String>,
    /// When it was turned, in seconds since the epoch, and by whom, where that is known.
    pub(crate) at: u64,
    pub(crate) by: Option<String>,
}

/// Switches by rule.
pub(crate) type Switches = BTreeMap<String, Turned>;

/// A switch as lists show it.
#[derive(Serialize)]
pub(crate) struct Listed<'a> {
    rule: &'a str,
    rollout: &'a str,
    until: Option<String>,
    reason: Option<&'a str>,
    at: String,
    by: Option<&'a str>,
    from: &'static str,
}

impl Turned {
    /// For the limiter; none if what is stored makes no sense.
    pub(crate) fn switch(&self) -> Option<Switch> {
        let rollout = rollout(&self.rollout)?;
        Some(Switch {
            rollout,
            until: self.until.map(Duration::from_secs),
            reason: self.reason.clone(),
        })
    }

    pub(crate) fn is_over(&self, now: u64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    pub(crate) fn listed<'a>(&'a self, rule: &'a str, from: &'static str) -> Listed<'a> {
        Listed {
            rule,
            rollout: &self.rollout,
            until: self.until.map(moment::shown),
            reason: self.reason.as_deref(),
            at: moment::shown(self.at),
            by: self.by.as_deref(),
            from,
        }
    }
}

/// `off`, `shadow` or `N%`.
pub(crate) fn rollout(text: &str) -> Option<Rollout> {
    match text {
        "off" => Some(Rollout::Off),
        "shadow" => Some(Rollout::Shadow),
        _ => {
            let digits = text.strip_suffix('%')?;
            let plain =
                (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            let percent: u8 = digits.parse().ok().filter(|percent| plain && *percent <= 100)?;
            Some(Rollout::Percent(percent))
        }
    }
}

/// A field that is wrong, what is wrong, and what to write.
pub(crate) type Wrong = (&'static str, String, &'static str);

/// What is said of one switch: a map, as calls and files have it.
pub(crate) fn read(value: &Value, now: u64) -> Result<Turned, Wrong> {
    let known = ["rollout", "for", "until", "reason"];
    let Value::Object(fields) = value else {
        return Err(("", "is not a map".into(), "write one such as {\"rollout\":\"off\"}"));
    };
    if fields.keys().any(|name| !known.contains(&&**name)) {
        let fault = "has a field that is unknown".to_owned();
        return Err(("", fault, "the fields are rollout, for, until and reason"));
    }
    let text = |name: &'static str, repair: &'static str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= REASON_MAX => Ok(Some(text.as_str())),
        Some(Value::String(_)) => {
            Err((name, format!("is longer than {REASON_MAX} bytes"), "write less"))
        }
        Some(_) => Err((name, "is not a text".to_owned(), repair)),
    };
    let repair = "write `off`, `shadow`, or a percentage such as `10%`";
    let said = text("rollout", repair)?;
    let said = said.ok_or(("rollout", "is missing".to_owned(), repair))?;
    if rollout(said).is_none() {
        return Err(("rollout", "is none of those that there are".to_owned(), repair));
    }
    let repair = "write a length of time such as `1h`";
    let length = text("for", repair)?
        .map(|text| file::length(text).ok_or(("for", "is no length of time".to_owned(), repair)));
    let repair = "write a date or a time such as `2027-01-31T18:00:00Z`";
    let until = text("until", repair)?
        .map(|text| file::time(text).ok_or(("until", "is no date".to_owned(), repair)));
    let until = match (length, until) {
        (Some(_), Some(_)) => {
            return Err(("until", "is beside `for`".to_owned(), "write one of them"));
        }
        (Some(length), None) => Some(now.saturating_add(length?.as_secs().max(1))),
        (None, until) => until.transpose()?,
    };
    let reason = text("reason", "write why, for people")?.map(str::to_owned);
    Ok(Turned { rollout: said.to_owned(), until, reason, at: now, by: None })
}

/// What the contents of a file begin with that is there and cannot be read: no text does. Why not follows.
const UNREADABLE: u8 = 0xff;

/// What is in the switch file, so that it can be compared; none if there is none.
pub(crate) fn contents(path: &Path) -> Option<Vec<u8>> {
    match bytes(path, SWITCH_FILE_MAX) {
        Ok(bytes) => Some(bytes),
        // A link that leads nowhere is there.
        Err(_)
            if fs::symlink_metadata(path)
                .is_err_and(|error| error.kind() == ErrorKind::NotFound) =>
        {
            None
        }
        Err(error) => Some([&[UNREADABLE], error.to_string().as_bytes()].concat()),
    }
}

/// When a file was put there, or last written, in seconds since the epoch. (Its own time may be of the day on which
/// somebody prepared it; this one moves when it is renamed, and nobody can set it back.)
pub(crate) fn put_there(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().and_then(|found| u64::try_from(found.ctime()).ok())
}

/// The switch file: a map of rules, each with `off`, `shadow`, `N%`, or a map with more. What `for` says is counted
/// from `since`; where the entry is as it was in `former`, from when it was first there.
pub(crate) fn read_file(
    path: &Path,
    bytes: &[u8],
    since: u64,
    former: &Switches,
) -> Result<Switches, Faults> {
    if let [UNREADABLE, why @ ..] = bytes {
        let fault = format!("this cannot be read: {}", String::from_utf8_lossy(why));
        return Err(Fault::of(path, fault, "name a file that can, or remove it").into());
    }
    let Ok(text) = String::from_utf8(bytes.to_vec()) else {
        return Err(Fault::of(path, "this is not text in UTF-8", "save the file as UTF-8").into());
    };
    let source = Source { name: shown(path), text };
    let json = file::json(&source).map_err(Faults::from)?;
    let tree: Value = serde_json::from_str(&json).unwrap_or_default();
    let Value::Object(fields) = tree else {
        return Err(Fault::of(path, "this is not a map", "write lines such as `api: off`").into());
    };
    if fields.len() > SWITCHES_MAX {
        let fault = format!("there are more than {SWITCHES_MAX} switches");
        return Err(Fault::of(path, fault, "use `\"*\"` for all rules").into());
    }
    let (mut switches, mut faults) = (Switches::new(), Vec::new());
    for (rule, value) in fields {
        let value = match value {
            Value::String(_) => serde_json::json!({ "rollout": value }),
            other => other,
        };
        let same = former.get(&rule).filter(|own| read(&value, own.at).as_ref() == Ok(*own));
        match same.map_or_else(|| read(&value, since), |own| Ok(own.clone())) {
            Ok(turned) => drop(switches.insert(rule, turned)),
            Err((field, fault, repair)) => {
                let dot = if field.is_empty() { "" } else { "." };
                let name: String = rule.escape_debug().take(64).collect();
                let fault = Fault::of(path, format!("`{name}{dot}{field}` {fault}"), repair);
                faults.push(Fault { line: line_of(&source.text, &rule), ..fault });
            }
        }
    }
    let more = faults.len().saturating_sub(file::LISTED_MAX);
    faults.truncate(file::LISTED_MAX);
    if faults.is_empty() {
        return Ok(switches);
    }
    Err(Faults { listed: faults, more })
}

/// The line that begins with a name, as far as that can be seen.
fn line_of(text: &str, name: &str) -> u32 {
    let start = |line: &str| line.trim_start().trim_start_matches(['"', '\'']).starts_with(name);
    text.lines().position(start).map_or(1, |line| line as u32 + 1)
}
