//! The answer to a request that went through the layer, when it is there.
//!
//! Invariant: dropped while it waits, the request has left its line; dropped while the inner service
//! works, what it held is given back.

use super::body::Body;
use super::held::Held;
use super::seen::{Said, Seen};
use super::{Setup, refuse};
use crate::limiter::{Admission, Later, Waits};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// The answer to a request that went through the layer.
    pub struct Answer<S, A>
    where
        S: Service<Request<A>>,
    {
        #[pin]
        stage: Stage<S, A, S::Future>,
        setup: Option<Arc<Setup>>,
    }
}

pin_project! {
    #[project = Projected]
    enum Stage<S, A, F> {
        Refused { response: Option<Response<Bytes>> },
        // In a box, since it is large, and most requests do not wait.
        Waits { waits: Waits, called: Option<Box<Called<S, A>>> },
        Passes { #[pin] inner: F, admission: Option<Admission> },
    }
}

/// A request that waits, and the service that is ready for it.
pub(super) struct Called<S, A> {
    pub(super) service: S,
    pub(super) request: Request<A>,
    /// What hooks have said, where somebody wants to know what was decided.
    pub(super) said: Option<Box<Said>>,
}

impl<S: Service<Request<A>>, A> Answer<S, A> {
    pub(super) fn refused(response: Response<Bytes>) -> Answer<S, A> {
        Answer { stage: Stage::Refused { response: Some(response) }, setup: None }
    }

    pub(super) fn passes(
        inner: S::Future,
        admission: Admission,
        setup: Arc<Setup>,
    ) -> Answer<S, A> {
        let admission = Some(admission);
        Answer { stage: Stage::Passes { inner, admission }, setup: Some(setup) }
    }

    pub(super) fn later(later: Later, called: Called<S, A>, setup: Arc<Setup>) -> Answer<S, A> {
        let (waits, called) = (later.run(), Some(Box::new(called)));
        Answer { stage: Stage::Waits { waits, called }, setup: Some(setup) }
    }

    /// Whether the rules have still to decide.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waits { .. })
    }
}

impl<S, A, B> Future for Answer<S, A>
where
    S: Service<Request<A>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
{
    type Output = Result<Response<Body<B>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.stage.as_mut().project() {
                Projected::Refused { response } => {
                    let response = response.take().unwrap_or_default();
                    return Poll::Ready(Ok(response.map(Body::refusal)));
                }
                Projected::Passes { inner, admission } => {
                    let answer = ready!(inner.poll(context));
                    // If the service failed, what is held is given back here, though this may be kept.
                    let admission = admission.take();
                    return Poll::Ready(answer.map(|response| {
                        match (admission, this.setup.as_ref()) {
                            (Some(admission), Some(setup)) => finish(response, admission, setup),
                            _ => {
                                response.map(|body| Body::Inner { body, held: None, later: false })
                            }
                        }
                    }));
                }
                Projected::Waits { waits, called } => {
                    let admission = ready!(waits.as_mut().poll(context));
                    // Only a future that is polled after its end has neither.
                    let (Some(called), Some(setup)) = (called.take(), this.setup.as_ref()) else {
                        return Poll::Pending;
                    };
                    let Called { mut service, mut request, said } = *called;
                    let seen = Seen::new(&request);
                    // The same request was asked about, so it can be read.
                    let id = said
                        .and_then(|said| setup.tell(&seen, &said.request(&seen).ok()?, &admission));
                    match admission.is_refused() {
                        true => {
                            let refused = refuse::refused(setup, &seen, &admission, id.as_deref());
                            let response = Some(refused);
                            Stage::Refused { response }
                        }
                        false => {
                            setup.watch.mark(setup, &mut request);
                            let inner = service.call(request);
                            Stage::Passes { inner, admission: Some(admission) }
                        }
                    }
                }
            };
            this.stage.set(next);
        }
    }
}

/// The status of a call over gRPC, as HTTP has it, as far as rules ask for it.
pub(super) fn grpc_status(fields: &http::HeaderMap) -> u16 {
    match fields.get("grpc-status").map(http::HeaderValue::as_bytes) {
        Some(b"16") => 401,
        Some(b"7") => 403,
        _ => 200,
    }
}

/// Settles what the answer says, tells the caller its figures, and lets the body hold the permits.
fn finish<B: http_body::Body>(
    mut response: Response<B>,
    mut admission: Admission,
    setup: &Setup,
) -> Response<Body<B>> {
    let headers = response.headers();
    let upgrades = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    // A call over gRPC has its status here, or, in the usual case, behind the body.
    let is_grpc = refuse::is_grpc(headers);
    let later = is_grpc && !upgrades && !headers.contains_key("grpc-status");
    if !later {
        let status =
            if is_grpc && !upgrades { grpc_status(headers) } else { response.status().as_u16() };
        let field = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes);
        admission.answered(status, field);
    }
    refuse::add_fields(response.headers_mut(), &admission, setup);
    if upgrades {
        // What follows is no body, so that whoever speaks the new protocol has to hold.
        if admission.is_holding() {
            response.extensions_mut().insert(Held::new(admission));
        }
        return response.map(|body| Body::Inner { body, held: None, later });
    }
    response.map(|body| Body::inner(body, admission, later))
}
