//! Folders of files.
//!
//! Invariant: several files mean what one would.

use super::open;
use ratekeeper::rule::file::{FileErrors, RuleFile, Source};

/// Reads several files as one set.
pub(super) fn merged(files: &[(&str, String)]) -> Result<RuleFile, FileErrors> {
    let source =
        |(name, text): &(&str, String)| Source { name: (*name).into(), text: text.clone() };
    RuleFile::read(&files.iter().map(source).collect::<Vec<_>>(), &open)
}

fn files<'n>(files: &[(&'n str, &str)]) -> Vec<(&'n str, String)> {
    files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
}

/// Goal: rules, overrides and exemptions of several files are put together in order, and a tier of one
/// file serves a rule of another.
/// Method: two files and an empty one, against the same in one file.
#[test]
fn several_files_mean_what_one_does() {
    let one = "tiers: [free]\nexempt: [{path: /a}, {path: /b}]\n\
               rules: [{id: a, limit: {free: 1/s}}, {id: b, limit: 2/second}]\n\
               overrides: [{rule: b, key: 192.0.2.1, limit: 3/second}, \
               {rule: a, key: 192.0.2.1, limit: 4/second}]"
        .replace("1/s}", "1/second}");
    let several = files(&[
        (
            "1.yaml",
            "exempt: [{path: /a}]\nrules: [{id: a, limit: {free: 1/second}}]\n\
                    overrides: [{rule: b, key: 192.0.2.1, limit: 3/second}]",
        ),
        ("2.yaml", "# nothing but a comment"),
        (
            "3.yaml",
            "tiers: [free]\nexempt: [{path: /b}]\nrules: [{id: b, limit: 2/second}]\n\
                    overrides: [{rule: a, key: 192.0.2.1, limit: 4/second}]",
        ),
    ]);
    let one = merged(&[("1.yaml", one)]).unwrap();
    assert_eq!(format!("{:?}", merged(&several).unwrap()), format!("{one:?}"));
    assert_eq!(one.rules.overrides.len(), 2);
}

/// Goal: a field that may be there once is not taken from two files, nor an id from two rules, and both
/// places are named.
/// Method: both faults in one set.
#[test]
fn what_is_in_two_files_is_told_with_both_places() {
    let set = files(&[
        ("1.yaml", "tiers: [free]\nrules:\n  - {id: a, deny: true}"),
        ("2.yaml", "rules:\n  - {deny: true, id: a}\ntiers: [pro]"),
    ]);
    let shown = merged(&set).unwrap_err().to_string();
    let told = "2.yaml:2:22: the rule at 1.yaml:3:10 has the id `a`, too; give one of them another\n\
                2.yaml:3:1: `tiers` is already at 1.yaml:1:1; keep one of them";
    assert_eq!(shown, told);
}

/// Goal: a file that is not YAML spoils the set, and nothing is said of what it may have held.
/// Method: a set whose tiers are in the file that cannot be read.
#[test]
fn a_file_that_cannot_be_read_is_the_only_fault() {
    let set =
        files(&[("1.yaml", "tiers: [free"), ("2.yaml", "rules: [{id: a, limit: {free: 0/s}}]")]);
    let shown = merged(&set).unwrap_err().to_string();
    assert!(shown.starts_with("1.yaml:1:") && shown.lines().count() == 1, "{shown}");
}

/// Goal: nothing at all is a set without rules.
/// Method: no file, an empty one, and `parse`.
#[test]
fn nothing_is_a_set_without_rules() {
    for file in [merged(&[]), merged(&files(&[("1.yaml", "")])), RuleFile::parse("---\n")] {
        let file = file.unwrap();
        assert!(file.rules.rules.is_empty() && file.rules.tiers.is_empty());
    }
}

/// Goal: a text alone opens no files, and says so with its own name.
/// Method: one that names keys.
#[test]
fn a_text_alone_opens_nothing() {
    let shown = RuleFile::parse("identity: {api_key: {keys: keys.yaml}}").unwrap_err().to_string();
    let told =
        "ratekeeper.yaml:1:28: `keys.yaml` cannot be opened here; write what is in it instead";
    assert_eq!(shown, told);
}
