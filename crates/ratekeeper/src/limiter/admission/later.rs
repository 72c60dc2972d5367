//! A request that is not decided at once.
//!
//! Invariant: whoever is answered at once does not carry the size of this along.

use super::line::Line;
use super::{Admission, Sheet, Way};
use crate::limiter::Inner;
use crate::limiter::select::Selected;
use std::pin::Pin;
use std::sync::Arc;

/// An admission that takes a while.
pub(crate) type Waits = Pin<Box<dyn Future<Output = Admission> + Send>>;

/// A request that waits for its turn, or for a store elsewhere.
#[derive(Clone)]
pub(crate) struct Later {
    pub(super) limiter: Arc<Inner>,
    pub(super) selected: Selected,
    pub(super) sheet: Sheet,
    pub(super) way: Way,
}

impl Later {
    /// The admission, when it is time.
    pub(crate) fn run(self) -> Waits {
        Box::pin(self.wait())
    }

    async fn wait(self) -> Admission {
        #[cfg(feature = "redis")]
        if self.limiter.shared.is_some() {
            return self.run_far().await;
        }
        let Later { limiter, selected, sheet, way } = self;
        let Selected { enforced, shadow, slots, looks, .. } = selected;
        let (results, hold) = Line::new(&limiter, enforced.into_vec()).await;
        let mut holds = vec![hold];
        let shadows = limiter.take_shadows(shadow, &results, way, &mut holds);
        limiter.observe_shut(&slots, &results, looks);
        Admission::new(sheet, &slots, results, shadows, holds)
    }
}
