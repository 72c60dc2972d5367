//! Conditions of rules, in CEL: read when a rule file is, and asked of each request that the rule would
//! otherwise match.
//!
//! Invariant: a condition that cannot be worked out holds, so that no request slips past a rule by
//! making its condition fail.

#[cfg(feature = "cel")]
mod with_cel;
#[cfg(not(feature = "cel"))]
mod without_cel;

#[cfg(feature = "cel")]
pub(crate) use with_cel::Condition;
#[cfg(not(feature = "cel"))]
pub(crate) use without_cel::Condition;

/// Longest condition.
#[cfg(feature = "cel")]
pub(crate) const CONDITION_MAX: usize = 1024;

/// Whether a condition can be read; else why not, and what to do.
#[cfg(all(feature = "cel", feature = "yaml"))]
pub(crate) fn check(text: &str) -> Result<(), String> {
    Condition::read(text).map(|_| ()).map_err(|fault| format!("the condition {fault}"))
}

/// What a condition can ask for.
#[cfg_attr(not(feature = "cel"), expect(dead_code, reason = "without CEL there is no condition"))]
pub(crate) struct Facts<'a> {
    pub(crate) method: std::borrow::Cow<'a, str>,
    pub(crate) path: &'a str,
    pub(crate) host: &'a str,
    pub(crate) headers: &'a dyn crate::request::Headers,
    pub(crate) ip: String,
    pub(crate) user: &'a str,
    pub(crate) tier: &'a str,
    #[cfg(all(feature = "cel", feature = "jwt"))]
    pub(crate) claims: Option<&'a serde_json::Map<String, serde_json::Value>>,
    pub(crate) cost: u64,
}
