//! What this server is called, for people who look at several.
//!
//! Invariant: a name of printable characters, of a length that fits a line.

use std::sync::Arc;

/// Where the system says how the machine is called.
const FILE: &str = "/proc/sys/kernel/hostname";

/// Longest name.
const NAME_MAX: usize = 64;

/// The machine's name, as far as it is known.
pub(crate) fn name() -> Arc<str> {
    let told = std::fs::read_to_string(FILE).or_else(|_| std::env::var("HOSTNAME"));
    let told = told.unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name: String = told.trim().chars().filter(plain).take(NAME_MAX).collect();
    if name.is_empty() { "localhost".into() } else { name.into() }
}
