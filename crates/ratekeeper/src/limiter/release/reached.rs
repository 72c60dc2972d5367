//! Whom an override reaches: a key that somebody wrote, as callers have it.
//!
//! Invariant: what is said to be something reaches that alone; an address that nobody says anything of also reaches
//! those for whom it stands in.

use super::Entry;
use crate::identity::Identity;
use crate::key::{Secret, Who};
use crate::rule::kind::{ANYONE, one_of_each};
use crate::rule::{KeyKind, KeySpec};
use std::net::IpAddr;
use std::sync::Arc;

/// Most callers that one override reaches: each of the most parts that a key has, stood in for or not.
const CALLERS_MAX: usize = 1 << 8;

/// A part of a key that somebody wrote: what it is, if that is said, and its value.
type Written = (Option<KeyKind>, Arc<str>);

impl Entry {
    /// Who has this key, whose parts somebody wrote, and who else has it where the address stands in for what a
    /// request lacks. Where the rule leaves it to the door whom to count, nobody has to say what a name is.
    pub(super) fn callers(
        &self,
        secret: &Secret,
        identity: &Identity,
        key: &[Written],
    ) -> (Vec<Who>, Vec<Who>) {
        let spec = &self.spec.key;
        let said: Vec<_> = key.iter().map(|(kind, value)| (kind.as_ref(), &**value)).collect();
        let encoded = |spec: &KeySpec, values: &[(Option<&KeyKind>, &str)]| {
            let key = spec.written(values.iter().copied(), |address| identity.network(address));
            key.map(|key| secret.who(key.as_bytes()))
        };
        if spec.is_given() {
            let anyone = KeySpec { parts: vec![ANYONE.to_vec()] };
            let given: Vec<&str> = said.iter().map(|(_, value)| *value).collect();
            let given = said.iter().all(|(kind, _)| kind.is_none()).then(|| secret.who(&given));
            return (given.into_iter().chain(encoded(&anyone, &said)).collect(), Vec::new());
        }
        // Each part may be stood in for by itself: a user may be missing where a host is not.
        let choices = said.iter().enumerate().map(|(part, (kind, value))| {
            let stands_in = kind.is_none()
                && spec.may_stand_in(part, self.spec.on_missing)
                && value.parse::<IpAddr>().is_ok();
            let kinds = [Some(*kind), stands_in.then_some(Some(&KeyKind::Ip))];
            kinds.into_iter().flatten().map(|kind| (kind, *value)).collect()
        });
        let each = one_of_each(&choices.collect::<Vec<_>>(), CALLERS_MAX);
        let stood = each[1..].iter().filter_map(|values| encoded(spec, values)).collect();
        (encoded(spec, &said).into_iter().collect(), stood)
    }
}
