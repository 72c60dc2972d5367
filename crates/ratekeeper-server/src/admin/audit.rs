//! Every change, and every attempt at one, as a line in the log.
//!
//! Invariant: the line comes when the call is over, also where nobody waits for its answer any more; a key is told as
//! a hash; what strangers try is told in samples, so that they cannot fill the log.

use crate::app::App;
use crate::observe::Observe;
use crate::observe::logs::{Sample, plain};
use axum::http::Method;
use ratekeeper::Limiter;
use ratekeeper::rule::{KeyKind, KeyPart};
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

tokio::task_local! {
    static AUDIT: RefCell<Audit>;
}

/// A call that changes something, or tries to.
pub(super) struct Audit {
    pub(super) method: Method,
    pub(super) path: String,
    /// The role; none for who has none.
    pub(super) role: Option<&'static str>,
    pub(super) peer: Option<IpAddr>,
    /// The rule that it is about.
    pub(super) rule: Option<String>,
    /// The hash of the key that it is about.
    key: Option<String>,
    /// What was answered; none if who asked has gone before.
    status: Option<u16>,
    refused: Arc<Sample>,
    observe: Arc<Observe>,
}

impl Audit {
    pub(super) fn new(app: &App, method: Method, path: String) -> Audit {
        let (refused, observe) = (Arc::clone(&app.admin.refused), Arc::clone(&app.observe));
        let (role, peer, rule, key, status) = (None, None, None, None, None);
        Audit { method, path, role, peer, rule, key, status, refused, observe }
    }

    /// Makes the call; the line follows.
    pub(super) async fn over<T>(self, call: impl Future<Output = (T, u16)>) -> T {
        let noted = async {
            let (answer, status) = call.await;
            let _ = AUDIT.try_with(|audit| audit.borrow_mut().status = Some(status));
            answer
        };
        AUDIT.scope(RefCell::new(self), noted).await
    }
}

/// Says what the change under way is about: a rule and a key, whose parts may be said to be something.
pub(crate) fn about(limiter: &Limiter, rule: &str, key: &[(Option<KeyKind>, &str)]) {
    let said = |(kind, value): &(Option<KeyKind>, &str)| Some(KeyPart::new(kind.clone()?, *value));
    let parts: Option<Vec<KeyPart>> = key.iter().map(said).collect();
    let values: Vec<&str> = key.iter().map(|(_, value)| *value).collect();
    let found = match parts {
        Some(parts) => limiter.rule_of(rule, &parts, None),
        None => limiter.rule_for(rule, &values, None),
    };
    let hash = found.map(|(rule, key)| format!("{:016x}", rule.hash_of(&key)));
    let _ = AUDIT.try_with(|audit| {
        let mut audit = audit.borrow_mut();
        (audit.rule, audit.key) = (Some(rule.to_owned()), hash.ok());
    });
}

impl Drop for Audit {
    fn drop(&mut self) {
        let left_out = match self.role {
            Some(_) => None,
            None => match self.refused.take(self.observe.up()) {
                None => return,
                Some(left_out) => Some(left_out),
            },
        };
        let (method, path) = (self.method.as_str(), plain(&self.path));
        let (role, from) = (self.role.unwrap_or("nobody"), self.peer.map(|peer| peer.to_string()));
        let (rule, key) = (self.rule.as_deref().map(plain), self.key.as_deref());
        let status = self.status;
        tracing::info!(method, path, rule, key, role, from, status, left_out, "administration");
    }
}
