//! Sign-in of browsers: a token that is entered once becomes a cookie that no script can read.
//!
//! A cookie is a time and a proof that whoever made it knew a token; nothing is kept of it here, so every server with
//! the same file of tokens takes it, and one whose token is gone takes it no more. Invariants: a cookie holds no token,
//! and ends with its time; who changes anything by a cookie proves by a second value, which only a page of this server
//! can read, that it was no other site that asked.

use super::Tokens;
use super::guard::{ELSEWHERE, Refused, is_same_site};
use super::{Access, Role};
use crate::app::App;
use crate::door::{entered_token, json};
use crate::hex::hex;
use crate::problem::Problem;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use hmac::{Hmac, Mac};
use ratekeeper::layer::Peer;
use serde_json::json as value;
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Who is signed in, and the way in and out.
pub(crate) const SESSION_PATH: &str = "/v1/session";

/// The field of the second value.
pub(super) const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// What the name of the cookie begins with; the port follows, since browsers send cookies to every port of a host.
const NAME: &str = "ratekeeper";

/// How long a cookie is good, in seconds.
const LASTS: u64 = 12 * 3600;

/// Cookies of our name that are looked at: a browser sends one, and who else writes cookies on this host may put
/// others before it.
const COOKIES_MAX: usize = 16;

/// Digits of a proof.
const PROOF_DIGITS: usize = 64;

/// Longest cookie that is looked at.
const COOKIE_BYTES_MAX: usize = 128;

pub(super) fn routes() -> Router<App> {
    Router::new().route(SESSION_PATH, get(show).post(enter).delete(leave))
}

/// A cookie whose token is known.
pub(super) struct Session {
    pub(super) role: Role,
    /// What a page of this server proves itself with.
    pub(super) csrf: String,
}

impl Session {
    /// The session of a request at this second, if it has one.
    pub(super) fn of(tokens: &Tokens, headers: &HeaderMap, now: u64) -> Option<Session> {
        let name = name(headers);
        let lines = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
        // Other cookies of this host may hold anything.
        let own = lines.flat_map(|line| line.split(|byte| *byte == b';')).filter_map(|pair| {
            let value = pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok()
        });
        own.take(COOKIES_MAX).find_map(|cookie| Session::read(tokens, cookie, now))
    }

    fn read(tokens: &Tokens, cookie: &str, now: u64) -> Option<Session> {
        let (text, proof) = cookie.rsplit_once('.').filter(|_| cookie.len() <= COOKIE_BYTES_MAX)?;
        let (until, _) = text.split_once('.').filter(|_| proof.len() == PROOF_DIGITS)?;
        if until.parse::<u64>().ok()? <= now {
            return None;
        }
        // Every token is tried, so that which it is takes no less time than none.
        let own = tokens.each().filter(|(_, token)| {
            let made = proved(token, &format!("session {text}"));
            bool::from(made.as_bytes().ct_eq(proof.as_bytes()))
        });
        let (role, token) = own.max_by_key(|(role, _)| *role)?;
        Some(Session { role, csrf: proved(token, &format!("csrf {cookie}")) })
    }

    /// Whether the header fields hold the second value.
    pub(super) fn is_proved_by(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(&CSRF).map_or(&[][..], HeaderValue::as_bytes);
        self.csrf.as_bytes().ct_eq(given).into()
    }
}

/// The name of the cookie on the host and port that are asked.
fn name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let digits = port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5;
    if digits && !port.is_empty() { format!("{NAME}-{port}") } else { NAME.to_owned() }
}

/// A new cookie's value.
fn cookie(token: &[u8], until: u64) -> Option<String> {
    let text = format!("{until}.{:016x}", getrandom::u64().ok()?);
    Some(format!("{text}.{}", proved(token, &format!("session {text}"))))
}

/// What only who knows the token can say of a text.
fn proved(token: &[u8], text: &str) -> String {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token) else { return String::new() };
    mac.update(text.as_bytes());
    hex(&mac.finalize().into_bytes())
}

