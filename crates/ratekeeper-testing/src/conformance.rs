//! The laws that every store keeps, exact and with figures: memory, one server, a cluster, sentinels.
//!
//! A law is written once and run over all of them. Invariants: it has a place of its own in the store,
//! so that no law disturbs another; time stands still unless the law moves it; what it expects is
//! written down or the oracle's, never what another store said.

mod figures;
mod holds;
mod keys;
mod pair;
mod permits;
mod rates;
mod releases;
mod shapes;
mod stand;
mod states;
mod still;
mod together;
mod told;
mod turns;

pub use figures::Figures;
pub use shapes::{Dice, Shape};
pub use stand::{Entry, Place, Stand};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// How long a law may take; most take less than a second.
const LONGEST: Duration = Duration::from_secs(60);

/// What a law is run as.
type Run = fn(Stand) -> Pin<Box<dyn Future<Output = ()>>>;

/// Something that holds on every store, or on every one that several limiters share.
pub struct Law {
    /// What it says.
    pub name: &'static str,
    /// Whether it is about several limiters on the same state.
    pub shared: bool,
    run: Run,
}

macro_rules! laws {
    ($($name:literal $shared:literal $run:path),* $(,)?) => {
        [$(Law { name: $name, shared: $shared, run: |stand| Box::pin($run(stand)) }),*]
    };
}

/// All laws.
pub fn laws() -> Vec<Law> {
    laws![
        "small and odd rates are the oracle's" false rates::ordinary,
        "huge rates are the oracle's" false rates::huge,
        "a refusal is over at its time and not a tick earlier" false rates::promises,
        "there is more at the time that callers are told" false told::more,
        "reservations are settled as the oracle settles them" false holds::traces,
        "a dropped reservation stays charged" false holds::dropped,
        "a reservation that outlived its window gives nothing back" false holds::outlived,
        "a debt is at most one more limit" false holds::debt,
        "turns are the oracle's" false turns::traces,
        "the longest wait and the capacity are kept" false turns::bounds,
        "a call waits until its turn" false turns::waited,
        "who leaves gives a turn back only while it is the last" false turns::left,
        "a reserved turn is given back only while it is the last" false turns::reserved,
        "a permit by name ends with its time" false permits::ended,
        "a permit is given back once" false permits::released,
        "a permit of several limits ends under each in its time" false permits::several,
        "a reset frees the named permits alone" false permits::reset,
        "a permit is held until it is dropped" false permits::held,
        "permits that are dropped while they are renewed are free" false permits::dropped,
        "a permit with a turn is held from its turn on" false permits::turned,
        "a lowered limit takes nothing away and waits for its holders" true permits::lowered,
        "limiters share their state" true together::shared,
        "several limits of a rule are one decision" false together::limits,
        "several rules are one decision" false together::rules,
        "each rule that refuses says for how long" false together::waits,
        "a key that is asked twice is charged twice" false together::twice,
        "reservations of several rules are one" false together::reserved,
        "refusals, peeks and nevers change nothing" false still::nothing_changes,
        "unknown keys that are only looked at are not made" false still::nothing_is_made,
        "a changed amount keeps what was used" false releases::amounts,
        "what drained before the rules changed is not used" false releases::drained,
        "another period or algorithm starts afresh" false releases::afresh,
        "several limits keep what each has used" false releases::several,
        "a fleet brings over what was used, once" true releases::fleet,
        "windows are told as they are" false states::windows,
        "buckets are told by when they are whole" false states::buckets,
        "rules that come with the question have buckets of their own" false states::given,
        "keys that differ are different, whatever is in them" false keys::distinct,
        "names in the store are short and plain" true keys::names,
    ]
    .into()
}

/// Runs every law over a store, and says which did not hold.
pub fn uphold(place: &Place) {
    let mut broken = Vec::new();
    for (number, law) in laws().iter().enumerate().filter(|(_, law)| place.fits(law)) {
        println!("{}: {}", place.name(), law.name);
        let run = || {
            let stand = Stand::new(place, &format!("law{number}"));
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(2).enable_all().build();
            let runtime = runtime.expect("a runtime can be started");
            let kept = runtime.block_on(async { timeout(LONGEST, (law.run)(stand.clone())).await });
            assert!(kept.is_ok(), "it took longer than {LONGEST:?}");
            assert_eq!(stand.failures(), Vec::<String>::new(), "the store failed");
        };
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            broken.push(law.name);
        }
    }
    assert!(broken.is_empty(), "{} does not keep the laws: {broken:#?}", place.name());
}

impl Place {
    fn fits(&self, law: &Law) -> bool {
        self.is_shared() || !law.shared
    }
}

impl std::fmt::Debug for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Law").field(&self.name).finish()
    }
}
