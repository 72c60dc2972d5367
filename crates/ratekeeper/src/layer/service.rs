//! The service that stands before another.
//!
//! Invariant: the inner service is called only when it is ready, and once for each request that passes.

use super::answer::{Answer, Called};
use super::body::Body;
use super::seen::Seen;
use super::{Setup, refuse};
use crate::limiter::Begun;
use bytes::Bytes;
use http::{Request, Response};
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// A service with rate limits before it; made by [`RateLimitLayer`](super::RateLimitLayer).
#[derive(Clone)]
pub struct RateLimit<S> {
    inner: S,
    setup: Arc<Setup>,
}

impl<S> RateLimit<S> {
    pub(super) fn new(inner: S, setup: Arc<Setup>) -> RateLimit<S> {
        RateLimit { inner, setup }
    }
}

impl<S, A, B> Service<Request<A>> for RateLimit<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone,
    B: http_body::Body<Data = Bytes>,
{
    type Response = Response<Body<B>>;
    type Error = S::Error;
    type Future = Answer<S, A>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<A>) -> Answer<S, A> {
        let setup = Arc::clone(&self.setup);
        let seen = Seen::new(&request);
        let said = setup.said(&seen);
        let asked = said.request(&seen);
        match asked.and_then(|asked| Ok((setup.begin(&asked)?, asked))) {
            Err(rejected) => {
                let refused = refuse::rejected(&seen, &rejected);
                setup.watch.rejected(&setup, &rejected);
                Answer::refused(refused)
            }
            Ok((Begun::Done(admission), asked)) if admission.is_refused() => {
                let id = setup.tell(&seen, &asked, &admission);
                Answer::refused(refuse::refused(&setup, &seen, &admission, id.as_deref()))
            }
            Ok((Begun::Done(admission), asked)) => {
                setup.tell(&seen, &asked, &admission);
                setup.watch.mark(&setup, &mut request);
                Answer::passes(self.inner.call(request), admission, setup)
            }
            Ok((Begun::Later(later), _)) => {
                // The one that is ready is called later; its clone takes its place here.
                let clone = self.inner.clone();
                let ready = mem::replace(&mut self.inner, clone);
                let said = setup.decided.is_some().then(|| Box::new(said));
                Answer::later(later, Called { service: ready, request, said }, setup)
            }
        }
    }
}

impl<S> std::fmt::Debug for RateLimit<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimit").finish_non_exhaustive()
    }
}
