//! Conditions in CEL.
//!
//! Invariant: what a condition costs is bounded by its length and by the request: it walks over a list
//! or a map at most once.

use super::{CONDITION_MAX, Facts};
use crate::request::Headers;
use cel::{Context, Program, Value};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a condition may name.
const NAMES: [&str; 9] =
    ["method", "path", "host", "headers", "ip", "user", "tier", "claims", "cost"];

/// What walks over a list or a map; one in another would take the square of its length.
const WALKS: [&str; 5] = ["all", "exists", "exists_one", "map", "filter"];

/// A condition, ready to be asked.
#[derive(Debug)]
pub(crate) struct Condition {
    program: Program,
    headers: bool,
    #[cfg(feature = "jwt")]
    claims: bool,
}

impl Condition {
    /// Reads a condition; else says why not, and what to do.
    pub(crate) fn read(text: &str) -> Result<Condition, String> {
        if text.len() > CONDITION_MAX {
            return Err(format!("is longer than {CONDITION_MAX} bytes; write several rules"));
        }
        if walks(text) > 1 {
            return Err("walks over more than one list or map; write several rules".into());
        }
        // A parser of so large a grammar is not ours to vouch for.
        let read = catch_unwind(|| Program::compile(text));
        let Ok(Ok(program)) = read else {
            return Err("is no CEL; write one such as `method == \"POST\" && cost > 10`".into());
        };
        let (headers, claims) = {
            let used = program.references();
            let mut names = used.variables().into_iter();
            let own = bound(text);
            if let Some(name) = names.find(|name| !NAMES.contains(name) && own != Some(*name)) {
                let known = NAMES.join(", ");
                return Err(format!("asks for `{name}`, which is not known; there are {known}"));
            }
            (used.has_variable("headers"), used.has_variable("claims"))
        };
        #[cfg(not(feature = "jwt"))]
        let _ = claims;
        Ok(Condition {
            program,
            headers,
            #[cfg(feature = "jwt")]
            claims,
        })
    }

    /// Whether it holds; also where it cannot be worked out.
    pub(crate) fn holds(&self, facts: &Facts<'_>) -> bool {
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let mut context = Context::default();
            let texts = [
                ("method", &*facts.method),
                ("path", facts.path),
                ("host", facts.host),
                ("ip", &facts.ip),
                ("user", facts.user),
                ("tier", facts.tier),
            ];
            for (name, text) in texts {
                context.add_variable_from_value(name, text);
            }
            context.add_variable_from_value("cost", facts.cost);
            if self.headers {
                context.add_variable_from_value("headers", headers(facts.headers));
            }
            #[cfg(feature = "jwt")]
            if self.claims {
                let claims = facts.claims.cloned().unwrap_or_default();
                let claims = cel::to_value(claims).unwrap_or(Value::Null);
                context.add_variable_from_value("claims", claims);
            }
            self.program.execute(&context)
        }));
        !matches!(asked, Ok(Ok(Value::Bool(false))))
    }
}

/// Each field by its name in lower case, its lines joined by commas, as far as they are text.
fn headers(headers: &dyn Headers) -> HashMap<String, String> {
    let mut names = Vec::new();
    headers.names(&mut |name| names.push(name.to_ascii_lowercase()));
    let mut found = HashMap::with_capacity(names.len());
    for name in names {
        let mut lines = Vec::new();
        headers.each(&name, &mut |line| lines.push(String::from_utf8_lossy(line)));
        let text = lines.join(", ");
        found.insert(name, text);
    }
    found
}

/// The name that the only walk gives to what it walks over.
fn bound(text: &str) -> Option<&str> {
    let calls = text.match_indices('(').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut walks = calls.filter(|(before, _)| {
        let before = before.trim_end();
        let word = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
        WALKS.contains(&word)
    });
    walks.next().and_then(|(_, inside)| inside.split(',').next()).map(str::trim)
}

/// How often something is walked over.
fn walks(text: &str) -> usize {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| WALKS.contains(word)).count()
}
