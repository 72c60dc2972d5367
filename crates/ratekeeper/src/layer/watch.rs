//! Looks at the first requests for signs that the set-up is not what its owner thinks.
//!
//! Invariant: each diagnosis is told once, and after the first requests nothing is looked at any more.

use super::Setup;
use crate::diagnosis::Diagnosis;
use crate::request::{Rejected, Rejection, Request};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Requests that are looked at.
const LOOKS: u32 = 10_000;

/// Requests in a row from one private address that are suspicious.
const ALIKE: u32 = 1_000;

#[derive(Debug, Default)]
pub(super) struct Watch {
    looks: AtomicU32,
    /// A bit for each diagnosis that was told.
    told: AtomicU64,
    /// The last private address, and how often it came in a row.
    last: AtomicU32,
    alike: AtomicU32,
}

/// Whether an address is more likely a proxy's than a caller's.
fn is_near(address: Ipv4Addr) -> bool {
    address.is_private() || address.is_loopback()
}

/// Left with a request that met a limiter.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counted(usize);

impl Watch {
    /// Looks at the set-up itself.
    pub(super) fn start(&self, setup: &Setup) {
        let has_users = setup.user.is_some();
        setup.limiter.doubts(has_users, &mut |diagnosis| self.tell(setup, &diagnosis));
    }

    /// Looks at a request, if it is one of the first.
    pub(super) fn look(&self, setup: &Setup, request: &Request<'_>) {
        if self.looks.load(Ordering::Relaxed) >= LOOKS {
            return;
        }
        self.looks.fetch_add(1, Ordering::Relaxed);
        let forwarded = setup.limiter.doubt(request, &mut |diagnosis| self.tell(setup, &diagnosis));
        // A socket for both families shows addresses of IPv4 in the form of IPv6.
        match request.peer.map(|peer| peer.to_canonical()) {
            Some(IpAddr::V4(address)) if !forwarded && is_near(address) => {
                let same =
                    self.last.swap(address.to_bits(), Ordering::Relaxed) == address.to_bits();
                let alike = if same { self.alike.fetch_add(1, Ordering::Relaxed) } else { 0 };
                if !same {
                    self.alike.store(0, Ordering::Relaxed);
                } else if alike + 2 >= ALIKE {
                    self.tell(setup, &Diagnosis::OneBucket);
                }
            }
            _ => self.last.store(0, Ordering::Relaxed),
        }
    }

    /// Marks a request that passes, and notices one that was marked before.
    pub(super) fn mark<A>(&self, setup: &Setup, request: &mut http::Request<A>) {
        if self.looks.load(Ordering::Relaxed) >= LOOKS {
            return;
        }
        let mark = Counted(setup.limiter.address());
        if request.extensions_mut().insert(mark) == Some(mark) {
            self.tell(setup, &Diagnosis::Twice);
        }
    }

    /// Notices a request that no rule could be asked about because of the set-up.
    pub(super) fn rejected(&self, setup: &Setup, rejected: &Rejected) {
        if rejected.kind() == Rejection::Unknown {
            self.tell(setup, &Diagnosis::NoPeer);
        }
    }

    fn tell(&self, setup: &Setup, diagnosis: &Diagnosis) {
        let number = diagnosis.code().trim_start_matches(|c: char| !c.is_ascii_digit());
        let bit = 1_u64 << (number.parse().unwrap_or(0_u32) % 64);
        if self.told.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            setup.limiter.tell_diagnosis(diagnosis);
        }
    }
}
