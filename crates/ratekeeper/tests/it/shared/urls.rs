//! URLs of stores: what is read from them, and what is said of those that are wrong.
//!
//! Invariant: a message names the place, the fault and the repair.

use ratekeeper::RedisConfig;
use ratekeeper::outage::Class;

fn shown(url: &str) -> String {
    RedisConfig::new(url).unwrap().to_string()
}

/// Goal: every kind of URL is read and shown again, with what it leaves out and without the password.
/// Method: URLs and what they show, written down; what is shown is read and shown the same again.
#[test]
fn urls_are_read_and_shown_again() {
    for (url, expected) in [
        ("redis://host", "redis://host:6379/0"),
        ("redis://host/", "redis://host:6379/0"),
        ("redis://host:7000/15", "redis://host:7000/15"),
        ("redis://user:pw@host", "redis://user:***@host:6379/0"),
        ("redis://:pw@host", "redis://:***@host:6379/0"),
        ("redis://user@host", "redis://user@host:6379/0"),
        ("redis://@host", "redis://host:6379/0"),
        ("redis://u%40x:p%40w@host", "redis://u%40x:***@host:6379/0"),
        ("redis://user:p@w:x/y@host/2", "redis://user:***@host:6379/2"),
        ("redis://[::1]", "redis://[::1]:6379/0"),
        ("redis://:pw@[fe80::1]:7000/1", "redis://:***@[fe80::1]:7000/1"),
        ("redis-cluster://a,b:7001", "redis-cluster://a:6379,b:7001"),
        ("redis-cluster://u:pw@a:1,[::1]:2/0", "redis-cluster://u:***@a:1,[::1]:2"),
        ("redis-sentinel://s1,s2:7/main", "redis-sentinel://s1:26379,s2:7/main/0"),
        ("redis-sentinel://:pw@s/my%2Fmain/4", "redis-sentinel://:***@s:26379/my%2Fmain/4"),
    ] {
        assert_eq!(shown(url), expected, "{url}");
        assert_eq!(shown(expected), expected, "read again");
    }
}

/// Goal: the same over TLS.
/// Method: as above, with the other three schemes.
#[test]
#[cfg(feature = "redis-tls")]
fn urls_over_tls_are_read_and_shown_again() {
    for (url, expected) in [
        ("rediss://user:pw@host/3", "rediss://user:***@host:6379/3"),
        ("rediss-cluster://a,b", "rediss-cluster://a:6379,b:6379"),
        ("rediss-sentinel://s/main", "rediss-sentinel://s:26379/main/0"),
    ] {
        assert_eq!(shown(url), expected, "{url}");
    }
}

/// Goal: a build without TLS says so, and does not take the URL as plain text.
/// Method: the three schemes.
#[test]
#[cfg(not(feature = "redis-tls"))]
fn without_tls_its_urls_are_refused() {
    for scheme in ["rediss", "rediss-cluster", "rediss-sentinel"] {
        let error = RedisConfig::new(&format!("{scheme}://user:pw@host/main")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "store `{scheme}://user:***@host/main`: is over TLS, which this build leaves out; \
                 turn on the feature `redis-tls`"
            )
        );
    }
}

const NO_URL: &str = "is not a URL; write redis://host:6379/0";
const NO_SCHEME: &str = "begins with another scheme; write one of redis, rediss, redis-cluster, \
                         rediss-cluster, redis-sentinel or rediss-sentinel";
const QUERY: &str = "has a `?` or `#`; leave out what follows it, and write those of a password as \
                     %3F and %23";
const NO_HOST: &str = "has no host; write redis://host:6379/0";
const BRACKETS: &str = "has an IPv6 address without brackets; write [::1]:6379";
const PORT: &str = "has a port that is not a number from 1 to 65535; write one such as :6379";
const SEVERAL: &str = "names several servers; write redis-cluster:// or redis-sentinel://";
const DATABASE: &str = "has a database that is not a number; write one such as /0";
const CLUSTER: &str = "names a database, of which a cluster has but 0; leave it out";
const MASTER: &str = "has no master's name; write redis-sentinel://host:26379/mymaster";
const PERCENT: &str =
    "has a `%` that is not followed by two digits, or text that is not UTF-8; write % as %25";

