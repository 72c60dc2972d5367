//! What a rule file says about the gateway.
//!
//! Invariant: of what was read from a file, every route has an upstream and can match a request, and
//! every time is within its bounds.

use crate::rule::pattern::PathPattern;
use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

/// The gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Where it listens.
    pub listen: String,
    /// The files of its certificate and its key.
    pub tls: Option<(String, String)>,
    /// The file of the certificates by which upstreams over `https` are known; the system's, unless
    /// said.
    pub ca: Option<String>,
    /// What is written about each request.
    pub access_log: AccessLog,
    /// Which paths go where; the first that matches.
    pub routes: Vec<Route>,
}

/// What the gateway writes about each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// Nothing.
    #[default]
    None,
    /// A line of JSON.
    Json,
    /// A line in the combined format, as Apache and nginx write it.
    Combined,
}

/// Where requests on a path go.
#[derive(Clone, Debug)]
pub struct Route {
    /// The path.
    pub path: PathPattern,
    /// The servers behind: at least one, and none of them twice.
    pub upstreams: Vec<Upstream>,
    /// Whether callers need a verified identity.
    pub auth: Auth,
    /// The path that is asked for whether an upstream is healthy.
    pub health: Option<String>,
    /// How long its requests may take: as the route says, and the gateway where it does not.
    pub timeouts: Timeouts,
}

/// Whether callers of a route need a verified identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// It is not looked at.
    #[default]
    None,
    /// It is passed on where there is one.
    Optional,
    /// Without one the answer is 401.
    Required,
}

/// How long a request to an upstream may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// From the request's end to the beginning of its answer.
    pub first_byte: Duration,
    /// While nothing moves either way.
    pub idle: Duration,
    /// From beginning to end.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(60 * 60),
        }
    }
}

/// A server behind the gateway. It is shown as its URL, such as `http://127.0.0.1:9000`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Its name in lower case, or its address; one of IPv6 has no brackets here.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Upstream { scheme, host, port } = self;
        match host.parse::<Ipv6Addr>() {
            Ok(_) => write!(f, "{scheme}://[{host}]:{port}"),
            Err(_) => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

/// How an upstream is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP/1.1 in plain text.
    Http,
    /// Over TLS, HTTP/2 where the upstream offers it.
    Https,
    /// HTTP/2 in plain text.
    H2c,
}

impl Scheme {
    /// Every scheme.
    pub(in super::super) const ALL: [Scheme; 3] = [Scheme::Http, Scheme::Https, Scheme::H2c];

    /// The scheme as URLs begin with it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::H2c => "h2c",
        }
    }

    /// The port of a URL that has none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http | Scheme::H2c => 80,
            Scheme::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
