//! What somebody may have meant.
//!
//! Invariant: the work is bounded, however long the word is.

/// Longest word that is compared.
const WORD_MAX: usize = 40;

/// Most slips.
const SLIPS_MAX: usize = 3;

/// The candidate that is a slip or two away from a word.
pub(super) fn near<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let word = word.to_ascii_lowercase().replace('-', "_");
    let within = |candidate: &&str| candidate.len().abs_diff(word.len()) <= SLIPS_MAX;
    let scored = candidates.into_iter().filter(within).map(|candidate| {
        let plain = candidate.to_ascii_lowercase().replace('-', "_");
        (slips(word.as_bytes(), plain.as_bytes()), candidate)
    });
    let (slips, candidate) = scored.min_by_key(|(slips, _)| *slips)?;
    let allowed = match candidate.len() {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        _ => SLIPS_MAX,
    };
    (slips <= allowed).then_some(candidate)
}

/// How many letters have to be added, taken away, changed, or swapped with their neighbour.
fn slips(one: &[u8], other: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(one.len())
}
