//! What looks wrong about a set-up, in words: a code, what was seen, and what to do.
//!
//! Invariant: each is told once for each layer, and names no caller.

use std::fmt;
use std::sync::Arc;

/// Something about a set-up that is most likely not meant. Each has a code, and a section in
/// `docs/codes.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnosis {
    /// A forwarded header field came from a peer that is not a trusted proxy.
    Untrusted,
    /// The server does not say who is at the other end of a connection.
    NoPeer,
    /// Many requests in a row came from one address nearby: a private one, or this machine's.
    OneBucket,
    /// There is no rule that could apply.
    NoRules,
    /// A rule counts by something that nothing here can find out.
    NoUser(Arc<str>),
    /// A trusted proxy does not say for whom it speaks.
    Silent,
    /// A request met the same limiter twice.
    Twice,
    /// Every address is a trusted proxy, so that callers can say who they are.
    Everyone,
}

impl Diagnosis {
    /// The code by which it is found in the documentation.
    pub fn code(&self) -> &'static str {
        match self {
            Diagnosis::Untrusted => "RK001",
            Diagnosis::NoPeer => "RK002",
            Diagnosis::OneBucket => "RK003",
            Diagnosis::NoRules => "RK004",
            Diagnosis::NoUser(_) => "RK005",
            Diagnosis::Silent => "RK006",
            Diagnosis::Twice => "RK007",
            Diagnosis::Everyone => "RK008",
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code())?;
        match self {
            Diagnosis::Untrusted => f.write_str(
                "a forwarded header field came from an address that is not a trusted proxy, and was not believed; \
                 if that is your proxy, all its callers share one bucket: add it to `trusted_proxies`",
            ),
            Diagnosis::NoPeer => f.write_str(
                "the server does not say who is at the other end of a connection, so rules that count by address \
                 cannot be asked; with axum serve `into_make_service_with_connect_info::<SocketAddr>()`, else use \
                 `RateLimitLayer::peer`",
            ),
            Diagnosis::OneBucket => f.write_str(
                "a thousand requests in a row came from one address nearby, and were counted together; if that is a \
                 proxy, add it to `trusted_proxies` and name its header field in `client_ip_header`",
            ),
            Diagnosis::NoRules => f.write_str(
                "there is no rule that a request could meet, so nothing is limited; add one",
            ),
            Diagnosis::NoUser(rule) => write!(
                f,
                "rule `{rule}` counts by user, API key or claim, and nothing here finds one out, so \
                 `on_missing` always decides; use `RateLimitLayer::user`, or configure `identity`"
            ),
            Diagnosis::Silent => f.write_str(
                "a trusted proxy sent a request without the header field that says for whom, so the proxy itself was \
                 counted; let it set `client_ip_header`",
            ),
            Diagnosis::Twice => f.write_str(
                "a request met the same limiter twice, and was charged twice; add the layer once, or give each place \
                 a limiter of its own",
            ),
            Diagnosis::Everyone => f.write_str(
                "`trusted_proxies` has everybody in it, so every caller can say which address it has; name your \
                 proxies only",
            ),
        }?;
        write!(f, " (docs/codes.md#{})", self.code().to_ascii_lowercase())
    }
}
