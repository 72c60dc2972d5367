//! `ratekeeper api-key new`: a key that nobody can guess, and the entry that a rule file takes for it.
//!
//! Invariant: the key itself is printed once, and kept nowhere; the entry holds its hash alone.

use super::Failure;
use crate::args::ApiKeyNew;
use crate::hex::hex;
use ratekeeper::identity::ApiKey;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// Bytes of a key that are random.
const RANDOM: usize = 24;

/// What stands before the digits of a hash.
const SCHEME: &str = "sha256:";

/// What keys begin with, so that they are known for what they are when they turn up somewhere.
const PREFIX: &str = "rk_";

#[derive(Serialize)]
struct Made<'a> {
    key: &'a str,
    entry: Entry<'a>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    owner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    hash: &'a str,
}

pub(super) fn run(args: &ApiKeyNew) -> Result<ExitCode, Failure> {
    let mut random = [0; RANDOM];
    getrandom::fill(&mut random).map_err(|error| {
        Failure::new(format!("the system has no random numbers: {error}; try again"))
    })?;
    let key = format!("{PREFIX}{}", hex(&random));
    let hash = format!("{SCHEME}{}", hex(&ApiKey::hash_of(key.as_bytes())));
    let short: String = hash.chars().skip(SCHEME.len()).take(8).collect();
    let id = args.id.clone().unwrap_or_else(|| format!("key-{short}"));
    let entry = Entry { id: &id, owner: &args.owner, tier: args.tier.as_deref(), hash: &hash };
    let text = match args.json {
        true => serde_json::to_string(&Made { key: &key, entry })
            .map_err(|error| Failure::new(format!("the key cannot be written: {error}")))?,
        false => text(&key, &entry),
    };
    writeln!(io::stdout(), "{text}")
        .map_err(|error| Failure::new(format!("the key cannot be printed: {error}; try again")))?;
    Ok(ExitCode::SUCCESS)
}

fn text(key: &str, entry: &Entry<'_>) -> String {
    let Entry { id, owner, tier, hash } = entry;
    // A string of JSON is one of YAML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let tier = tier.map_or_else(String::new, |tier| format!(", tier: {}", quoted(tier)));
    let (id, owner) = (quoted(id), quoted(owner));
    format!(
        "{key}\n\nGive this to its owner; it is not shown again. Add to the file that `identity.api_key.keys` \
         names:\n\n- {{id: {id}, owner: {owner}{tier}, hash: \"{hash}\"}}"
    )
}
