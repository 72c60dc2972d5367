//! What can be counted by, and as text: as rule files write it, and as it is told of a key.
//!
//! Invariant: what is written is read back as the same kind.

use super::OnMissing;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One thing that can be counted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// The key that the caller of [`check`](crate::Rule::check) gives; behind a door that gives none, the
    /// user, the API key or the address.
    Given,
    /// The caller's address.
    Ip,
    /// The user that was authenticated.
    User,
    /// The API key that was verified, by its id.
    ApiKey,
    /// The tier.
    Tier,
    /// The pattern that matched the path.
    Route,
    /// The path.
    Path,
    /// The method.
    Method,
    /// The host.
    Host,
    /// All requests together.
    Global,
    /// A header field, by its name in lower case.
    Header(Arc<str>),
    /// A claim of a verified token.
    Claim(Arc<str>),
    /// A descriptor.
    Descriptor(Arc<str>),
}

/// Who is counted: each part is the first of its alternatives that the request has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// The parts, each with at least one alternative.
    pub parts: Vec<Vec<KeyKind>>,
}

/// The kinds that are a word in rule files.
pub(crate) const WORDS: [(&str, KeyKind); 9] = [
    ("ip", KeyKind::Ip),
    ("user", KeyKind::User),
    ("api_key", KeyKind::ApiKey),
    ("tier", KeyKind::Tier),
    ("route", KeyKind::Route),
    ("path", KeyKind::Path),
    ("method", KeyKind::Method),
    ("host", KeyKind::Host),
    ("global", KeyKind::Global),
];

/// What is told of a key that the caller gave. Rule files do not write it: they leave `key` out.
const GIVEN: &str = "key";

/// What is counted where a rule leaves it to the door.
pub(crate) const ANYONE: &[KeyKind] = &[KeyKind::User, KeyKind::ApiKey, KeyKind::Ip];

/// One part of a key: what it is, and its value as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// What it is.
    pub kind: KeyKind,
    /// Its value.
    pub value: String,
    /// Whether the value is all of it; bytes that are no text are not, and lead nobody back to the key.
    pub is_exact: bool,
}

impl KeyPart {
    /// A part with this value.
    pub fn new(kind: KeyKind, value: impl Into<String>) -> KeyPart {
        KeyPart { kind, value: value.into(), is_exact: true }
    }
}

impl KeyKind {
    /// Whether a request can be without it.
    fn may_be_missing(&self) -> bool {
        use KeyKind::{Given, Global, Ip, Method, Route, Tier};
        !matches!(self, Given | Global | Ip | Method | Route | Tier)
    }
}

/// A text that names nothing that can be counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = WORDS.map(|(word, _)| word).join(", ");
        write!(
            f,
            "nothing is counted by it; send {GIVEN}, {words}, header:name, claim:name or descriptor:name"
        )
    }
}

impl std::error::Error for UnknownKind {}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyKind::Given => f.write_str(GIVEN),
            KeyKind::Header(name) => write!(f, "header:{name}"),
            KeyKind::Claim(name) => write!(f, "claim:{name}"),
            KeyKind::Descriptor(name) => write!(f, "descriptor:{name}"),
            plain => {
                let word = WORDS.iter().find(|(_, kind)| kind == plain);
                f.write_str(word.map_or("", |(word, _)| word))
            }
        }
    }
}

impl FromStr for KeyKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<KeyKind, UnknownKind> {
        if let Some((_, kind)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(kind.clone());
        }
        match text.split_once(':') {
            None if text == GIVEN => Ok(KeyKind::Given),
            Some(("header", name)) if !name.is_empty() => {
                Ok(KeyKind::Header(name.to_ascii_lowercase().into()))
            }
            Some(("claim", name)) if !name.is_empty() => Ok(KeyKind::Claim(name.into())),
            Some(("descriptor", name)) if !name.is_empty() => Ok(KeyKind::Descriptor(name.into())),
            _ => Err(UnknownKind),
        }
    }
}

