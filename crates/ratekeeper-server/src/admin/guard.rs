//! Stands before every path of administration.
//!
//! Invariant: whoever passes has the role that the call needs. Browsers pass only from pages of this server,
//! and, where there is no token, only by a name of this machine, so that no other site can lead them here.

use super::audit::Audit;
use super::session::Session;
use super::{Access, Admin, Role, Tokens};
use crate::app::App;
use crate::problem::Problem;
use crate::reload::Author;
use crate::serve::crowd::network;
use axum::RequestExt;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ratekeeper::layer::Peer;
use std::net::IpAddr;

pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Paths that only look, although they take a body.
const LOOKS: [&str; 3] = ["/v1/rules/validate", "/v1/rules/explain", "/v1/rules/diff"];

/// Lets the call pass, or says why not; and notes changes.
pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().map(|Peer(peer)| *peer);
    let needs = needed(&method, &path);
    let granted = app.admin.grant(request.headers(), peer, needs, app.limiter.now());
    let role = granted.and_then(|own| own.proved(&request));
    let named = role.as_ref().ok().map(|role| role.name());
    let audit = match needs {
        Role::Read => None,
        Role::Write => {
            let mut audit = Audit::new(&app, method, path);
            (audit.role, audit.peer) = (named, peer);
            audit.rule = named_in_path(&mut request).await;
            Some(audit)
        }
    };
    let call = async move {
        let mut response = match role {
            Ok(role) => {
                let from = peer.map_or_else(|| "?".into(), |peer| peer.to_string());
                request.extensions_mut().insert(Author(format!("{} from {from}", role.name())));
                next.run(request).await
            }
            Err(refused) => refused.into_response(),
        };
        // Whoever has a cookie is told what is nobody else's: no cache between keeps it.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
        let status = response.status().as_u16();
        (response, status)
    };
    match audit {
        Some(audit) => audit.over(call).await,
        None => call.await.0,
    }
}

/// The rule that the path names, if it names one.
async fn named_in_path(request: &mut Request) -> Option<String> {
    let found = request.extract_parts::<RawPathParams>().await.ok()?;
    let rule = found.iter().find(|(name, _)| ["id", "rule"].contains(name));
    rule.map(|(_, rule)| rule.to_owned())
}

/// Which role a call needs. What is tried in the playground changes nothing.
fn needed(method: &Method, path: &str) -> Role {
    let plays = path.starts_with("/v1/playground/");
    let asks = *method == Method::POST && (plays || LOOKS.contains(&path));
    let looks = asks || [Method::GET, Method::HEAD].contains(method);
    if looks { Role::Read } else { Role::Write }
}

/// What is told to a page of another site.
pub(super) const ELSEWHERE: &str =
    "this came from a page of another site; open the console of this server";

/// What is told to who changes something by a cookie alone.
const UNPROVED: &str = "a cookie alone changes nothing; send the field `X-Csrf-Token` with what \
                        `GET /v1/session` tells, or reload the console";

/// Why somebody does not pass.
pub(super) enum Refused {
    /// From another site, or by another name.
    Elsewhere(&'static str),
    /// Without a token that is known.
    Unknown(&'static str),
    /// With one that may not do this.
    Forbidden(&'static str),
    /// After too many that were wrong.
    TooMany,
    /// With a call that makes no sense.
    Bad(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        Refused::Bad(problem)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Refused::Bad(problem) => problem.into_response(),
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

/// What somebody may do, and the session that says so, if it is one.
pub(super) struct Granted {
    pub(super) role: Role,
    pub(super) session: Option<Session>,
}

impl Granted {
    /// The role, unless a cookie alone asks for more than a look: who asks then has to be a page of ours.
    fn proved(self, request: &Request) -> Result<Role, Refused> {
        let is_ours = |session: Session| session.is_proved_by(request.headers());
        match request.method().is_safe() || self.session.is_none_or(is_ours) {
            true => Ok(self.role),
            false => Err(Refused::Elsewhere(UNPROVED)),
        }
    }
}

impl Admin {
    /// What the sender of these header fields may do, if that is enough.
    pub(super) fn grant(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        needs: Role,
        now: u64,
    ) -> Result<Granted, Refused> {
        let mut session = None;
        if !is_same_site(headers) {
            return Err(Refused::Elsewhere(ELSEWHERE));
        }
        let role = match &self.access {
            Access::Closed => {
                let detail = "administration is closed: other machines can reach this listener, and \
                              there is no token; set `admin.token_file`, or `listen.admin` on loopback";
                return Err(Refused::Forbidden(detail));
            }
            Access::Local if passed_on(headers) => {
                let detail = "a proxy passed this on, so it is not known who asks; set \
                              `admin.token_file`, and send a token";
                return Err(Refused::Elsewhere(detail));
            }
            Access::Local if is_local_name(headers) => Role::Write,
            Access::Local => {
                let detail = "without a token the host has to be this machine's; ask for \
                              `localhost` or 127.0.0.1, or set `admin.token_file`";
                return Err(Refused::Elsewhere(detail));
            }
            Access::Tokens(tokens) => {
                let tokens = tokens.load();
                match bearer(headers) {
                    Some(given) => self.known(&tokens, given, peer)?,
                    None => {
                        let detail = "a token is needed; send `Authorization: Bearer …`, or use \
                                      `--token-file`";
                        session = Session::of(&tokens, headers, now / 1_000_000);
                        session.as_ref().ok_or(Refused::Unknown(detail))?.role
                    }
                }
            }
        };
        if role < needs {
            let detail = "this token may look, and not change; use one that may write";
            return Err(Refused::Forbidden(detail));
        }
        Ok(Granted { role, session })
    }

    /// What the owner of this token may do, if it is known.
    pub(super) fn known(
        &self,
        tokens: &Tokens,
        given: &[u8],
        peer: Option<IpAddr>,
    ) -> Result<Role, Refused> {
        let address = peer.map_or_else(String::new, |peer| network(peer).to_string());
        tokens.role(given).ok_or_else(|| match self.has_failed_too_often(&address) {
            true => Refused::TooMany,
            false => Refused::Unknown("the token is unknown; send one of the file's"),
        })
    }

    /// Whether who has these header fields may look at this time.
    pub(crate) fn may_look(&self, headers: &HeaderMap, peer: Option<IpAddr>, app: &App) -> bool {
        self.grant(headers, peer, Role::Read, app.limiter.now()).is_ok()
    }

    /// Counts a wrong token of an address; whether there were too many.
    fn has_failed_too_often(&self, address: &str) -> bool {
        let rule = self.failures.as_ref().and_then(|failures| failures.rule("admin").ok());
        rule.is_some_and(|rule| rule.check(address).try_now().is_ok_and(|own| own.is_refused()))
    }
}

/// The token of `Authorization`, if there is one such field.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let line = lines.next().filter(|_| lines.next().is_none())?.as_bytes();
    let (scheme, token) = line.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token.trim_ascii())
}

/// Whether a proxy says that it speaks for somebody: then a name of this machine says nothing of who asks.
fn passed_on(headers: &HeaderMap) -> bool {
    let speaks = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    };
    headers.keys().any(|name| speaks(name.as_str()))
}

/// Whether a browser, if it is one, was led here by a page of this server or by its user.
pub(crate) fn is_same_site(headers: &HeaderMap) -> bool {
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
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest),
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let digits = port.strip_prefix(':').map_or(port.is_empty(), |port| port.parse::<u16>().is_ok());
    if !digits {
        return false;
    }
    let is_loopback =
        name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}
