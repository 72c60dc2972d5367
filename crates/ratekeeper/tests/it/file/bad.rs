//! What is refused, and in which words.
//!
//! Invariant: each file of `tests/files/bad` is refused with the text beside it, to the letter.

use super::{assert_golden, folder, listed, read, refused, text};
use ratekeeper::rule::file::{LISTED_MAX, RULES_MAX};
use std::fmt::Write;

/// Whether this build can show the fault: a file may say which feature it needs, or needs to be off.
fn shows(text: &str) -> bool {
    let needs = text.lines().next().and_then(|line| line.strip_prefix("# needs: "));
    let Some(needs) = needs else { return true };
    let (name, on) = needs.strip_prefix("not ").map_or((needs, true), |name| (name, false));
    let features = [("jwt", cfg!(feature = "jwt")), ("cel", cfg!(feature = "cel"))];
    let (_, is_on) = features.into_iter().find(|(feature, _)| *feature == name).unwrap();
    is_on == on
}

/// Goal: every kind of fault is found, with its place, in words that are pinned and have a repair.
/// Method: read each file of the folder, and compare what is said with the text beside it.
#[test]
fn every_fault_is_told_with_place_and_repair() {
    let names = listed("bad", ".yaml");
    assert!(names.len() >= 70, "only {} files", names.len());
    for name in names {
        let file = text(&format!("bad/{name}"));
        if !shows(&file) {
            continue;
        }
        let Err(errors) = read(&name, &file) else { panic!("{name} is read without a fault") };
        let lines = file.lines().count() as u32;
        for error in errors.iter() {
            assert!(!error.fault.is_empty() && !error.repair.is_empty(), "{name}: {error}");
            assert!(error.line >= 1 && error.column >= 1, "{name}: {error}");
            assert!(error.file != name || error.line <= lines + 1, "{name}: {error}");
            let words = [&error.file, ":", &error.fault, "; ", &error.repair];
            let shown = error.to_string();
            assert!(words.iter().all(|word| shown.contains(*word)), "{name}: {error}");
        }
        let golden = folder("bad").join(name.replace(".yaml", ".txt"));
        assert_golden(&golden, &format!("{errors}\n"));
    }
}

/// Goal: no message is left of a file that is gone.
/// Method: each text has its file.
#[test]
fn every_golden_text_has_its_file() {
    let names = listed("bad", ".yaml");
    for golden in listed("bad", ".txt") {
        assert!(names.contains(&golden.replace(".txt", ".yaml")), "{golden} has no file");
    }
}

/// Goal: all faults are told at once, in the order of the file.
/// Method: a file with five, in its head, its rules and its overrides.
#[test]
fn five_faults_are_told_at_once_in_order() {
    let Err(errors) = read("five.yaml", &text("bad/five-faults.yaml")) else { panic!() };
    let places: Vec<(u32, u32)> = errors.iter().map(|error| (error.line, error.column)).collect();
    assert_eq!(places, [(2, 1), (6, 19), (7, 14), (9, 10), (12, 12)], "{errors}");
    assert_eq!(errors.more(), 0);
}

/// Goal: the list of faults is bounded, holds the first, and says how many there are.
/// Method: one fault less than the bound, at it, and one and a thousand beyond.
#[test]
fn a_list_of_faults_ends_and_says_how_many_more() {
    for count in [LISTED_MAX - 1, LISTED_MAX, LISTED_MAX + 1, LISTED_MAX + 1_000] {
        let mut file = "rules:\n".to_owned();
        (0..count).for_each(|n| writeln!(file, "- {{id: r{n}, limit: 0/minute}}").unwrap());
        let Err(errors) = read("r.yaml", &file) else { panic!() };
        let listed = count.min(LISTED_MAX);
        assert_eq!((errors.iter().count(), errors.more()), (listed, count - listed));
        let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
        assert_eq!(lines, (2..2 + listed as u32).collect::<Vec<_>>());
        let shown = errors.to_string();
        let more = format!("\nand {} more", count - listed);
        assert_eq!(shown.ends_with(&more), count > LISTED_MAX, "{shown}");
        assert_eq!(shown.lines().count(), listed + usize::from(count > LISTED_MAX));
    }
}

/// Goal: what a file has in it cannot steer a terminal or break a line of a log.
/// Method: control characters wherever a fault quotes.
#[test]
fn faults_have_no_control_characters() {
    let bad = "\"\\e[31m\\n\\x07\\u2028x\"";
    let files = [
        format!("{bad}: 1"),
        format!("rules: [{{id: {bad}, limit: {bad}, key: {bad}, rollout: {bad}}}]"),
        format!("nodes: {bad}\nlisten: {{api: {bad}}}\ntiers: [{bad}]"),
        format!("rules: [{{id: a, deny: true}}]\noverrides: [{{rule: {bad}, key: a, limit: 1/s}}]"),
    ];
    for file in files {
        let shown = refused(&file);
        let control = |c: char| c.is_control() && c != '\n';
        assert!(!shown.contains(control), "{shown:?}");
        assert!(shown.lines().all(|line| line.starts_with("r.yaml:")), "{shown}");
    }
}

/// Goal: a password in the URL of a store is never shown.
/// Method: a URL that is read and two that are refused; look for it in everything that is shown.
#[test]
fn passwords_are_not_shown() {
    let file = super::good("store: redis://user:s3cret@host:6379/0");
    let shown = format!("{file:?}");
    assert!(!shown.contains("s3cret") && shown.contains("redis://***@host:6379/0"), "{shown}");
    for url in ["http://user:s3cret@host", "redis:user:s3cret@host"] {
        let shown = refused(&format!("store: {url}"));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

/// Goal: a hundred thousand rules are the most, over all files.
/// Method: as many, and one more, in two files.
#[test]
fn rules_are_bounded_over_all_files() {
    let file = |from: usize, to: usize| {
        let mut file = "rules:\n".to_owned();
        (from..to).for_each(|n| writeln!(file, "- {{id: r{n}, deny: true}}").unwrap());
        file
    };
    let half = RULES_MAX / 2;
    let sources = |more| [("a.yaml", file(0, half)), ("b.yaml", file(half, RULES_MAX + more))];
    let read = |more: usize| super::merged::merged(&sources(more));
    assert_eq!(read(0).unwrap().rules.rules.len(), RULES_MAX);
    let shown = read(1).unwrap_err().to_string();
    let place = format!("b.yaml:{}:3: there are more than {RULES_MAX} `rules`; ", half + 2);
    assert!(shown.starts_with(&place), "{shown}");
}
