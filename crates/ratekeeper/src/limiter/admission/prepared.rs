//! A request of which is known what it will be asked, before anything is charged.
//!
//! Invariant: what is wrong with a request is told when it is prepared; asking then cannot fail. It is
//! decided by the rules that were there when it was prepared.

use super::{Begun, Sheet, Way};
use crate::decision::Decisions;
use crate::limiter::release::Release;
use crate::limiter::select::{Selected, View};
use crate::limiter::{Inner, Limiter};
use crate::request::{Rejected, Request};
use crate::rule::kind::ANYONE;
use std::fmt;
use std::sync::Arc;

/// A request that can be decided; see [`Limiter::prepare`].
#[must_use = "a request that is prepared is decided when it is checked"]
pub struct Prepared {
    pub(super) limiter: Arc<Inner>,
    pub(super) selected: Selected,
    pub(super) sheet: Sheet,
}

impl Limiter {
    /// Finds out which rules apply to a request, and charges nothing yet: for batches in which one bad
    /// request is to refuse all.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Limiter, Request};
    ///
    /// let limiter = Limiter::memory().rule("api", "2/minute")?.build();
    /// let request = Request { peer: Some("192.0.2.7".parse()?), ..Request::new("GET", "/") };
    /// let (first, second) = (limiter.prepare(&request)?, limiter.prepare(&request)?);
    /// assert_eq!(first.check().await.remaining(), 1);
    /// assert_eq!(second.check().await.remaining(), 0);
    /// # Ok(()) }
    /// ```
    pub fn prepare(&self, request: &Request<'_>) -> Result<Prepared, Rejected> {
        let release = self.0.rules.load();
        let selected = View::new(&self.0, &release, request, ANYONE)?.select()?;
        Ok(Prepared::new(&self.0, selected, &release))
    }
}

impl Prepared {
    pub(in crate::limiter) fn new(
        limiter: &Arc<Inner>,
        selected: Selected,
        release: &Release,
    ) -> Prepared {
        Prepared { limiter: Arc::clone(limiter), selected, sheet: release.sheet() }
    }

    /// Decides it, as [`Limiter::check`] does.
    pub async fn check(self) -> Decisions {
        let Prepared { limiter, selected, sheet } = self;
        match limiter.begin(selected, sheet, Way::Told) {
            Begun::Done(admission) => admission.decisions,
            Begun::Later(later) => later.run().await.decisions,
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("version", &self.sheet.version).finish_non_exhaustive()
    }
}
