//! URLs of stores: read, and shown without their secrets.
//!
//! Invariant: whatever is wrong with a URL, what is shown of it ends before the password.

use super::{Address, DEADLINE, PREFIX, RedisConfig, Servers};

const SCHEMES: &str =
    "redis, rediss, redis-cluster, rediss-cluster, redis-sentinel or rediss-sentinel";

/// Characters of a user or a name that would end it, or steer a terminal.
const SPECIAL: &str = " %@:/?#";

/// Longest part of a URL that is shown in an error.
const SHOWN: usize = 256;

/// Reads a URL; the error is the fault and the repair.
pub(super) fn read(url: &str) -> Result<RedisConfig, String> {
    let (scheme, rest) = url.split_once("://").ok_or("is not a URL; write redis://host:6379/0")?;
    let kind = scheme.strip_prefix("rediss").or(scheme.strip_prefix("redis")).unwrap_or("?");
    if !["", "-cluster", "-sentinel"].contains(&kind) {
        return Err(format!("begins with another scheme; write one of {SCHEMES}"));
    }
    let tls = scheme.starts_with("rediss");
    if tls && cfg!(not(feature = "redis-tls")) {
        return Err(
            "is over TLS, which this build leaves out; turn on the feature `redis-tls`".into()
        );
    }
    if rest.contains(['?', '#']) {
        return Err("has a `?` or `#`; leave out what follows it, and write those of a password \
                    as %3F and %23"
            .into());
    }
    let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default_port = if kind == "-sentinel" { 26_379 } else { 6_379 };
    let addresses = hosts.split(',').map(|host| address(host, default_port));
    let addresses: Vec<Address> = addresses.collect::<Result<_, _>>()?;
    if kind.is_empty() && addresses.len() > 1 {
        return Err("names several servers; write redis-cluster:// or redis-sentinel://".into());
    }
    let (servers, db) = match kind {
        "-cluster" if path.is_empty() || path == "0" => (Servers::Cluster, ""),
        "-cluster" => {
            return Err("names a database, of which a cluster has but 0; leave it out".into());
        }
        "-sentinel" => {
            let (name, db) = path.split_once('/').unwrap_or((path, ""));
            let name = decoded(name)?
                .ok_or("has no master's name; write redis-sentinel://host:26379/mymaster")?;
            (Servers::Sentinel(name), db)
        }
        _ => (Servers::One, path),
    };
    let db = if db.is_empty() { Some(0) } else { number(db) };
    Ok(RedisConfig {
        servers,
        addresses,
        tls,
        user: decoded(user)?,
        password: decoded(password)?,
        db: db.ok_or("has a database that is not a number; write one such as /0")?,
        ca: None,
        prefix: PREFIX.into(),
        deadline: DEADLINE,
        key_secret: None,
        nodes: None,
        allow_eviction: false,
        forget_refusals: false,
        #[cfg(feature = "sim")]
        simulated: super::sim::Simulated::default(),
    })
}

fn address(text: &str, default_port: u16) -> Result<Address, String> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        // What follows the bracket has to be a port.
        Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or("?"))),
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("has an IPv6 address without brackets; write [::1]:6379".into());
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err("has no host; write redis://host:6379/0".into());
    }
    let port = port.map_or(Some(default_port), number).filter(|port| *port > 0);
    let fault = "has a port that is not a number from 1 to 65535; write one such as :6379";
    Ok(Address { host: host.to_owned(), port: port.ok_or(fault)? })
}

/// A number of nothing but digits.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Text with `%41` made `A`; `None` if there is none.
fn decoded(text: &str) -> Result<Option<String>, String> {
    let fault =
        "has a `%` that is not followed by two digits, or text that is not UTF-8; write % as %25";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, others) = rest.split_at_checked(2).ok_or(fault)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(fault);
        bytes.push((digit(digits[0])? << 4 | digit(digits[1])?) as u8);
        rest = others;
    }
    let text = String::from_utf8(bytes).map_err(|_| fault)?;
    Ok((!text.is_empty()).then_some(text))
}

/// The same text as it is written in a URL.
pub(super) fn encoded(text: &str) -> String {
    let mut url = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || SPECIAL.contains(c) {
            let mut bytes = [0; 4];
            url.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            url.push(c);
        }
    }
    url
}

/// A URL that may be wrong anywhere, without what may be a secret: all between the scheme and the last
/// `@` but the user, what follows a `?` or `#`, and what stands for a port and is none.
pub(super) fn masked(url: &str) -> String {
    // In `user://pass@host` what comes first is no scheme.
    let is_scheme = |text: &str| {
        let text = text.to_ascii_lowercase();
        let known = ["redis", "valkey"].iter().any(|name| text.starts_with(name));
        known && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
    };
    let (scheme, rest) = match url.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let (login, rest) = match rest.rsplit_once('@') {
        // Nobody knows whether the `?` is the password's or the `@` is what follows it.
        Some((login, _)) if login.contains(['?', '#']) => (masked_login(login), ""),
        Some((login, rest)) => (masked_login(login) + "@", rest),
        None => (String::new(), rest),
    };
    let rest = match rest.find(['?', '#']) {
        Some(at) => format!("{}***", &rest[..=at]),
        None => rest.to_owned(),
    };
    let rest = if login.is_empty() { masked_ports(&rest) } else { rest };
    let shown = [scheme, login, rest].concat();
    shown.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

fn masked_login(login: &str) -> String {
    login.split_once(':').map_or_else(|| "***".into(), |(user, _)| format!("{user}:***"))
}

/// Without a login, a password may stand where a port should: what follows is not shown.
fn masked_ports(rest: &str) -> String {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let mut shown = String::new();
    for host in rest[..end].split(',') {
        match host.split_once(':') {
            Some((name, port)) if !host.starts_with('[') && number::<u16>(port).is_none() => {
                return shown + name + ":***";
            }
            _ => shown.extend([host, ","]),
        }
    }
    shown.pop();
    shown + &rest[end..]
}
