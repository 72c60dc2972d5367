//! The part of the table that is about servers: stores, listeners, callers.

use super::Kind::{Any, List, Map, Some, Text, Whole, Word};
use super::rules::LENGTH;
use super::{Kind, shape};

/// Most nodes of a fleet.
pub(in super::super) const NODES_MAX: u64 = 100_000;

/// Most keys of the store in memory.
pub(in super::super) const KEYS_MAX: u64 = 1 << 32;

pub(in super::super) const AUTH: [&str; 3] = ["none", "optional", "required"];
pub(in super::super) const ACCESS_LOG: [&str; 3] = ["none", "json", "combined"];

pub(super) const NODES: Kind = Whole(1, NODES_MAX);

shape! {
    /// A shared store: Redis or Valkey, one server, Sentinel or Cluster.
    STORE "store" "`store`" {
        /// Where it is: `redis://host:6379/0`, `redis-cluster://a:6379,b:6379` or
        /// `redis-sentinel://s1:26379,s2:26379/mymaster`; with `rediss`, over TLS.
        must url: Text,
        /// A file with the password, where it is not in the URL.
        may password_file: Text,
        /// A file of certificates, as PEM, by which the server's is known.
        may ca: Text,
        /// What every name in the store begins with, `rk` unless said.
        may prefix: Text,
        /// How long a decision waits for the store, `15ms` unless said.
        may deadline: LENGTH,
    }
}

shape! {
    /// The store within the process.
    MEMORY "memory" "`memory`" {
        /// Most keys that it remembers, a million unless said.
        may keys: Whole(1, KEYS_MAX),
    }
}

shape! {
    /// Where the server listens, each as `address:port`.
    LISTEN "listen" "`listen`" {
        /// The check API, forward-auth, metrics and health; console and admin, too, unless `admin`
        /// is set.
        may api: Text,
        /// Console and admin, which are then only here.
        may admin: Text,
        /// Envoy's rate limit service v3.
        may grpc: Text,
        /// Redis' protocol, for any Redis client.
        may resp: Text,
    }
}

shape! {
    /// Who may administer.
    ADMIN "admin" "`admin`" {
        /// A file with the token of administrators; needed where admin listens beyond loopback.
        must token_file: Text,
    }
}

shape! {
    /// How Envoy speaks to `listen.grpc`.
    GRPC "grpc" "`grpc`" {
        /// The certificate of the listener; left out, it speaks in plain text.
        may tls: Map(&TLS),
    }
}

shape! {
    /// How Redis clients speak to `listen.resp`.
    RESP "resp" "`resp`" {
        /// A file with the password of clients; needed where `listen.resp` is beyond loopback.
        may password_file: Text,
        /// The certificate of the listener; left out, it speaks in plain text.
        may tls: Map(&TLS),
    }
}

shape! {
    /// A gateway in front of upstream servers.
    GATEWAY "gateway" "`gateway`" {
        /// Where it listens, as `address:port`.
        must listen: Text,
        /// Its certificate; left out, it speaks plain HTTP.
        may tls: Map(&TLS),
        /// A file of certificates, as PEM, by which upstreams over `https` are known; the system's
        /// unless said.
        may ca: Text,
        /// What is written about each request on standard output: `none` (unless said), a line of
        /// `json`, or one in the `combined` format.
        may access_log: Word(&ACCESS_LOG),
        /// How long requests to upstreams may take.
        may timeouts: Map(&TIMEOUTS),
        /// Which paths go where; the first that matches.
        must routes: List(1, &Map(&ROUTE)),
    }
}

shape! {
    /// A certificate and its key.
    TLS "tls" "`tls`" {
        /// A file with the certificate and its chain, as PEM.
        must cert: Text,
        /// A file with the private key, as PEM.
        must key: Text,
    }
}

shape! {
    /// Where requests on a path go.
    ROUTE "route" "a route" {
        /// The path: `*` is one segment, `**` any number of them.
        must path: Text,
        /// The server behind, or a list of them: `http://host:port`, `https://host:port`, or
        /// `h2c://host:port` for HTTP/2 in plain text.
        must upstream: Some(&Text),
        /// Whether callers need a verified identity: `none` (unless said), `optional`, or
        /// `required`, which answers 401 without.
        may auth: Word(&AUTH),
        /// A path of its upstreams that is asked for every second; 2xx or 3xx is healthy.
        may health: Text,
        /// Times that are not the gateway's.
        may timeouts: Map(&TIMEOUTS),
    }
}

shape! {
    /// How long a request to an upstream may take, each from `1ms` to `24h`.
    TIMEOUTS "timeouts" "`timeouts`" {
        /// Until there is a connection, `2s` unless said.
        may connect: LENGTH,
        /// From the request's end to the beginning of its answer, `30s` unless said.
        may first_byte: LENGTH,
        /// While nothing moves either way, `60s` unless said.
        may idle: LENGTH,
        /// From beginning to end, `1h` unless said.
        may total: LENGTH,
    }
}

shape! {
    /// How callers are recognised.
    IDENTITY "identity" "`identity`" {
        /// Addresses and networks whose forwarded header fields are believed; none unless said.
        may trusted_proxies: Any(&[Text, List(0, &Text)]),
        /// The header field in which they forward the caller's address, `X-Forwarded-For` unless
        /// said.
        may client_ip_header: Text,
        /// How many bits of an IPv6 address are one caller, 64 unless said.
        may ipv6_prefix: Whole(32, 128),
        /// API keys that are verified, and who they belong to.
        may api_key: Map(&API_KEY),
        /// Tokens that are verified, and whom they name.
        may jwt: Map(&JWT),
    }
}

shape! {
    /// API keys, and who they belong to.
    API_KEY "api_key" "`api_key`" {
        /// The header field that has the key, `X-Api-Key` unless said.
        may header: Text,
        /// A file with a list of keys, or the list itself.
        must keys: Any(&[Text, List(0, &Map(&KEY_ENTRY))]),
    }
}

shape! {
    /// An API key, known by its hash.
    KEY_ENTRY "key" "an API key" {
        /// The name of the key, by which `key: api_key` counts.
        must id: Text,
        /// Who it belongs to: the user.
        must owner: Text,
        /// The tier of its owner.
        may tier: Text,
        /// `sha256:` and the SHA-256 of the key in 64 digits from 0 to f, as `sha256sum`
        /// writes it.
        must hash: Text,
    }
}

shape! {
    /// Tokens, and how they are verified.
    JWT "jwt" "`jwt`" {
        /// The algorithms that are accepted, such as `RS256`.
        must algorithms: Some(&Text),
        /// A file with the key that verifies, or the key itself as PEM.
        must key: Text,
        /// The claim that names the user, `sub` unless said.
        may user: Text,
        /// The claim that names the tier.
        may tier: Text,
        /// Who must have issued the token.
        may issuer: Text,
        /// For whom the token must be.
        may audience: Text,
    }
}
