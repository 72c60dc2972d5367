//! Texts that are no rule files, by accident or on purpose.
//!
//! Invariant: whatever the text is, it is read or refused: without a panic, and in bounded work.

use super::{good, read, refused, text};
use crate::laws::cases;
use proptest::prelude::*;
use ratekeeper::rule::file::{ALIASES_MAX, BYTES_MAX, DEPTH_MAX};

/// Goal: nesting ends at its bound, as brackets and as indentation.
/// Method: the bound, one more, and a thousand.
#[test]
fn depth_is_bounded() {
    let brackets = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let lines = |depth: usize| -> String {
        (0..depth).map(|level| format!("{}a:\n", " ".repeat(level))).collect()
    };
    let maps = |depth: usize| format!("{}{}", "{a: ".repeat(depth), "}".repeat(depth));
    for nested in [brackets(DEPTH_MAX), lines(DEPTH_MAX), maps(DEPTH_MAX)] {
        assert!(!refused(&nested).contains("nested too deeply"));
    }
    for depth in [DEPTH_MAX + 1, 1_000] {
        for nested in [brackets(depth), lines(depth), "- ".repeat(depth), maps(depth)] {
            assert!(refused(&nested).contains("nested too deeply"), "{depth}");
        }
    }
}

/// Goal: an alias cannot hide depth.
/// Method: what an alias stands for reaches the bound, and passes it.
#[test]
fn depth_counts_through_aliases() {
    let file = |outer: usize, inner: usize| {
        let deep = |depth: usize, within: &str| {
            format!("{}{within}{}", "[".repeat(depth), "]".repeat(depth))
        };
        format!("a: &a {}\nb: {}", deep(inner, "x"), deep(outer, "*a"))
    };
    assert!(!refused(&file(7, DEPTH_MAX - 8)).contains("nested too deeply"));
    assert!(refused(&file(8, DEPTH_MAX - 8)).contains("nested too deeply"));
}

/// Goal: aliases end at their bound, however they multiply.
/// Method: as many as there may be, one more, and nine levels of nine aliases each.
#[test]
fn aliases_are_bounded() {
    let file = |aliases: usize| {
        let rules = "*a,".repeat(aliases);
        format!("exempt: [&a {{path: /a}}, {rules}]")
    };
    assert_eq!(good(&file(ALIASES_MAX)).rules.exempt.len(), ALIASES_MAX + 1);
    assert!(refused(&file(ALIASES_MAX + 1)).contains("more than 1000 aliases"));
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (before, name) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        let nine = vec![format!("*{before}"); 9].join(",");
        bomb += &format!("{name}: &{name} [{nine}]\n");
    }
    assert!(refused(&bomb).contains("more than 1000 aliases"));
}

/// Goal: few aliases of something large are bounded, too, and so are anchors, fields and items.
/// Method: one beyond each.
#[test]
fn values_are_bounded() {
    let large = format!("a: &a [{}]\nb: [{}]", "x,".repeat(99_999), "*a,".repeat(40));
    assert!(refused(&large).contains("more than 3000000 values"));
    assert!(refused(&format!("a: [{}]", "&a x,".repeat(1_002))).contains("1000 anchors"));
    assert!(refused(&format!("a: [{}]", "x,".repeat(100_001))).contains("100000 items"));
    let fields: String = (0..1_001).map(|n| format!("a{n}: 1\n")).collect();
    assert!(refused(&fields).contains("1000 fields"));
}

/// Goal: lists of paths that many rules share by an alias are bounded by what they mean.
/// Method: a thousand paths for as many rules as there may be, and for one more.
#[test]
fn paths_are_bounded_through_aliases() {
    let file = |rules: usize| {
        let paths: String = (0..1_000).map(|n| format!("/{n},")).collect();
        let rule = |n: usize| format!("  - {{id: r{n}, match: {{path: *p}}, limit: 1/day}}\n");
        let rest: String = (1..rules).map(rule).collect();
        format!("rules:\n  - {{id: a, match: {{path: &p [{paths}]}}, limit: 1/day}}\n{rest}")
    };
    assert_eq!(good(&file(500)).rules.rules.len(), 500);
    assert!(refused(&file(501)).contains("more than 500000 paths, each use of an alias counted"));
}

