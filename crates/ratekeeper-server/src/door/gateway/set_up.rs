//! The gateway, as a rule file describes it.
//!
//! Invariant: an upstream that several routes name is one: its connections and its health are shared.

use super::log::Log;
use super::routes::{Route, Routes};
use super::upstream::{Connector, Upstream, watch};
use super::{Gateway, figures};
use crate::app::App;
use crate::config::{Config, Fault};
use crate::tls;
use ratekeeper::rule::file::{Gateway as Said, Scheme, Upstream as Place};
use ratekeeper::rule::pattern::PathTable;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Routes and upstreams that are set up, before there is anything to ask the limits.
pub(crate) struct Sites {
    routes: Arc<Routes>,
    upstreams: Vec<(Arc<Upstream>, Option<String>)>,
    log: Option<Log>,
}

impl Sites {
    /// Sets up what the config says, with at most so many connections to upstreams.
    pub(crate) fn new(config: &Config, said: &Said, connections: usize) -> Result<Sites, Fault> {
        let ca = said.ca.as_deref().map(|name| config.named(name));
        let mut places = said.routes.iter().flat_map(|route| &route.upstreams);
        let tls = match places.any(|place| place.scheme == Scheme::Https) {
            true => Some(tls::client(ca.as_deref())?),
            false => None,
        };
        let places = Arc::new(Semaphore::new(connections));
        let mut known: HashMap<&Place, Arc<Upstream>> = HashMap::new();
        let (mut all, mut upstreams) = (Vec::new(), Vec::new());
        for route in &said.routes {
            let mut own = Vec::new();
            for place in &route.upstreams {
                if let Some(upstream) = known.get(place) {
                    own.push(Arc::clone(upstream));
                    continue;
                }
                let connector = Connector::new(place, tls.as_ref()).ok_or_else(|| {
                    let fault = format!("`{place}` has a host that no certificate can name");
                    Fault::of(&config.path, fault, "write a name or an address")
                })?;
                let upstream = Arc::new(Upstream::new(place, connector, &places));
                known.insert(place, Arc::clone(&upstream));
                upstreams.push((Arc::clone(&upstream), health(said, place)));
                own.push(upstream);
            }
            all.push(Route::new(route.path.as_str(), own, route.auth, route.timeouts));
        }
        let log = Log::start(said.access_log).map_err(|error| {
            Fault::of(&config.path, format!("no access log can be written: {error}"), "try again")
        })?;
        let table = PathTable::new(said.routes.iter().map(|route| &route.path));
        Ok(Sites { routes: Arc::new(Routes::new(table, all)), upstreams, log })
    }

    /// Opens the gateway; upstreams are looked at from now on, for as long as the runtime lives.
    pub(crate) fn open(self, app: App) -> Gateway {
        let figures = figures::Source::new(&self.routes, &self.upstreams);
        app.observe.follow_gateway(Box::new(move || figures.read()));
        for (upstream, path) in self.upstreams {
            tokio::spawn(watch(upstream, path));
        }
        Gateway::new(app, self.routes, self.log)
    }
}

impl Gateway {
    /// The gateway that a config describes, if it does, with at most so many connections to upstreams. To be called in
    /// a runtime, in which upstreams are looked at.
    pub fn of(config: &Config, app: App, connections: usize) -> Result<Option<Gateway>, Fault> {
        let Some(said) = &config.file.settings.gateway else { return Ok(None) };
        Ok(Some(Sites::new(config, said, connections)?.open(app)))
    }
}

/// The path at which an upstream says whether it is well; all routes that name one name the same.
fn health(said: &Said, place: &Place) -> Option<String> {
    let own = said.routes.iter().filter(|route| route.upstreams.contains(place));
    own.filter_map(|route| route.health.clone()).next()
}
