//! Signs that a limiter is not set up as its owner thinks, for doors to look for.
//!
//! Invariant: looking changes nothing.

use super::Limiter;
use crate::diagnosis::Diagnosis;
use crate::identity::Caller;
use crate::request::Request;
use crate::rule::KeyKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Addresses in documentation only: whoever trusts all of them trusts everyone.
const NOBODY: [[u8; 4]; 3] = [[192, 0, 2, 1], [198, 51, 100, 1], [203, 0, 113, 1]];

/// The same of IPv6.
const NOBODY_OF_SIX: [[u16; 8]; 2] =
    [[0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], [0x3fff, 0, 0, 0, 0, 0, 0, 1]];

impl Limiter {
    /// Signs in the rules that they are not what their owner thinks. The door may find users out by
    /// itself.
    pub fn doubts(&self, has_users: bool, found: &mut dyn FnMut(Diagnosis)) {
        let release = self.0.rules.load();
        if release.entries.iter().all(|entry| entry.spec.domain.is_some()) {
            found(Diagnosis::NoRules);
        }
        let trusts = |address: IpAddr| release.identity.trusts(address);
        let four = NOBODY.map(|octets| trusts(Ipv4Addr::from(octets).into()));
        let six = NOBODY_OF_SIX.map(|segments| trusts(Ipv6Addr::from(segments).into()));
        if four == [true; 3] || six == [true; 2] {
            found(Diagnosis::Everyone);
        }
        let identity = release.identity.knows_users();
        let unknown = |part: &Vec<KeyKind>| {
            part.iter().all(|kind| match kind {
                KeyKind::User => !has_users && !identity,
                KeyKind::ApiKey | KeyKind::Claim(_) => !identity,
                _ => false,
            })
        };
        let lost = release.entries.iter().find(|entry| entry.spec.key.parts.iter().any(unknown));
        if let Some(entry) = lost {
            found(Diagnosis::NoUser(Arc::clone(&entry.spec.id)));
        }
    }

    /// The same in a request; says whether its address came from a proxy that is trusted.
    pub fn doubt(&self, request: &Request<'_>, found: &mut dyn FnMut(Diagnosis)) -> bool {
        let release = self.0.rules.load();
        let caller = Caller::new(&release.identity, request);
        if caller.distrusted() {
            found(Diagnosis::Untrusted);
        }
        let forwarded = caller.is_forwarded();
        // Of one whose header field cannot be read nobody can say that it is silent.
        let reads = caller.address().is_ok();
        if !forwarded && reads && request.peer.is_some_and(|own| release.identity.trusts(own)) {
            found(Diagnosis::Silent);
        }
        forwarded
    }

    /// Tells the observer, or whoever reads what the program prints.
    #[cfg(feature = "tower")]
    pub(crate) fn tell_diagnosis(&self, diagnosis: &Diagnosis) {
        match &self.0.observer {
            Some(observer) => observer.diagnosed(diagnosis),
            None => eprintln!("ratekeeper: {diagnosis}"),
        }
    }

    /// Tells this limiter from others.
    #[cfg(feature = "tower")]
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether this peer's word about whom it speaks for is taken; see
    /// [`Identity::trusted_proxies`](crate::Identity::trusted_proxies).
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.0.rules.load().identity.trusts(peer)
    }

    /// The time by which it decides, in microseconds since the epoch.
    pub fn now(&self) -> u64 {
        self.0.clock.now()
    }
}
