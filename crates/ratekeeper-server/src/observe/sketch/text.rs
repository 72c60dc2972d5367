//! A key as it is kept and told: what its parts are, and their values, cut where they are long.
//!
//! Invariant: what was cut, or is no text, is told as such, since it is nobody's key.

use ratekeeper::rule::KeyPart;

/// Parts of a key that are kept, and characters of each.
const KEY_PARTS_MAX: usize = 16;
pub(super) const KEY_CHARS_MAX: usize = 128;

#[derive(Clone)]
pub(super) struct Text {
    pub(super) values: Vec<String>,
    pub(super) kinds: Vec<String>,
    pub(super) cut: bool,
}

impl Text {
    pub(super) fn of(mut key: Vec<KeyPart>) -> Text {
        let mut cut = key.len() > KEY_PARTS_MAX || key.iter().any(|part| !part.is_exact);
        key.truncate(KEY_PARTS_MAX);
        let kinds = key.iter().map(|part| part.kind.to_string()).collect();
        let short = |part: KeyPart| match part.value.char_indices().nth(KEY_CHARS_MAX) {
            Some((end, _)) => {
                cut = true;
                format!("{}…", &part.value[..end])
            }
            None => part.value,
        };
        Text { values: key.into_iter().map(short).collect(), kinds, cut }
    }
}