/// Goal: files are bounded in bytes, before they are looked at.
/// Method: comments up to the bound and one byte beyond, and far beyond.
#[test]
fn bytes_are_bounded() {
    assert!(read("r.yaml", &"#".repeat(BYTES_MAX)).is_ok());
    for bytes in [BYTES_MAX + 1, 100_000_000] {
        let told = "r.yaml:1:1: rule files are larger than 16 MiB; use fewer rules";
        assert_eq!(refused(&"#".repeat(bytes)), told);
    }
}

/// Goal: numbers of any length are refused in a few words.
/// Method: ten thousand digits wherever a number is read.
#[test]
fn long_numbers_are_refused_in_few_words() {
    let digits = "9".repeat(10_000);
    let rule = |field: &str| format!("rules: [{{id: a, deny: true, {field}}}]");
    let limits = format!("rules: [{{id: a, limit: {digits}/minute}}]");
    let files = [
        format!("nodes: {digits}"),
        format!("version: {digits}"),
        format!("memory: {{keys: {digits}}}"),
        rule(&format!("cost: {digits}")),
        rule(&format!("rollout: {digits}%")),
        rule(&format!("hold: {digits}s")),
        limits,
    ];
    for file in files {
        let shown = refused(&file);
        assert!(shown.lines().all(|line| line.len() < 300), "{shown}");
    }
}

/// Goal: a file with nothing but faults is given up, not read to its end.
/// Method: far more faults than are counted.
#[test]
fn endless_faults_are_given_up() {
    let file = format!("rules:\n{}", "- {a: 1, b: 2, c: 3, d: 4, e: 5}\n".repeat(50_000));
    let Err(errors) = read("r.yaml", &file) else { panic!() };
    assert_eq!(errors.iter().count(), 100);
    assert!((9_900..20_000).contains(&errors.more()), "{}", errors.more());
}

/// Pieces that rule files are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rules:",
        "\n",
        "  ",
        "- ",
        "id: a",
        "limit: ",
        "1/minute",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "&a ",
        "*a",
        "!x ",
        "\"",
        "'",
        "|",
        ">",
        "#",
        "\t",
        "---",
        "...",
        "%",
        "? ",
        "key",
        "first",
        "match",
        "path: /a",
        "tiers: [free]",
        "overrides:",
        "é",
        "\u{feff}",
        "\0",
        "\u{2028}",
        "~",
        "<<: ",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// What a fault looks like, whatever the file was.
fn is_told_well(file: &str) -> Result<(), TestCaseError> {
    if let Err(errors) = read("r.yaml", file) {
        prop_assert!(errors.iter().count() > 0);
        for error in errors.iter() {
            prop_assert!(error.line > 0 && error.column > 0, "{}", error);
            prop_assert!(!error.fault.is_empty() && !error.repair.is_empty(), "{}", error);
        }
        let places: Vec<_> = errors.iter().map(|error| (error.line, error.column)).collect();
        let own = errors.iter().all(|error| error.file == "r.yaml");
        prop_assert!(!own || places.is_sorted(), "{}", errors);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: no text makes it panic.
    /// Method: any text.
    #[test]
    fn any_text_is_read_or_refused(file in "\\PC{0,200}") {
        is_told_well(&file)?;
    }

    /// Goal: no text makes it panic that looks like a rule file.
    /// Method: pieces of YAML in any order.
    #[test]
    fn any_pieces_are_read_or_refused(file in pieces()) {
        is_told_well(&file)?;
    }

    /// Goal: no change of a good file makes it panic.
    /// Method: cut, double or overwrite a range of one.
    #[test]
    fn any_change_of_a_file_is_read_or_refused(
        start in 0.0..1.0_f64,
        length in 0_usize..40,
        piece in pieces(),
        how in 0..3,
    ) {
        let file = text("good/every-field.yaml");
        let floor = |at: usize| (0..=at.min(file.len())).rev().find(|at| file.is_char_boundary(*at)).unwrap_or(0);
        let from = floor((start * file.len() as f64) as usize);
        let to = floor(from + length).max(from);
        let middle = match how {
            0 => String::new(),
            1 => file[from..to].repeat(2),
            _ => piece,
        };
        is_told_well(&[&file[..from], &middle, &file[to..]].concat())?;
    }
}
