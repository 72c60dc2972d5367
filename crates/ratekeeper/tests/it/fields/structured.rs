//! A parser of structured fields (RFC 9651): lists of strings with parameters, and no more than the
//! specification allows.
//!
//! Invariant: it was written from the RFC, and shares nothing with the writer.

use std::iter::Peekable;
use std::str::Chars;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bare {
    Integer(u64),
    /// Thousandths.
    Decimal(u64),
    Text(String),
}

/// One string of a list, and its parameters in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) parameters: Vec<(String, Bare)>,
}

impl Item {
    /// A parameter that is an integer.
    pub(super) fn integer(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Bare::Integer(value) => Some(*value),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Bare> {
        self.parameters.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }
}

type Text<'a> = Peekable<Chars<'a>>;

/// The items of a list; stops the test if it is none.
pub(super) fn list(text: &str) -> Vec<Item> {
    assert!(text.is_ascii(), "{text}");
    let mut rest = text.chars().peekable();
    let mut items = Vec::new();
    while rest.peek().is_some() {
        items.push(item(&mut rest));
        spaces(&mut rest);
        match rest.next() {
            None => break,
            Some(',') => spaces(&mut rest),
            Some(other) => unreachable!("{other} after an item of {text}"),
        }
        assert!(rest.peek().is_some(), "a comma at the end of {text}");
    }
    assert!(!items.is_empty(), "a list that is written has items");
    items
}

fn item(rest: &mut Text<'_>) -> Item {
    let Bare::Text(name) = bare(rest) else { unreachable!("the item is no string") };
    let mut parameters: Vec<(String, Bare)> = Vec::new();
    while rest.next_if_eq(&';').is_some() {
        spaces(rest);
        let mut key = String::new();
        let first = rest.next().filter(|c| c.is_ascii_lowercase() || *c == '*');
        key.push(first.expect("a key begins with a small letter"));
        let of_key = |c: &char| {
            c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.' | '*')
        };
        while let Some(c) = rest.next_if(of_key) {
            key.push(c);
        }
        assert_eq!(rest.next(), Some('='), "no flags are written");
        assert!(parameters.iter().all(|(own, _)| *own != key), "{key} twice");
        parameters.push((key, bare(rest)));
    }
    Item { name, parameters }
}

fn bare(rest: &mut Text<'_>) -> Bare {
    if rest.next_if_eq(&'"').is_some() {
        let mut text = String::new();
        loop {
            match rest.next().expect("the string ends") {
                '"' => return Bare::Text(text),
                '\\' => text.push(rest.next().filter(|c| matches!(c, '"' | '\\')).unwrap()),
                c @ ' '..='~' => text.push(c),
                c => unreachable!("{c:?} in a string"),
            }
        }
    }
    let mut digits = |most: usize| {
        let mut digits = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        assert!((1..=most).contains(&digits.len()), "{digits}");
        digits
    };
    let whole = digits(15);
    if rest.next_if_eq(&'.').is_none() {
        return Bare::Integer(whole.parse().unwrap());
    }
    assert!(whole.len() <= 12);
    let mut fraction = String::new();
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        fraction.push(digit);
    }
    assert!((1..=3).contains(&fraction.len()));
    Bare::Decimal(format!("{whole}{fraction:0<3}").parse().unwrap())
}

fn spaces(rest: &mut Text<'_>) {
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
}
