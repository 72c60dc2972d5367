//! gRPC's own way to ask whether a server is well (`grpc.health.v1`).
//!
//! Invariant: it says what `/readyz` says, at the moment at which it is asked; who watches is told of changes within a
//! second, and that there is no more to tell when the server stops.

use super::SERVICE_NAME;
use crate::app::App;
use crate::door::health::readiness;
use crate::life::Phase;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Watchers at a time. Beyond it: `RESOURCE_EXHAUSTED`.
const WATCHERS_MAX: usize = 64;

/// How often a watcher's server is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A server, as it is asked for its health.
pub(super) struct Watched {
    app: App,
    watchers: Arc<Semaphore>,
}

impl Watched {
    pub(super) fn new(app: App) -> Watched {
        Watched { app, watchers: Arc::new(Semaphore::new(WATCHERS_MAX)) }
    }
}

async fn status(app: &App) -> ServingStatus {
    match readiness(app).await {
        Ok(_) => ServingStatus::Serving,
        Err(_) => ServingStatus::NotServing,
    }
}

/// Whether there is such a service; an empty name is all of them.
fn is_known(service: &str) -> bool {
    service.is_empty() || service == SERVICE_NAME
}

#[tonic::async_trait]
impl Health for Watched {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("there is no such service here"));
        }
        let status = status(&self.app).await.into();
        Ok(Response::new(HealthCheckResponse { status }))
    }

    type WatchStream = Watch;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Watch>, Status> {
        let Ok(place) = Arc::clone(&self.watchers).try_acquire_owned() else {
            return Err(Status::resource_exhausted("too many watch already; ask now and then"));
        };
        let (told, changes) = mpsc::channel(1);
        let (app, known) = (self.app.clone(), is_known(&request.get_ref().service));
        tokio::spawn(async move {
            let watch = async {
                let mut last = None;
                loop {
                    let now =
                        if known { status(&app).await } else { ServingStatus::ServiceUnknown };
                    if last.replace(now) != Some(now) && told.send(now).await.is_err() {
                        return;
                    }
                    sleep(LOOK).await;
                }
            };
            tokio::select! {
                () = watch => {}
                () = told.closed() => {}
                () = app.life.reaches(Phase::Stopping) => {}
            }
            drop(place);
        });
        Ok(Response::new(Watch(changes)))
    }
}

/// What a watcher is told.
pub(super) struct Watch(mpsc::Receiver<ServingStatus>);

impl Stream for Watch {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let told = self.0.poll_recv(context);
        told.map(|told| told.map(|status| Ok(HealthCheckResponse { status: status.into() })))
    }
}
