//! Arguments as what they have to be.
//!
//! Invariant: a fault says which argument it is, what is wrong and what to send; it never shows a key.

use crate::door::COST_MAX;
use std::str::FromStr;

/// Why a command cannot be done; what is told after `ERR`.
pub(super) type Wrong = String;

/// Longest text of a client that an error repeats.
const SHOWN_MAX: usize = 64;

/// What was sent, as far as it can be shown.
pub(super) fn shown(arg: &[u8]) -> String {
    arg[..arg.len().min(SHOWN_MAX)].escape_ascii().to_string()
}

pub(super) fn text<'b>(arg: &'b [u8], what: &str) -> Result<&'b str, Wrong> {
    std::str::from_utf8(arg).map_err(|_| format!("the {what} is no text; send UTF-8"))
}

/// A key. An empty one is a variable that was never set far more often than it is anyone's name.
pub(super) fn key(arg: &[u8]) -> Result<&str, Wrong> {
    if arg.is_empty() {
        return Err("the key is empty; send who is counted".into());
    }
    text(arg, "key")
}

/// A whole number within bounds, in digits alone.
pub(super) fn whole(arg: &[u8], what: &str, least: u64, most: u64) -> Result<u64, Wrong> {
    let digits = arg.iter().all(u8::is_ascii_digit) && (1..=20).contains(&arg.len());
    let value = std::str::from_utf8(arg).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        format!("{what} is '{}'; send a whole number from {least} to {most}", shown(arg))
    })
}

pub(super) fn cost(arg: &[u8], least: u64) -> Result<u64, Wrong> {
    whole(arg, "COST", least, COST_MAX)
}

/// The name of what an earlier reply gave.
pub(super) fn name<T: FromStr>(arg: &[u8], what: &str) -> Result<T, Wrong> {
    let read = std::str::from_utf8(arg).ok().and_then(|text| text.parse().ok());
    read.ok_or_else(|| format!("this is not a {what}; send the one that an earlier reply gave"))
}

/// What may follow a key.
#[derive(Default)]
pub(super) struct Options<'b> {
    pub(super) cost: Option<u64>,
    pub(super) tier: Option<&'b str>,
}

impl<'b> Options<'b> {
    /// Reads `COST n` and `TIER t`, each at most once; a cost only where there can be one, of at least so much.
    pub(super) fn read(mut args: &[&'b [u8]], least: Option<u64>) -> Result<Options<'b>, Wrong> {
        let mut options = Options::default();
        while let [name, rest @ ..] = args {
            let (is_cost, is_tier) =
                (name.eq_ignore_ascii_case(b"COST"), name.eq_ignore_ascii_case(b"TIER"));
            let can = if least.is_some() { "COST or TIER" } else { "TIER" };
            let [value, rest @ ..] = rest else {
                return Err(format!("'{}' has no value; send {can} and one", shown(name)));
            };
            match least {
                Some(least) if is_cost && options.cost.is_none() => {
                    options.cost = Some(cost(value, least)?);
                }
                _ if is_tier && options.tier.is_none() => options.tier = Some(text(value, "tier")?),
                _ if is_tier || is_cost && least.is_some() => {
                    return Err(format!("'{}' is there twice; send it once", shown(name)));
                }
                _ => return Err(format!("there is no option '{}'; send {can}", shown(name))),
            }
            args = rest;
        }
        Ok(options)
    }
}
