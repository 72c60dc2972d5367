//! A request that is not decided at once.
//!
//! Invariant: whoever is answered at once does not carry the size of this along.

use super::line::Line;
use super::{Admission, Sheet, Way};
use crate::limiter::Inner;
use crate::limiter::select::Selected;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// An admission that takes a while.
pub(crate) type Waits = Pin<Box<dyn Future<Output = Admission> + Send>>;

/// A request that waits for its turn, or for a store elsewhere.
pub(crate) struct Later {
    pub(super) limiter: Arc<Inner>,
    pub(super) selected: Selected,
    pub(super) sheet: Sheet,
    pub(super) way: Way,
    /// How long a store elsewhere is waited for, if not as long as it takes.
    #[cfg(feature = "redis")]
    pub(super) until: Option<tokio::time::Instant>,
}

impl Later {
    pub(super) fn new(limiter: &Arc<Inner>, selected: Selected, sheet: Sheet, way: Way) -> Later {
        let limiter = Arc::clone(limiter);
        Later {
            limiter,
            selected,
            sheet,
            way,
            #[cfg(feature = "redis")]
            until: None,
        }
    }

    /// The same for somebody who waits for a store elsewhere no longer than so long.
    #[cfg_attr(
        not(feature = "redis"),
        expect(unused_mut, unused_variables, reason = "memory waits for nobody")
    )]
    pub(super) fn within(mut self, time: Option<Duration>) -> Later {
        #[cfg(feature = "redis")]
        {
            self.until = time.map(|time| tokio::time::Instant::now() + time);
        }
        self
    }

    /// The admission, when it is time.
    pub(crate) fn run(self) -> Waits {
        Box::pin(self.wait())
    }

    async fn wait(self) -> Admission {
        #[cfg(feature = "redis")]
        if self.limiter.shared.is_some() {
            return self.run_far().await;
        }
        let Later { limiter, selected, sheet, way, .. } = self;
        let Selected { enforced, shadow, slots, looks, .. } = selected;
        let (results, hold) = Line::new(&limiter, enforced.into_vec()).await;
        let mut holds = vec![hold];
        let shadows = limiter.take_shadows(shadow, &results, way, &mut holds);
        limiter.observe_shut(&slots, &results, looks);
        Admission::new(sheet, &slots, results, shadows, holds)
    }
}
