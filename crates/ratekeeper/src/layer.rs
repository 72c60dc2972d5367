//! The tower layer: rate limits in front of any service of requests over HTTP.
//!
//! From a request to a decision to an answer: header fields on every answer, refusals answered here, turns
//! waited for in order, permits held until the body of the answer has ended. Invariant: a request that is
//! refused never reaches the inner service.
//!
//! ```
//! use ratekeeper::{Limiter, layer::RateLimitLayer};
//!
//! let limiter = Limiter::memory().rule("api", "100/minute burst 20")?.build();
//! let layer = RateLimitLayer::new(limiter).by_ip();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod body;
mod held;
mod refuse;
mod seen;
mod service;
mod watch;

pub use answer::Answer;
pub use body::Body;
pub use held::Held;
pub use seen::{Peer, Seen};
pub use service::RateLimit;

use crate::decision::Decisions;
use crate::limiter::Limiter;
use crate::request::Request;
use crate::rule::KeyKind;
use bytes::Bytes;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use tower_layer::Layer;
use watch::Watch;

/// Finds something out about a request.
type Finds<T> = Arc<dyn Fn(&Seen<'_>) -> Option<T> + Send + Sync>;

/// Makes the answer to a request that is refused.
type Refuses = Arc<dyn Fn(&Decisions) -> http::Response<Bytes> + Send + Sync>;

/// Is told what was decided, and names a refusal.
type Decides = Arc<dyn Fn(&Seen<'_>, &Request<'_>, &Decisions) -> Option<String> + Send + Sync>;

/// Puts rate limits in front of a service.
///
/// Rules of a [rule file](crate::Limiter::from_yaml) say by themselves whom they count. Those that were
/// added in code count by the user, the API key or the address, whichever there is first, unless
/// [`by_ip`](RateLimitLayer::by_ip) says otherwise.
#[derive(Clone)]
pub struct RateLimitLayer {
    setup: Setup,
}

#[derive(Clone)]
pub(crate) struct Setup {
    limiter: Limiter,
    given: &'static [KeyKind],
    user: Option<Finds<String>>,
    tier: Option<Finds<String>>,
    peer: Option<Finds<IpAddr>>,
    refuses: Option<Refuses>,
    decided: Option<Decides>,
    watch: Arc<Watch>,
}

impl RateLimitLayer {
    /// Limits by the rules of this limiter.
    pub fn new(limiter: Limiter) -> RateLimitLayer {
        let (given, watch) = (crate::rule::kind::ANYONE, Arc::new(Watch::default()));
        let (user, tier, peer, refuses, decided) = (None, None, None, None, None);
        RateLimitLayer {
            setup: Setup { limiter, given, user, tier, peer, refuses, decided, watch },
        }
    }

    /// Rules that do not say whom they count, count by the caller's address.
    pub fn by_ip(mut self) -> RateLimitLayer {
        self.setup.given = &[KeyKind::Ip];
        self
    }

    /// Who the user is, for applications that authenticate by themselves, before this layer.
    ///
    /// ```
    /// # use ratekeeper::{Limiter, layer::RateLimitLayer};
    /// #[derive(Clone)]
    /// struct Session { user: String }
    ///
    /// # let limiter = Limiter::memory().rule("api", "100/minute")?.build();
    /// let layer = RateLimitLayer::new(limiter)
    ///     .user(|request| Some(request.extensions().get::<Session>()?.user.clone()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn user<F>(mut self, user: F) -> RateLimitLayer
    where
        F: Fn(&Seen<'_>) -> Option<String> + Send + Sync + 'static,
    {
        self.setup.user = Some(Arc::new(user));
        self
    }

    /// Which tier the caller has, for applications that know it.
    pub fn tier<F>(mut self, tier: F) -> RateLimitLayer
    where
        F: Fn(&Seen<'_>) -> Option<String> + Send + Sync + 'static,
    {
        self.setup.tier = Some(Arc::new(tier));
        self
    }

    /// The address at the other end of the connection, for servers that do not leave it where this layer
    /// looks: in a [`Peer`] among the extensions, or, with the feature `axum`, in its `ConnectInfo`.
    pub fn peer<F>(mut self, peer: F) -> RateLimitLayer
    where
        F: Fn(&Seen<'_>) -> Option<IpAddr> + Send + Sync + 'static,
    {
        self.setup.peer = Some(Arc::new(peer));
        self
    }

    /// Answers refusals with a response of one's own; header fields are added to it.
    pub fn on_refusal<F>(mut self, refuses: F) -> RateLimitLayer
    where
        F: Fn(&Decisions) -> http::Response<Bytes> + Send + Sync + 'static,
    {
        self.setup.refuses = Some(Arc::new(refuses));
        self
    }

    /// Is told what was decided of each request that rules were asked about, once, before it is passed
    /// on or refused. What it returns is the name of a refusal: the field `X-Ratekeeper-Decision` and
    /// the `instance` of the problem; of a request that passes it is not used.
    ///
    /// ```
    /// # use ratekeeper::{Limiter, layer::RateLimitLayer};
    /// # let limiter = Limiter::memory().rule("api", "100/minute")?.build();
    /// let layer = RateLimitLayer::new(limiter).decided(|_, request, decisions| {
    ///     println!("{} {}: {:?}", request.method, request.path, decisions.is_allowed());
    ///     None
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decided<F>(mut self, decided: F) -> RateLimitLayer
    where
        F: Fn(&Seen<'_>, &Request<'_>, &Decisions) -> Option<String> + Send + Sync + 'static,
    {
        self.setup.decided = Some(Arc::new(decided));
        self
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        self.setup.watch.start(&self.setup);
        RateLimit::new(inner, Arc::new(self.setup.clone()))
    }
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RateLimitLayer").field(&self.setup.limiter).finish()
    }
}