/// Goal: every fault of a URL is told with the URL, its secret masked, the fault and the repair.
/// Method: a URL for each, and the message, written down.
#[test]
fn every_fault_of_a_url_is_told() {
    for (url, place, fault) in [
        ("", "", NO_URL),
        ("localhost:6379", "localhost:6379", NO_URL),
        ("redis:user:secret@host", "redis:***@host", NO_URL),
        ("http://user:secret@host", "http:***@host", NO_SCHEME),
        ("user://secret@host", "user:***@host", NO_SCHEME),
        ("valkey://:secret@host", "valkey://:***@host", NO_SCHEME),
        ("unix:///run/redis.sock", "unix:***", NO_SCHEME),
        ("REDIS://host", "REDIS://host", NO_SCHEME),
        ("redis-ring://host", "redis-ring://host", NO_SCHEME),
        ("redis://host/0?password=secret", "redis://host/0?***", QUERY),
        ("redis://:sec#ret@host", "redis://:***", QUERY),
        ("redis://:sec?ret@host", "redis://:***", QUERY),
        ("redis://host/0?password=sec@ret", "redis://***", QUERY),
        ("redis://", "redis://", NO_HOST),
        ("redis://:6379", "redis://:6379", NO_HOST),
        ("redis://u:secret@/0", "redis://u:***@/0", NO_HOST),
        ("redis-cluster://a,,b", "redis-cluster://a,,b", NO_HOST),
        ("redis://[]:6379", "redis://[]:6379", NO_HOST),
        ("redis://:secret@fe80::1", "redis://:***@fe80::1", BRACKETS),
        ("redis://:secret@[::1", "redis://:***@[::1", BRACKETS),
        ("redis://host:", "redis://host:***", PORT),
        ("redis://host:65536", "redis://host:***", PORT),
        ("redis://host:0", "redis://host:0", PORT),
        ("redis://:secret@host:+6379", "redis://:***@host:+6379", PORT),
        ("redis://:secret@[::1]6379", "redis://:***@[::1]6379", PORT),
        // Somebody forgot the host, so that the password stands where the port should.
        ("redis://user:secret/0", "redis://user:***", PORT),
        ("redis://:secret@a,b", "redis://:***@a,b", SEVERAL),
        ("redis://host/zero", "redis://host/zero", DATABASE),
        ("redis://host/-1", "redis://host/-1", DATABASE),
        ("redis-sentinel://s/main/x", "redis-sentinel://s/main/x", DATABASE),
        ("redis-cluster://:secret@a/1", "redis-cluster://:***@a/1", CLUSTER),
        ("redis-sentinel://:secret@s", "redis-sentinel://:***@s", MASTER),
        ("redis-sentinel://s//2", "redis-sentinel://s//2", MASTER),
        ("redis://:sec%ret@host", "redis://:***@host", PERCENT),
        ("redis://:secret%4@host", "redis://:***@host", PERCENT),
        ("redis://:secret%+4@host", "redis://:***@host", PERCENT),
        ("redis://:secret%FF@host", "redis://:***@host", PERCENT),
        ("redis://ho\r\nst:x", "redis://ho  st:***", PORT),
    ] {
        let error = RedisConfig::new(url).unwrap_err();
        assert_eq!(error.to_string(), format!("store `{place}`: {fault}"), "{url}");
        assert_eq!((error.class(), error.place()), (Class::Config, place), "{url}");
    }
}

/// Goal: a prefix that is none is refused, and one that is stays as it is.
/// Method: the shortest, the longest and one beyond; a character that is none of a name's.
#[test]
fn a_prefix_is_checked() {
    let config = || RedisConfig::new("redis://:secret@host").unwrap();
    for prefix in ["a", "shop:eu-1_x.y", &"p".repeat(32)] {
        assert!(config().prefix(prefix).is_ok(), "{prefix}");
    }
    for (prefix, named) in [("", ""), ("a{b}", "a{b}"), ("a b", "a b"), ("a\n", "a\\n")] {
        let error = config().prefix(prefix).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "store `redis://:***@host:6379/0`: `{named}` is not a prefix; write 1 to 32 letters, \
                 digits, `-`, `_`, `.` or `:`"
            )
        );
    }
    assert!(config().prefix(&"p".repeat(33)).is_err());
}
