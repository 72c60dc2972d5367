//! A request of which nobody will say when it has ended, as a gateway that only asks whether it may pass.
//!
//! Invariant: no permit is taken, since none would be given back. All other limits decide as they do for
//! anybody, those of a rule beside its concurrency limits, too.

use super::{Admission, Begun, Way};
use crate::limiter::Limiter;
use crate::limiter::select::View;
use crate::request::{Rejected, Request};
use crate::rule::kind::ANYONE;

impl Limiter {
    /// [Admits](Limiter::admit) a request, and leaves concurrency limits out: for doors that are not
    /// told when a request has ended.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Limiter, Request};
    ///
    /// let limiter = Limiter::memory().rule("api", ["1 concurrent", "2/minute"])?.build();
    /// let request = Request { peer: Some("192.0.2.7".parse()?), ..Request::new("GET", "/") };
    /// let first = limiter.admit_without_permits(&request).await?;
    /// let second = limiter.admit_without_permits(&request).await?;
    /// assert!(first.is_allowed() && second.is_allowed());
    /// assert!(limiter.admit_without_permits(&request).await?.is_refused());
    /// # Ok(()) }
    /// ```
    pub async fn admit_without_permits(
        &self,
        request: &Request<'_>,
    ) -> Result<Admission, Rejected> {
        match self.begin_without_permits(request)? {
            Begun::Done(admission) => Ok(admission),
            Begun::Later(later) => Ok(later.run().await),
        }
    }

    fn begin_without_permits(&self, request: &Request<'_>) -> Result<Begun, Rejected> {
        let release = self.0.rules.load();
        let view = View::new(&self.0, &release, request, ANYONE)?.without_permits();
        Ok(self.0.begin(view.select()?, release.sheet(), Way::Here))
    }
}
