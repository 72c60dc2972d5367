//! What is worked out, and when.
//!
//! Invariant: a request pays for what is asked of it, once.

use super::{PROXY, STRANGER, behind, ip};
use crate::Request;
use crate::identity::{Caller, Identity};
use crate::request::Headers;
use std::sync::Mutex;

/// Header fields that remember which of them were looked for.
#[derive(Default)]
struct Watched(Mutex<Vec<String>>);

impl Headers for Watched {
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8])) {
        self.0.lock().unwrap().push(name.to_owned());
        if name == "x-forwarded-for" {
            found(b"192.0.2.5");
        }
    }

    fn names<'a>(&'a self, _found: &mut dyn FnMut(&'a str)) {
        self.0.lock().unwrap().push("names".to_owned());
    }
}

/// Everything that this build can recognise, each by its own header.
fn all(identity: Identity) -> Identity {
    #[cfg(feature = "yaml")]
    let identity = identity.api_keys("X-Api-Key", []).unwrap();
    #[cfg(feature = "jwt")]
    let identity =
        identity.tokens(crate::identity::Tokens::new(&["HS256"], &[7; 32], "sub", None).unwrap());
    identity
}

/// Goal: each header is read when something is asked that it tells, and once.
/// Method: ask everything twice, in order, and note what was looked for.
#[test]
fn each_header_is_read_once_and_only_when_it_is_asked_for() {
    let (identity, headers) = (all(behind()), Watched::default());
    let request = Request { peer: Some(ip(PROXY)), headers: &headers, ..Request::new("GET", "/") };
    let caller = Caller::new(&identity, &request);
    assert_eq!(*headers.0.lock().unwrap(), Vec::<String>::new());
    let mut expected = Vec::new();
    for _ in 0..2 {
        assert_eq!(caller.network(), Ok(ip("192.0.2.5")));
        assert_eq!(caller.address(), Ok(ip("192.0.2.5")));
        assert!(caller.is_forwarded());
    }
    expected.push("x-forwarded-for");
    assert_eq!(*headers.0.lock().unwrap(), expected);
    for _ in 0..2 {
        assert_eq!((caller.user(), caller.tier()), (Ok(None), Ok(None)));
        assert_eq!((caller.api_key(), caller.claim("org")), (Ok(None), Ok(None)));
    }
    if cfg!(feature = "jwt") {
        expected.push("authorization");
    }
    if cfg!(feature = "yaml") {
        expected.push("x-api-key");
    }
    assert_eq!(*headers.0.lock().unwrap(), expected);
}

/// Goal: whom the application has authenticated is the user, without a look at credentials; an empty
/// name is none.
/// Method: a user and a tier that are given, and empty ones.
#[test]
fn what_the_application_says_goes_first() {
    let (identity, headers) = (all(Identity::default()), Watched::default());
    let peer = Some(ip(STRANGER));
    let given = Request {
        peer,
        headers: &headers,
        user: Some("ann"),
        tier: Some("pro"),
        ..Request::new("GET", "/")
    };
    let caller = Caller::new(&identity, &given);
    assert_eq!((caller.user(), caller.tier()), (Ok(Some("ann")), Ok(Some("pro"))));
    assert_eq!(*headers.0.lock().unwrap(), Vec::<String>::new());
    let empty = Request { user: Some(""), tier: Some(""), ..given };
    let caller = Caller::new(&identity, &empty);
    assert_eq!((caller.user(), caller.tier()), (Ok(None), Ok(None)));
}
