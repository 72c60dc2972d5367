//! Releases: what was accepted, and when, and from whom; the last of them, with their texts.
//!
//! Invariant: so many are kept, and so many bytes, the newest always among them.

use super::moment;
use ratekeeper::rule::file::Source;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most releases that are kept.
pub const RELEASES_MAX: usize = 50;

/// Most bytes of the texts and overrides that are kept beside the newest.
pub const HISTORY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Where the rules of a release come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    /// The operator's file or folder.
    File,
    /// A call.
    Api,
    /// The store that a fleet shares.
    Redis,
    /// A release before.
    Restore,
    /// The program itself, which was given no rules.
    Demo,
}

impl Origin {
    /// The name that people see.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::File => "file",
            Origin::Api => "api",
            Origin::Redis => "redis",
            Origin::Restore => "restore",
            Origin::Demo => "demo",
        }
    }
}

/// One text of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl From<Source> for Text {
    fn from(source: Source) -> Text {
        Text { name: source.name, text: source.text }
    }
}

impl Text {
    pub(crate) fn source(&self) -> Source {
        Source { name: self.name.clone(), text: self.text.clone() }
    }
}

/// An accepted set of rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Release {
    /// The number that decisions name.
    pub(crate) number: u64,
    pub(crate) source: Origin,
    /// Seconds since the epoch.
    pub(crate) at: u64,
    /// Who asked for it, where that is known.
    pub(crate) by: Option<String>,
    /// What was done, in words.
    pub(crate) change: String,
    /// How many rules it has.
    pub(crate) rules: usize,
    pub(crate) files: Vec<Text>,
    /// Limits of single keys that were set while the server ran, as rule files write them.
    #[serde(default)]
    pub(crate) overrides: Vec<Value>,
    /// Whether the operator wrote the texts, which may then name files anywhere.
    #[serde(default)]
    pub(crate) trusted: bool,
}

/// A release as lists show it.
#[derive(Serialize)]
pub(crate) struct Listed<'a> {
    version: u64,
    source: Origin,
    at: String,
    by: Option<&'a str>,
    change: &'a str,
    rules: usize,
    bytes: usize,
}

impl Release {
    pub(crate) fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.text.len()).sum()
    }

    /// Bytes of all that is kept of it.
    fn weight(&self) -> usize {
        self.bytes() + self.overrides.iter().map(|own| own.to_string().len()).sum::<usize>()
    }

    pub(crate) fn sources(&self) -> Vec<Source> {
        self.files.iter().map(Text::source).collect()
    }

    pub(crate) fn listed(&self) -> Listed<'_> {
        Listed {
            version: self.number,
            source: self.source,
            at: moment::shown(self.at),
            by: self.by.as_deref(),
            change: &self.change,
            rules: self.rules,
            bytes: self.bytes(),
        }
    }
}

/// The last releases, the newest at the end, each with what it weighs.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<(Arc<Release>, usize)>);

impl History {
    /// Adds the newest. Where others have to go, those go first that have the texts of the one before them, as
    /// with each override that is set; then the oldest.
    pub(crate) fn push(&mut self, release: Arc<Release>) {
        self.0.retain(|(own, _)| own.number != release.number);
        let weight = release.weight();
        self.0.push_back((release, weight));
        while self.0.len() > RELEASES_MAX || self.former_bytes() > HISTORY_BYTES_MAX {
            let same = |index: &usize| self.0[*index].0.files == self.0[index - 1].0.files;
            let again = (1..self.0.len() - 1).find(same);
            self.0.remove(again.unwrap_or(0));
        }
    }

    fn former_bytes(&self) -> usize {
        let former = self.0.len().saturating_sub(1);
        self.0.iter().take(former).map(|(_, weight)| weight).sum()
    }

    pub(crate) fn newest(&self) -> Option<&Arc<Release>> {
        self.0.back().map(|(release, _)| release)
    }

    /// Newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Release>> {
        self.0.iter().rev().map(|(release, _)| release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(number: u64, bytes: usize) -> Arc<Release> {
        let file = Text { name: "a".into(), text: "x".repeat(bytes) };
        Arc::new(Release {
            number,
            source: Origin::Api,
            at: 0,
            by: None,
            change: String::new(),
            rules: 0,
            files: vec![file],
            overrides: Vec::new(),
            trusted: false,
        })
    }

    fn kept(history: &History) -> Vec<u64> {
        history.iter().map(|release| release.number).collect()
    }

    /// Goal: so many releases are kept, and so many bytes; the newest whatever its size.
    /// Method: many small ones, then a few large ones, and the numbers that are left.
    #[test]
    fn the_last_releases_are_kept() {
        let mut history = History::default();
        for number in 1..=60 {
            history.push(release(number, number as usize));
            let oldest = number.saturating_sub(49).max(1);
            assert_eq!(kept(&history), (oldest..=number).rev().collect::<Vec<_>>());
        }
        let third = HISTORY_BYTES_MAX / 3;
        (61..=64).for_each(|number| history.push(release(number, third - number as usize)));
        assert_eq!(kept(&history)[..4], [64, 63, 62, 61], "three beside the newest");
        history.push(release(65, 2 * HISTORY_BYTES_MAX));
        history.push(release(66, 1));
        assert_eq!(kept(&history), [66]);
    }

    /// Goal: overrides cost no release of rules, in number or bytes, and their own bytes count.
    /// Method: three releases of rules, each before a hundred overrides; then overrides so large that few fit.
    #[test]
    fn overrides_push_out_no_release_of_rules() {
        let mut history = History::default();
        let mut set = |number: u64, rules: u64, bytes: usize| {
            let mut own = Release::clone(&release(number, rules as usize));
            own.overrides = vec![Value::String("x".repeat(bytes))];
            history.push(Arc::new(own));
            kept(&history)
        };
        let mut left = Vec::new();
        for number in 0..303 {
            left = set(number, number / 101 + 1, 10);
        }
        assert_eq!((left.len(), left[0]), (50, 302));
        assert!([0, 101, 202].iter().all(|number| left.contains(number)), "{left:?}");
        for number in 303..310 {
            left = set(number, 3, HISTORY_BYTES_MAX / 2);
        }
        assert_eq!(left, [309, 308, 202, 101, 0]);
    }
}
