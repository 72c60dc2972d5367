//! Keys of one part and of several.
//!
//! Invariant: different lists of parts are different keys; one part is the same key as a list of it.

use crate::laws::cases;
use crate::one_key::one_key;
use proptest::prelude::*;
use ratekeeper::{Key, Rule};

fn once(rule: &Rule, key: impl Key) -> bool {
    rule.try_check(key).expect("memory answers at once").is_allowed()
}

/// Every list of up to three parts that could be mistaken for another one.
fn lists() -> Vec<Vec<&'static str>> {
    let parts = ["", "a", "b", "ab", "\0", "a\0"];
    let mut lists: Vec<Vec<&str>> = vec![vec![]];
    for length in 0..3 {
        let longer: Vec<Vec<&str>> = lists
            .iter()
            .filter(|list| list.len() == length)
            .flat_map(|list| parts.iter().map(move |part| [&list[..], &[*part]].concat()))
            .collect();
        lists.extend(longer);
    }
    lists
}

/// Goal: lists of parts that differ anywhere are different keys.
/// Method: every list of up to three parts out of six that look alike, once each under 1/hour: all
/// are admitted, and none a second time.
#[test]
fn lists_that_look_alike_are_different_keys() {
    let rule = one_key("1/hour").rule;
    let lists = lists();
    assert_eq!(lists.len(), 1 + 6 + 36 + 216);
    for list in &lists {
        assert!(once(&rule, list), "{list:?} was taken for another key");
    }
    for list in &lists {
        assert!(!once(&rule, list), "{list:?} is not the same key again");
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: the same for any parts.
    /// Method: two random lists over a few bytes; the second is admitted exactly if it differs.
    #[test]
    fn different_lists_of_parts_are_different_keys(
        first in proptest::collection::vec(proptest::collection::vec(0..3_u8, 0..4), 0..4),
        second in proptest::collection::vec(proptest::collection::vec(0..3_u8, 0..4), 0..4),
    ) {
        let rule = one_key("1/hour").rule;
        let once_by_bytes = |list: &[Vec<u8>], rule: &Rule| {
            once(rule, list.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        prop_assert!(once_by_bytes(&first, &rule));
        prop_assert_eq!(once_by_bytes(&second, &rule), first != second);
    }

    /// Goal: where the parts are cut matters.
    /// Method: a random text, cut in two at two random places.
    #[test]
    fn where_the_parts_are_cut_matters(text in "[a-c]{1,8}", one in 0..9_usize, two in 0..9_usize) {
        let rule = one_key("1/hour").rule;
        let cut = |at: usize| <[&str; 2]>::from(text.split_at(at.min(text.len())));
        prop_assert!(once(&rule, cut(one)));
        prop_assert_eq!(once(&rule, cut(two)), cut(one) != cut(two));
        prop_assert!(once(&rule, &text), "the uncut text is another key");
    }
}

/// Goal: a part that spells out a list, lengths and all, is not that list.
/// Method: write lists out as their parts with the lengths behind or before; every end of that, as
/// one part, is another key.
#[test]
fn a_part_that_spells_out_a_list_is_another_key() {
    for list in [["", "a"], ["a", ""], ["a", "b"], ["", ""]] {
        let length = |part: &str| (part.len() as u64).to_le_bytes().to_vec();
        let behind: Vec<u8> = list
            .iter()
            .flat_map(|part| [part.as_bytes().to_vec(), length(part)].concat())
            .collect();
        let before: Vec<u8> = list
            .iter()
            .flat_map(|part| [length(part), part.as_bytes().to_vec()].concat())
            .collect();
        for spelled in [behind, before] {
            for start in 0..spelled.len() {
                let rule = one_key("1/hour").rule;
                assert!(once(&rule, list));
                assert!(once(&rule, &spelled[start..]), "{list:?} is {:?}", &spelled[start..]);
            }
        }
    }
}

/// Goal: a part alone is the same key as a list of it, whatever type they have.
/// Method: use up one form, ask by the others.
#[test]
fn one_part_is_the_list_of_it() {
    let rule = one_key("1/hour").rule;
    assert!(once(&rule, "a"));
    assert!(!once(&rule, String::from("a")));
    assert!(!once(&rule, &b"a"[..]));
    assert!(!once(&rule, ["a"]));
    assert!(!once(&rule, &["a"][..]));
    assert!(!once(&rule, vec!["a".to_owned()]));
    assert!(once(&rule, ["a", ""]));
}

/// Goal: lists of the same parts are the same key, whatever type they have.
/// Method: use up an array, ask by vector, slice and bytes.
#[test]
fn lists_of_the_same_parts_are_the_same_key() {
    let rule = one_key("1/hour").rule;
    assert!(once(&rule, ["tenant", "7"]));
    assert!(!once(&rule, vec!["tenant", "7"]));
    assert!(!once(&rule, &["tenant".to_owned(), "7".to_owned()][..]));
    assert!(!once(&rule, [&b"tenant"[..], &b"7"[..]]));
    assert!(once(&rule, ["7", "tenant"]));
}

/// Goal: a key may be long, or hold any bytes.
/// Method: 64 KiB, and the same with the last byte changed; bytes that are no text.
#[test]
fn a_key_may_be_long_and_hold_any_bytes() {
    let rule = one_key("1/hour").rule;
    let long = "x".repeat(65_536);
    let other = format!("{}y", &long[1..]);
    assert!(once(&rule, &long));
    assert!(once(&rule, &other));
    assert!(!once(&rule, &long));
    assert!(once(&rule, &[0_u8, 255, 128, b'\n'][..]));
    assert!(!once(&rule, &[0_u8, 255, 128, b'\n'][..]));
}