/// The field that gives a cookie to a browser, or takes it back. Over plain HTTP, as on this machine, a cookie for
/// TLS alone would never come back.
fn given(value: &str, lasts: u64, headers: &HeaderMap) -> HeaderValue {
    let origin = headers.get(header::ORIGIN).map_or(&[][..], HeaderValue::as_bytes);
    let secure = if origin.starts_with(b"https:") { "; Secure" } else { "" };
    let name = name(headers);
    let text =
        format!("{name}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Who is here, and what the console has to know before it shows anything.
async fn show(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    let peer = request.extensions().get::<Peer>().map(|Peer(peer)| *peer);
    shown(&app, request.headers(), peer)
}

fn shown(
    app: &App,
    headers: &HeaderMap,
    peer: Option<std::net::IpAddr>,
) -> Result<Response, Refused> {
    let (role, session) = match app.admin.grant(headers, peer, Role::Read, app.limiter.now()) {
        Ok(granted) => (Some(granted.role), granted.session),
        Err(Refused::Unknown(_)) => (None, None),
        Err(_) if app.admin.is_closed() && is_same_site(headers) => (None, None),
        Err(refused) => return Err(refused),
    };
    Ok(told(app, role, session.as_ref())?)
}

fn told(app: &App, role: Option<Role>, session: Option<&Session>) -> Result<Response, Problem> {
    let access = match &app.admin.access {
        Access::Local => "local",
        Access::Tokens(_) => "token",
        Access::Closed => "closed",
    };
    let mut answer = json(&value!({
        "access": access,
        "role": role.map(Role::name),
        "csrf": session.map(|own| &*own.csrf),
        "demo": app.is_demo,
        // The rest is nobody's business who may not look.
        "node": role.map(|_| &*app.node),
        "version": role.map(|_| env!("CARGO_PKG_VERSION")),
        "store": role.map(|_| app.store_kind()),
        "release": role.map(|_| app.limiter.version()),
    }))?;
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// Lets somebody in who has a token.
async fn enter(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    let peer = request.extensions().get::<Peer>().map(|Peer(peer)| *peer);
    let headers = request.headers().clone();
    let token = entered_token(request, app.body_timeout).await?;
    let Access::Tokens(tokens) = &app.admin.access else {
        // Without tokens there is nothing to enter: what may be seen is seen.
        return shown(&app, &headers, peer);
    };
    let role = app.admin.known(&tokens.load(), token.as_bytes(), peer);
    let from = peer.map(|peer| peer.to_string());
    let role = role.inspect_err(|_| app.admin.note_stranger(&app, peer))?;
    tracing::info!(role = role.name(), from, "signed in to the console");
    let broken = || {
        let detail = "no cookie can be made: the system gives no random numbers; try again";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    };
    let now = seconds(&app);
    let value = cookie(token.as_bytes(), now + LASTS).ok_or_else(broken)?;
    let session = Session::read(&tokens.load(), &value, now);
    let mut answer = told(&app, Some(role), session.as_ref())?;
    answer.headers_mut().insert(header::SET_COOKIE, given(&value, LASTS, &headers));
    Ok(answer)
}

/// Takes the cookie back.
async fn leave(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    if !is_same_site(request.headers()) {
        return Err(Refused::Elsewhere(ELSEWHERE));
    }
    let gone = given("", 0, request.headers());
    let mut answer = match &app.admin.access {
        Access::Tokens(_) => told(&app, None, None)?,
        Access::Local | Access::Closed => show(State(app), request).await?,
    };
    answer.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(answer)
}

fn seconds(app: &App) -> u64 {
    app.limiter.now() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn fields(cookie: &str) -> HeaderMap {
        let line = format!("a=b; {NAME}={cookie}; c=d");
        HeaderMap::from_iter([(header::COOKIE, line.parse().unwrap())])
    }

    /// Goal: servers on several ports of a host do not take each other's cookies.
    /// Method: hosts with and without a port, and with none that is one.
    #[test]
    fn a_cookie_is_named_by_its_port() {
        let named =
            |host: &str| name(&HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]));
        assert_eq!(named("127.0.0.1:8080"), "ratekeeper-8080");
        assert_eq!(named("[::1]:8090"), "ratekeeper-8090");
        for host in ["console.example", "[::1]", "a:", "a:b", "a:8080808080"] {
            assert_eq!(named(host), "ratekeeper", "{host}");
        }
    }

    /// Goal: a cookie is good for the role of its token, until its time and not a second longer, and only while its
    /// token is one of the file.
    /// Method: one token of each role; a second before the end, and at it; a file without the token.
    #[test]
    fn a_cookie_is_good_until_its_time() {
        let tokens = Tokens::read(&format!("read {OTHER}\n{LONG}")).unwrap();
        for (token, role) in [(LONG, Role::Write), (OTHER, Role::Read)] {
            let headers = fields(&cookie(token.as_bytes(), 100).unwrap());
            assert_eq!(Session::of(&tokens, &headers, 99).unwrap().role, role);
            assert!(Session::of(&tokens, &headers, 100).is_none());
        }
        let gone = Tokens::read(OTHER).unwrap();
        let headers = fields(&cookie(LONG.as_bytes(), 100).unwrap());
        assert!(Session::of(&gone, &headers, 1).is_none());
    }

    /// Goal: whoever can plant cookies on this host locks nobody out.
    /// Method: others of the same name before the good one, up to the bound and beyond it.
    #[test]
    fn planted_cookies_do_not_hide_the_good_one() {
        let tokens = Tokens::read(LONG).unwrap();
        let good = cookie(LONG.as_bytes(), 100).unwrap();
        let role = |planted: usize| {
            let others = format!("x; {NAME}=").repeat(planted);
            Session::of(&tokens, &fields(&format!("{others}{good}")), 1).map(|own| own.role)
        };
        assert_eq!(role(COOKIES_MAX - 1), Some(Role::Write));
        assert_eq!(role(COOKIES_MAX), None, "what is looked at has a bound");
    }

    /// Goal: no part of a cookie can be changed, and it does not show its token.
    /// Method: a later time, another byte at every place, and none; the second value of another cookie.
    #[test]
    fn a_cookie_that_was_changed_is_none() {
        let tokens = Tokens::read(LONG).unwrap();
        let good = cookie(LONG.as_bytes(), 100).unwrap();
        assert!(!good.contains(LONG));
        for place in 0..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[place] = if bytes[place] == b'9' { b'8' } else { b'9' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(Session::of(&tokens, &fields(&changed), 1).is_none(), "{changed}");
        }
        for wrong in ["", ".", "..", "100", "100.x", &good[..good.len() - 1]] {
            assert!(Session::of(&tokens, &fields(wrong), 1).is_none(), "{wrong}");
        }
        let session = Session::of(&tokens, &fields(&good), 1).unwrap();
        let other = cookie(LONG.as_bytes(), 100).unwrap();
        let other = Session::of(&tokens, &fields(&other), 1).unwrap();
        let proof = |text: &str| HeaderMap::from_iter([(CSRF, text.parse().unwrap())]);
        assert!(session.is_proved_by(&proof(&session.csrf)));
        assert!(!session.is_proved_by(&proof(&other.csrf)));
        assert!(!session.is_proved_by(&HeaderMap::new()));
    }
}
