//! A request that somebody describes: method, path, host, address, header fields, user.
//!
//! Invariant: what is described could have come over HTTP. Bounds are those of requests that come here,
//! and a line of a header field is one line.

use super::field::{Place, bad_field, fields, needed, short, text};
use super::written::{Kind, Text, Written, fault};
use crate::problem::{Problem, quoted};
use crate::serve::{HEADER_BYTES_MAX, HEADERS_MAX};
use ratekeeper::Request;
use ratekeeper::request::path::PATH_MAX;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// Longest method.
pub const METHOD_MAX: usize = 32;

/// Longest host, with its port.
pub const HOST_MAX: usize = 262;

/// Longest name of a user.
pub const USER_MAX: usize = 1024;

/// Longest spelling of an address.
const IP_MAX: usize = 45;

/// The fields of a request.
const FIELDS: [&str; 6] = ["method", "path", "host", "ip", "headers", "user"];

/// What a line takes beside name and value: colon, space, and the end of the line.
const LINE_BYTES: usize = 4;

/// A request as it was described.
pub(super) struct Described<'a> {
    method: Text<'a>,
    path: Text<'a>,
    host: Option<Text<'a>>,
    ip: Option<IpAddr>,
    headers: Vec<Line<'a>>,
    user: Option<Text<'a>>,
}

/// One line of a header field: its name, and its value.
type Line<'a> = (Cow<'a, str>, Value<'a>);

/// The value of a line.
struct Value<'a>(Cow<'a, str>);

impl AsRef<[u8]> for Value<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<'a> Described<'a> {
    /// Reads the value of the field `request`.
    pub(super) fn read(value: &'a RawValue, at: Place) -> Result<Described<'a>, Problem> {
        let found = object(value, at.field("request"), "send an object with method and path")?;
        let at = at.within("request");
        let [method, path, host, ip, headers, user] = fields(found, FIELDS, at)?;
        let optional = |value: Option<&'a RawValue>, name: &str, most, repair: &str| {
            value.map(|value| short(value, at.field(name), most, repair)).transpose()
        };
        let headers = headers.map_or(Ok(Vec::new()), |headers| lines(headers, at))?;
        let host = optional(host, "host", HOST_MAX, "send the host, or leave it out")?;
        Ok(Described {
            method: self::method(method, at.field("method"))?,
            path: self::path(path, at.field("path"))?,
            host: host.map_or_else(|| host_of(&headers, at), |host| Ok(Some(host)))?,
            ip: ip.map(|ip| address(ip, at.field("ip"))).transpose()?,
            user: optional(user, "user", USER_MAX, "send the user, or leave it out")?,
            headers,
        })
    }

    /// The request, to be charged so many units for each that it takes.
    pub(super) fn request(&self, cost: u64) -> Request<'_> {
        Request {
            host: self.host.as_ref().map(|host| &*host.0),
            peer: self.ip,
            headers: &self.headers,
            user: self.user.as_ref().map(|user| &*user.0),
            cost: Some(cost),
            ..Request::new(&self.method.0, &self.path.0)
        }
    }
}

fn object<'a>(
    value: &'a RawValue,
    path: impl fmt::Display,
    repair: &str,
) -> Result<Vec<(Text<'a>, &'a RawValue)>, Problem> {
    match serde_json::from_str(value.get()) {
        Ok(Written::Object(found)) => Ok(found),
        Ok(other) => Err(bad_field(path, &format!("is {}; {repair}", other.kind()))),
        Err(error) => Err(bad_field(path, &format!("cannot be read: {}; {repair}", fault(&error)))),
    }
}

fn method<'a>(value: Option<&'a RawValue>, path: impl fmt::Display) -> Result<Text<'a>, Problem> {
    let repair = "send the method as a string, such as `GET`";
    let method = short(needed(value, &path, repair)?, &path, METHOD_MAX, repair)?;
    if !method.0.bytes().all(is_token_byte) {
        return Err(bad_field(path, &format!("is not a method; {repair}")));
    }
    Ok(method)
}

fn path<'a>(value: Option<&'a RawValue>, path: impl fmt::Display) -> Result<Text<'a>, Problem> {
    let repair = "send the path as a string, such as `/api/users`";
    short(needed(value, &path, repair)?, path, PATH_MAX, repair)
}

fn address(value: &RawValue, path: impl fmt::Display) -> Result<IpAddr, Problem> {
    let repair = "send the address of who is connected, such as `192.0.2.7`";
    let text = short(value, &path, IP_MAX, repair)?;
    text.0.parse().map_err(|_| bad_field(path, &format!("is not an address; {repair}")))
}

/// The lines of all header fields, in order.
fn lines(value: &RawValue, at: Place) -> Result<Vec<Line<'_>>, Problem> {
    let whole = at.field("headers");
    let repair = "send an object of names and values";
    let (mut lines, mut bytes) = (Vec::new(), 0);
    let at = at.within("request.headers");
    for (name, value) in object(value, whole, repair)? {
        if name.0.is_empty() {
            return Err(bad_field(
                whole,
                "has a field without a name; send letters, digits and `-`",
            ));
        }
        let path = at.field(quoted(&name.0));
        if !name.0.bytes().all(is_token_byte) {
            let fault = "is no name of a header field; send letters, digits and `-`";
            return Err(bad_field(&path, fault));
        }
        for value in values(value, &path)? {
            bytes += name.0.len() + value.0.len() + LINE_BYTES;
            lines.push((name.0.clone(), Value(value.0)));
        }
        if lines.len() > HEADERS_MAX {
            let fault = format!("has more than {HEADERS_MAX} lines; send fewer");
            return Err(bad_field(whole, &fault));
        }
        if bytes > HEADER_BYTES_MAX {
            let fault = format!("is larger than {HEADER_BYTES_MAX} bytes; send less");
            return Err(bad_field(whole, &fault));
        }
    }
    Ok(lines)
}

/// One line, or several.
fn values<'a>(value: &'a RawValue, path: impl fmt::Display) -> Result<Vec<Text<'a>>, Problem> {
    let repair = "send a string, or an array of strings for several lines";
    if Kind::of(value) != Kind::Array {
        return Ok(vec![line(value, path, repair)?]);
    }
    let values: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|error| {
        bad_field(&path, &format!("cannot be read: {}; {repair}", fault(&error)))
    })?;
    if values.len() > HEADERS_MAX {
        return Err(bad_field(path, &format!("has more than {HEADERS_MAX} lines; send fewer")));
    }
    let numbered = values.into_iter().enumerate();
    let repair = "send each line as a string";
    numbered.map(|(index, value)| line(value, format_args!("{path}[{index}]"), repair)).collect()
}

fn line<'a>(
    value: &'a RawValue,
    path: impl fmt::Display,
    repair: &str,
) -> Result<Text<'a>, Problem> {
    let text = text(value, &path, repair)?;
    if text.0.chars().any(|c| c.is_ascii_control() && c != '\t') {
        return Err(bad_field(path, "has a control character; leave it out"));
    }
    Ok(text)
}

/// The host that the header fields name, where nothing else does.
fn host_of<'a>(headers: &[Line<'a>], at: Place) -> Result<Option<Text<'a>>, Problem> {
    let mut hosts = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.next().map(|(_, host)| Text(host.0.clone()));
    if hosts.next().is_some() {
        return Err(bad_field(at.field("headers"), "names more than one `Host`; send one"));
    }
    Ok(host)
}

/// What names of methods and header fields are made of (RFC 9110, 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
