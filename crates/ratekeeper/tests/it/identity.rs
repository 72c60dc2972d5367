//! How callers are recognised, as far as a program sets it up.
//!
//! What an identity makes of a request is tried beside it, in `src/identity/tests`. Invariant: what
//! cannot be meant is refused with the setting, the fault and the repair, and no secret in it.

mod built;
#[cfg(feature = "yaml")]
mod hashes;
#[cfg(feature = "jwt")]
mod signing_keys;

use ratekeeper::identity::IdentityError;

/// The text of a refusal, which has to name the setting and a repair.
fn refused<T>(result: Result<T, IdentityError>, setting: &str) -> String {
    let text = result.map(drop).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{setting}: ")), "{text}");
    let (_, repair) = text.split_once("; ").unwrap();
    let imperative = ["write ", "give ", "remove ", "rename "];
    assert!(imperative.iter().any(|verb| repair.starts_with(verb)), "{text}");
    text
}
