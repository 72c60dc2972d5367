//! Laws of the canonical form.

use super::{canonical, path};
use proptest::prelude::*;
use ratekeeper::request::path::CanonicalPath;
use ratekeeper::rule::pattern::PathPattern;

/// Canonical paths with every kind of character in them.
fn canonical_paths() -> impl Strategy<Value = String> {
    let target = r"/([a-cA-C.~_;:=%é€ ]|%20|%25|%3[aAbB]|%C3%A9|/){0,12}";
    target.prop_filter_map("refused", |target| canonical(&target).ok())
}

/// How one place of a path is written, among the ways that there are.
fn spelled(path: &str, choices: &[u8]) -> String {
    let mut choices = choices.iter().cycle().copied();
    let mut spelled = String::new();
    let mut escape = 0;
    for char in path.chars() {
        let choice = choices.next().unwrap();
        escape = if char == '%' { 3 } else { escape };
        if escape > 0 {
            escape -= 1;
            let lower = choice % 2 == 0;
            spelled.push(if lower { char.to_ascii_lowercase() } else { char });
        } else if char == '/' {
            let ways = ["/", "//", "///", "/./", "/x/../", "/%2e/", "/y/%2E./", "/a/b/../.%2e/"];
            spelled.push_str(ways[usize::from(choice) % ways.len()]);
        } else if char.is_ascii_alphanumeric() || "-._~".contains(char) {
            let code = u32::from(char);
            match choice % 3 {
                0 => spelled.push(char),
                1 => spelled.push_str(&format!("%{code:02x}")),
                _ => spelled.push_str(&format!("%{code:02X}")),
            }
        } else {
            spelled.push(char);
        }
    }
    spelled
}

proptest! {
    #![proptest_config(crate::laws::cases(3000))]

    /// Goal: the canonical form is its own.
    /// Method: once more, and nothing is changed or copied.
    #[test]
    fn canonical_twice_is_canonical_once(target in r"/[/.;%0-9a-fA-F:é €]{0,16}") {
        if let Ok(once) = canonical(&target) {
            let twice = CanonicalPath::new(&once).unwrap();
            prop_assert_eq!(twice.as_str(), &once);
            prop_assert_eq!(twice.as_str().as_ptr(), once.as_ptr());
        }
    }

    /// Goal: every spelling of a path has the path's form.
    /// Method: write each place of a canonical path in some other way.
    #[test]
    fn every_spelling_has_the_same_form(
        path in canonical_paths(),
        choices in prop::collection::vec(any::<u8>(), 1..24),
        query in r"(\?[a/%]{0,3}|#[a/]{0,3})?",
    ) {
        let alias = spelled(&path, &choices) + &query;
        prop_assert_eq!(canonical(&alias), Ok(path), "{}", alias);
    }

    /// Goal: what a rule takes for one path has one key, and the key of a key is itself.
    /// Method: change case, parameters, escapes of delimiters and the slash at the end.
    #[test]
    fn what_matches_alike_has_one_key(
        target in r"(/[a-cé]{1,3}){0,4}",
        upper in any::<bool>(),
        parameters in r"(;|%3[bB])[a-c=]{0,3}",
        slash in any::<bool>(),
    ) {
        let mut other = target.replace('/', &format!("{parameters}/"));
        other = format!("/{}{parameters}", other.trim_start_matches(&parameters));
        if upper { other = other.to_ascii_uppercase() }
        if slash { other.push('/') }
        let key = |target: &str| PathPattern::folded(&path(target)).into_owned();
        let expected = key(&format!("/{target}"));
        prop_assert_eq!(key(&other), &*expected, "{}", other);
        prop_assert_eq!(key(&expected), expected);
    }
}

/// Goal: keys by path are what they are said to be.
/// Method: written down.
#[test]
fn keys_of_paths() {
    let cases = [
        ("/", "/"),
        ("*", "*"),
        ("/A/b/", "/a/b"),
        ("/a;x=1/b;y", "/a/b"),
        ("/a/;x/;/b", "/a/b"),
        ("/;x", "/"),
        ("/items%3Abatch", "/items:batch"),
        ("/É", "/%c3%89"),
        ("/a%20%25", "/a%20%25"),
    ];
    for (target, key) in cases {
        assert_eq!(PathPattern::folded(&path(target)), key, "{target}");
    }
}