impl KeySpec {
    /// Whether the address may be counted in the place of a part.
    pub(crate) fn may_stand_in(&self, part: usize, on_missing: OnMissing) -> bool {
        let own = self.parts.get(part).map_or(&[][..], |own| own);
        on_missing == OnMissing::Ip && !own.is_empty() && own.iter().all(KeyKind::may_be_missing)
    }

    /// What a part of a key may be: one of its alternatives, the address where that stands in for what a
    /// request lacks, whatever a door counts by where the rule leaves that open; and what was given for it.
    pub(crate) fn kinds(&self, part: usize, on_missing: OnMissing) -> Vec<&KeyKind> {
        let mut kinds: Vec<&KeyKind> = self.parts.get(part).into_iter().flatten().collect();
        if kinds == [&KeyKind::Given] {
            kinds.extend(ANYONE);
            return kinds;
        }
        // Where it may, it is none of the alternatives: an address is never missing.
        kinds.extend(self.may_stand_in(part, on_missing).then_some(&KeyKind::Ip));
        kinds.push(&KeyKind::Given);
        kinds
    }
}

/// All ways to take one of each, the first of each at first; so many at most.
pub(crate) fn one_of_each<T: Clone>(choices: &[Vec<T>], most: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    for choice in choices {
        let longer = |own: &Vec<T>| -> Vec<Vec<T>> {
            choice.iter().map(|one| [&own[..], std::slice::from_ref(one)].concat()).collect()
        };
        all = all.iter().flat_map(longer).take(most).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: what is told of a kind names that kind.
    /// Method: every kind is written and read.
    #[test]
    fn every_kind_is_read_back() {
        let named = [
            KeyKind::Given,
            KeyKind::Header("x-tenant".into()),
            KeyKind::Claim("a:b".into()),
            KeyKind::Descriptor("Key".into()),
        ];
        for kind in WORDS.map(|(_, kind)| kind).into_iter().chain(named) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("header:X-Tenant".parse(), Ok(KeyKind::Header("x-tenant".into())));
        for text in ["", "nobody", "header:", "header", "claim:", "given", "Ip"] {
            assert_eq!(text.parse::<KeyKind>(), Err(UnknownKind), "{text}");
        }
    }

    /// Goal: every way is there once, the first of each at first, up to the bound.
    #[test]
    fn one_of_each_is_every_way() {
        let choices = [vec![1, 2], vec![3], vec![4, 5]];
        let all = [[1, 3, 4], [1, 3, 5], [2, 3, 4], [2, 3, 5]].map(Vec::from);
        assert_eq!(one_of_each(&choices, 9), all);
        assert_eq!(one_of_each(&choices, 3), all[..3]);
        assert!(one_of_each(&[vec![1], vec![]], 9).is_empty());
    }

    /// Goal: an address that stands in is a kind of its part, once.
    #[test]
    fn an_address_may_stand_in() {
        let user = KeySpec::of(KeyKind::User);
        let kinds = |spec: &KeySpec, missing| -> Vec<String> {
            spec.kinds(0, missing).iter().map(ToString::to_string).collect()
        };
        assert_eq!(kinds(&user, OnMissing::Ip), ["user", "ip", "key"]);
        assert_eq!(kinds(&user, OnMissing::Skip), ["user", "key"]);
        assert_eq!(kinds(&KeySpec::of(KeyKind::Ip), OnMissing::Ip), ["ip", "key"]);
        assert_eq!(kinds(&KeySpec::default(), OnMissing::Skip), ["key", "user", "api_key", "ip"]);
        for kind in [KeyKind::Global, KeyKind::Tier, KeyKind::Route, KeyKind::Method] {
            let told = [kind.to_string(), "key".to_owned()];
            assert_eq!(kinds(&KeySpec::of(kind), OnMissing::Ip), told, "it is never missing");
        }
    }
}
