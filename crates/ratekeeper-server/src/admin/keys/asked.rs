//! What a call about a key asks for, such as `?rule=api&key=alice`, and the buckets that it may mean.
//!
//! Invariant: a key that comes with what its parts are means one bucket for each tier; a text alone means each that a
//! request of such a caller could meet, and first of all the one that a check of that key meets.

use crate::door::PARTS_MAX;
use crate::problem::{Problem, quoted};
use axum::http::StatusCode;
use form_urlencoded::parse;
use ratekeeper::limiter::{AskError, RuleKey};
use ratekeeper::rule::{KeyKind, KeyPart};
use ratekeeper::{Limiter, Rule};

/// How to ask.
pub(super) const EXAMPLE: &str = "ask such as `?rule=login&key=alice`";

/// What is asked for; without a rule, all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) rule: String,
    pub(super) key: Vec<String>,
    /// What each part is; empty if that is not said.
    kinds: Vec<KeyKind>,
    pub(super) tier: Option<String>,
    pub(super) entries: bool,
}

/// One bucket, or several of one rule, that may be meant.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    rule: String,
    pub(super) parts: Vec<KeyPart>,
    pub(super) tier: Option<String>,
}

impl Asked {
    /// A key under a rule, whatever it may mean.
    pub(super) fn of(rule: &str, key: &[&str]) -> Asked {
        let key = key.iter().map(|&part| part.to_owned()).collect();
        Asked { rule: rule.to_owned(), key, ..Asked::default() }
    }

    pub(super) fn read(query: &str) -> Result<Asked, Problem> {
        let mut asked = Asked::default();
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "rule" | "tier" if value.is_empty() => {
                    return Err(bad(format!("`{name}` is empty; send one, or leave it out")));
                }
                "rule" if asked.rule.is_empty() => asked.rule = value.into_owned(),
                "tier" if asked.tier.is_none() => asked.tier = Some(value.into_owned()),
                "key" if asked.key.len() < PARTS_MAX => asked.key.push(value.into_owned()),
                "kind" if asked.kinds.len() < PARTS_MAX => {
                    let kind = value.parse().map_err(|unknown| {
                        bad(format!("`kind` is `{}`, and {unknown}", quoted(&value)))
                    })?;
                    asked.kinds.push(kind);
                }
                "key" | "kind" => {
                    let fault = format!("there are more than {PARTS_MAX} `{name}`; send fewer");
                    return Err(bad(fault));
                }
                "entries" if ["true", "false"].contains(&&*value) => {
                    asked.entries = value == "true";
                }
                "entries" => {
                    return Err(bad("`entries` is neither true nor false; send one of them"));
                }
                "rule" | "tier" => {
                    return Err(bad(format!("`{name}` is there twice; send it once")));
                }
                _ => {
                    let name = quoted(&name);
                    let fields = "rule, key, kind, tier and entries";
                    return Err(bad(format!("there is no field `{name}`; there are {fields}")));
                }
            }
        }
        asked.checked()
    }

    fn checked(self) -> Result<Asked, Problem> {
        if self.key.is_empty() {
            return Err(bad(format!("`key` is missing; {EXAMPLE}")));
        }
        // A descriptor may be empty, and is told as such.
        if self.kinds.is_empty() && self.key.iter().any(String::is_empty) {
            return Err(bad("`key` is empty; send who is counted"));
        }
        if !self.kinds.is_empty() && self.kinds.len() != self.key.len() {
            return Err(bad("`kind` is not there once for each `key`; send one for each, or none"));
        }
        if !self.kinds.is_empty() && self.rule.is_empty() {
            return Err(bad(format!("`kind` needs a `rule`; {EXAMPLE}")));
        }
        Ok(self)
    }

    /// The parts, and what each of them is said to be.
    pub(super) fn said(&self) -> Vec<(Option<KeyKind>, &str)> {
        let kinds = self.kinds.iter().cloned().map(Some).chain(std::iter::repeat(None));
        kinds.zip(self.key.iter().map(|part| &**part)).collect()
    }

    /// What may be meant under a rule, the likeliest first, whatever the caller's tier.
    pub(super) fn meant(&self, limiter: &Limiter, rule: &str) -> Result<Vec<Meant>, Problem> {
        let all = match self.kinds.is_empty() {
            true => {
                let key: Vec<&str> = self.key.iter().map(|part| &**part).collect();
                limiter.meanings(rule, &key).map_err(problem)?
            }
            false => {
                let both = self.kinds.iter().cloned().zip(self.key.iter().cloned());
                vec![both.map(|(kind, value)| KeyPart::new(kind, value)).collect()]
            }
        };
        let meant =
            |parts| Meant { rule: rule.to_owned(), parts, tier: self.tier.as_ref().cloned() };
        Ok(all.into_iter().map(meant).collect())
    }
}

impl Meant {
    /// Whether it is everybody's, and so not this caller's.
    pub(super) fn is_shared(&self) -> bool {
        self.parts.iter().all(|part| part.kind == KeyKind::Global)
    }

    /// The same for each tier of which the rule has limits of its own for this key; as it is, if it names one.
    pub(super) fn by_tier(&self, limiter: &Limiter) -> Vec<Meant> {
        if self.tier.is_some() {
            return vec![self.clone()];
        }
        let (mut seen, mut each) = (Vec::new(), Vec::new());
        for tier in limiter.tiers() {
            let own = Meant { tier: Some(tier.to_string()), ..self.clone() };
            let Ok((rule, _)) = own.find(limiter) else { continue };
            if !seen.contains(&rule.limits().to_vec()) {
                seen.push(rule.limits().to_vec());
                each.push(own);
            }
        }
        if each.len() < 2 { vec![self.clone()] } else { each }
    }

    pub(super) fn find(&self, limiter: &Limiter) -> Result<(Rule, RuleKey), Problem> {
        limiter.rule_of(&self.rule, &self.parts, self.tier.as_deref()).map_err(problem)
    }
}

fn problem(error: AskError) -> Problem {
    match error {
        AskError::Unknown(unknown) => {
            Problem::new(StatusCode::NOT_FOUND, format!("`rule` is unknown: {unknown}"))
        }
        AskError::Kind(_) => bad(format!("`kind` does not fit: {error}")),
        AskError::Closed | AskError::Parts { .. } => bad(format!("`key` does not fit: {error}")),
    }
}

pub(super) fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}
