//! Stands before every path of administration.
//!
//! Invariant: whoever passes has the role that the call needs. Browsers pass only from pages of this server,
//! and, where there is no token, only by a name of this machine, so that no other site can lead them here.

use super::{Access, Admin, Role};
use crate::app::App;
use crate::observe::logs::plain;
use crate::problem::Problem;
use crate::reload::Author;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ratekeeper::layer::Peer;
use std::net::IpAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Paths that only look, although they take a body.
const LOOKS: [&str; 3] = ["/v1/rules/validate", "/v1/rules/explain", "/v1/rules/diff"];

/// Lets the call pass, or says why not; and notes changes.
pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().map(|Peer(peer)| *peer);
    let needs = needed(&method, &path);
    let (who, response) = match app.admin.role(request.headers(), peer, needs) {
        Ok(role) => {
            let from = peer.map_or_else(|| "?".into(), |peer| peer.to_string());
            request.extensions_mut().insert(Author(format!("{} from {from}", role.name())));
            (role.name(), next.run(request).await)
        }
        Err(refused) => ("nobody", refused.into_response()),
    };
    if needs == Role::Write {
        audit(&method, &path, who, peer, response.status());
    }
    response
}

/// Which role a call needs.
fn needed(method: &Method, path: &str) -> Role {
    let looks = [Method::GET, Method::HEAD].contains(method) || LOOKS.contains(&path);
    if looks { Role::Read } else { Role::Write }
}

/// A line for each change, and for each attempt.
fn audit(method: &Method, path: &str, who: &str, peer: Option<IpAddr>, status: StatusCode) {
    let path = plain(path);
    let from = peer.map(|peer| peer.to_string());
    let (method, status) = (method.as_str(), status.as_u16());
    tracing::info!(method, path, role = who, from, status, "administration");
}

/// Why somebody does not pass.
enum Refused {
    /// From another site, or by another name.
    Elsewhere(&'static str),
    /// Without a token that is known.
    Unknown(&'static str),
    /// With one that may not do this.
    Forbidden(&'static str),
    /// After too many that were wrong.
    TooMany,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Refused::Elsewhere(detail) | Refused::Forbidden(detail) => {
                Problem::new(StatusCode::FORBIDDEN, detail).into_response()
            }
            Refused::Unknown(detail) => {
                let bearer = HeaderValue::from_static("Bearer");
                let problem = Problem::new(StatusCode::UNAUTHORIZED, detail);
                ([(header::WWW_AUTHENTICATE, bearer)], problem).into_response()
            }
            Refused::TooMany => {
                let detail = "too many wrong tokens came from this address; wait a minute";
                let wait = HeaderValue::from_static("60");
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
                ([(header::RETRY_AFTER, wait)], problem).into_response()
            }
        }
    }
}

impl Admin {
    /// What the sender of these header fields may do, if that is enough.
    fn role(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        needs: Role,
    ) -> Result<Role, Refused> {
        if !is_same_site(headers) {
            let detail = "this came from a page of another site; open the console of this server";
            return Err(Refused::Elsewhere(detail));
        }
        let role = match &self.access {
            Access::Closed => {
                let detail = "administration is closed: other machines can reach this listener, and \
                              there is no token; set `admin.token_file`, or `listen.admin` on loopback";
                return Err(Refused::Forbidden(detail));
            }
            Access::Local if is_local_name(headers) => Role::Write,
            Access::Local => {
                let detail = "without a token the host has to be this machine's; ask for \
                              `localhost` or 127.0.0.1, or set `admin.token_file`";
                return Err(Refused::Elsewhere(detail));
            }
            Access::Tokens(tokens) => {
                let address = peer.map_or_else(String::new, |peer| peer.to_string());
                if self.failed(&address, 0) {
                    return Err(Refused::TooMany);
                }
                let Some(given) = bearer(headers) else {
                    let detail = "a token is needed; send `Authorization: Bearer …`, or use \
                                  `--token-file`";
                    return Err(Refused::Unknown(detail));
                };
                let Some(role) = tokens.role(given) else {
                    self.failed(&address, 1);
                    return Err(Refused::Unknown("the token is unknown; send one of the file's"));
                };
                role
            }
        };
        if role < needs {
            let detail = "this token may look, and not change; use one that may write";
            return Err(Refused::Forbidden(detail));
        }
        Ok(role)
    }

    /// Counts wrong tokens of an address; whether there were too many.
    fn failed(&self, address: &str, more: u64) -> bool {
        let Some(rule) = self.failures.as_ref().and_then(|failures| failures.rule("admin").ok())
        else {
            return false;
        };
        match more {
            0 => rule.peek(address).try_now().is_ok_and(|left| left.remaining() == 0),
            _ => rule.check(address).try_now().is_ok_and(|own| own.is_refused()),
        }
    }
}

/// The token of `Authorization`, if there is one such field.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let line = lines.next().filter(|_| lines.next().is_none())?.as_bytes();
    let (scheme, token) = line.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token.trim_ascii())
}

/// Whether a browser, if it is one, was led here by a page of this server or by its user.
fn is_same_site(headers: &HeaderMap) -> bool {
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return false;
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, other) = (origins.next(), origins.next());
    let Some(origin) = origin else { return true };
    let named = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    other.is_none()
        && named.is_some_and(|(_, own)| host.is_some_and(|host| own.eq_ignore_ascii_case(host)))
}

/// Whether the host that is asked for is a name of this machine, which no other site can point elsewhere.
fn is_local_name(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|_| hosts.next().is_none()) else { return false };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback =
        name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}
