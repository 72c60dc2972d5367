//! Golden files: texts that users see, pinned beside the tests.
//!
//! Invariant: a difference fails. To accept new texts, run the tests with `RATEKEEPER_GOLDEN=write`
//! and look at what git shows.

use std::path::Path;

/// Fails unless `text` is what the golden file says.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    if std::env::var_os("RATEKEEPER_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{name} is out of date; see tests/it/golden.rs");
}
