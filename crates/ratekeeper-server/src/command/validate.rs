//! `ratekeeper validate`: whether rule files make sense, and all that is wrong with them.
//!
//! Invariant: what is fine here starts, and what is not does not.

use super::{Failure, doors, gateway, listeners, plain, store};
use crate::admin::Tokens;
use crate::args::Validate;
use crate::config::{Config, Fault, Faults, shown};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// The result in JSON.
#[derive(Serialize)]
struct Verdict<'a> {
    valid: bool,
    /// How many rules there are; 0 where there are faults.
    rules: usize,
    errors: &'a [Fault],
    /// Faults beyond those that are listed, if there are any.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like this")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

pub(super) fn run(args: &Validate) -> Result<ExitCode, Failure> {
    let read = Config::read(&args.path).and_then(complete);
    if args.json {
        let verdict = match &read {
            Ok(config) => {
                let rules = config.file.rules.rules.len();
                Verdict { valid: true, rules, errors: &[], more: 0 }
            }
            Err(faults) => {
                Verdict { valid: false, rules: 0, errors: &faults.listed, more: faults.more }
            }
        };
        let text = serde_json::to_string(&verdict)
            .map_err(|error| Failure::new(format!("the result cannot be written: {error}")))?;
        // Whoever closed stdout has the exit code.
        let _ = writeln!(io::stdout(), "{text}");
        return Ok(ExitCode::from(if verdict.valid { 0 } else { 2 }));
    }
    let config = read?;
    let _ = writeln!(io::stdout(), "{}: {}, fine", plain(&shown(&args.path)), count(&config));
    Ok(ExitCode::SUCCESS)
}

/// With what only a server looks at: files with passwords, certificates and tokens, and who reaches administration.
fn complete(config: Config) -> Result<Config, Faults> {
    let store = store::configured(&config).err();
    let tokens = config.token_file().and_then(|path| Tokens::open(&path).err());
    let open = listeners::open_admin(&config);
    let gateway = gateway::fault(&config);
    let listed = [store, tokens, open, gateway].into_iter().flatten();
    let listed: Vec<Fault> = listed.chain(doors::faults(&config)).collect();
    if listed.is_empty() { Ok(config) } else { Err(Faults { listed, more: 0 }) }
}

/// How many there are of what a file can have many of.
fn count(config: &Config) -> String {
    let rules = config.file.rules.rules.len();
    format!("{rules} rule{}", if rules == 1 { "" } else { "s" })
}
