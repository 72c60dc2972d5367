//! The part of the table that is about rules.

use super::Kind::{Any, Just, Like, List, Map, Name, Null, Some, Table, Text, Whole, Word, Yes};
use super::settings::{ADMIN, GATEWAY, GRPC, IDENTITY, LISTEN, MEMORY, NODES, RESP, STORE};
use super::{Kind, shape};

/// Most units that a request can take.
pub(in super::super) const COST_MAX: u64 = u32::MAX as u64;

pub(in super::super) const FAILURE: [&str; 3] = ["allow", "deny", "local"];
pub(in super::super) const MISSING: [&str; 3] = ["ip", "skip", "deny"];
pub(in super::super) const CONSISTENCY: [&str; 3] = ["exact", "leased", "auto"];
pub(in super::super) const COUNT: [&str; 2] = ["all", "failures"];
pub(in super::super) const SCOPE: [&str; 2] = ["fleet", "instance"];
pub(in super::super) const MODE: [&str; 2] = ["policing", "shaping"];
pub(in super::super) const HEADERS: [&str; 5] =
    ["ietf", "x-ratelimit", "draft-07", "draft-06", "none"];
pub(in super::super) const RULES_FROM: [&str; 2] = ["file", "redis"];
const ALGORITHM: [&str; 5] = [
    "fixed_window",
    "sliding_window_log",
    "sliding_window_counter",
    "token_bucket",
    "leaky_bucket",
];

const ID: Kind = Name("^[A-Za-z0-9._-]{1,64}$");
const LIMIT: Kind = Like(concat!(
    "^\\s*(unlimited|0*[1-9][0-9]*\\s+concurrent|0*[1-9][0-9]*/",
    "(second|minute|hour|day|week|month|year|([0-9]+(w|d|h|m|s|ms|us))+)",
    "(\\s+burst\\s+0*[1-9][0-9]*)?)\\s*$"
));
const LIMITS: Kind = Any(&[LIMIT, List(1, &LIMIT), Table(&Some(&LIMIT))]);
pub(super) const LENGTH: Kind = Like("^([0-9]+(w|d|h|m|s|ms|us))+$");
const PERCENT: Kind = Like("^(100|0?[0-9]{1,2})%$");
const KEY_KIND: Kind =
    Like("^(ip|user|api_key|tier|route|path|method|host|global|(header|claim|descriptor):.+)$");
const KEY_PART: Kind = Any(&[KEY_KIND, Map(&FIRST)]);
const ANY_VALUE: Kind = Any(&[Text, Null]);
const OVERRIDE_KEY: Kind = Any(&[Text, Table(&Text)]);
const UNTIL: Kind = Like("^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$");

shape! {
    /// A rule file of Ratekeeper, or one of a folder of them.
    FILE "file" "a rule file" {
        /// The version of this format; there is only 1.
        may version: Just(1),
        /// Where buckets are kept: `memory`, a URL, or a map with more.
        may store: Any(&[Text, Map(&STORE)]),
        /// The store within the process.
        may memory: Map(&MEMORY),
        /// Where the server listens; a listener left out stays closed, `api` excepted.
        may listen: Map(&LISTEN),
        /// Who may administer.
        may admin: Map(&ADMIN),
        /// How Envoy speaks to `listen.grpc`.
        may grpc: Map(&GRPC),
        /// How Redis clients speak to `listen.resp`.
        may resp: Map(&RESP),
        /// A folder in which releases, switches and, with the memory store, buckets survive a
        /// restart.
        may state_dir: Text,
        /// The size of the fleet; left out, live nodes are counted through the store.
        may nodes: NODES,
        /// The region of this server, as `regions` of rules name it.
        may region: Text,
        /// Where rules come from after the start: this file, or Redis, which it then only seeds.
        may rules_from: Word(&RULES_FROM),
        /// A file of switches that works while the store is away.
        may switch_file: Text,
        /// A gateway in front of upstream servers; left out, there is none.
        may gateway: Map(&GATEWAY),
        /// How callers are recognised.
        may identity: Map(&IDENTITY),
        /// Which header fields answers carry; `ietf` and `x-ratelimit` unless said.
        may headers: Some(&Word(&HEADERS)),
        /// The tiers of callers; a caller with no or an unknown tier has the first.
        may tiers: Some(&ID),
        /// Requests that pass uncounted.
        may exempt: List(0, &Map(&EXEMPT)),
        /// The rules; every rule that matches a request applies.
        may rules: List(0, &Map(&RULE)),
        /// Other limits for single keys.
        may overrides: List(0, &Map(&OVERRIDE)),
    }
}

shape! {
    /// Which requests, who is counted, and how much.
    RULE "rule" "a rule" {
        /// The name of the rule: letters, digits, `-`, `_` and `.`; it is public.
        must id: ID,
        /// The name that callers are shown instead of the id.
        may name: ID,
        /// The domain of Envoy's descriptors that the rule serves; it then serves nothing else.
        may domain: Text,
        /// Which requests; all of them if it is left out.
        may match: Map(&MATCH),
        /// A further condition in CEL over method, path, host, headers, ip, user, tier, claims and
        /// cost.
        may when: Text,
        /// Who is counted, `ip` unless said; a list is a tuple, and `first` is the first that the
        /// request has.
        may key: Any(&[KEY_KIND, Map(&FIRST), List(1, &KEY_PART)]),
        /// What to do where a part of the key is missing: count by address (`ip`, unless said),
        /// `skip` the rule, or `deny`.
        may on_missing: Word(&MISSING),
        /// How much, such as `100/minute burst 20`; a list applies as a whole, a map gives each
        /// tier its own.
        may limit: LIMITS,
        /// Closes the route: `true` instead of a limit.
        may deny: Yes,
        /// A limit beside the live one that counts but never refuses.
        may trial: LIMITS,
        /// How to count, `token_bucket` unless said.
        may algorithm: Word(&ALGORITHM),
        /// Whether a leaky bucket refuses (`policing`, unless said) or holds requests back until
        /// their turn (`shaping`).
        may mode: Word(&MODE),
        /// The longest time that shaping holds a request back.
        may max_wait: LENGTH,
        /// After which time a permit of a concurrency limit that nobody gave back frees itself,
        /// `60s` unless said.
        may hold: LENGTH,
        /// Units that a request takes, 1 unless said; or the header field that says so.
        may cost: Any(&[Whole(1, COST_MAX), Map(&COST)]),
        /// Corrects the cost when the answer says what was really used.
        may settle: Map(&SETTLE),
        /// Which requests count: `all`, or `failures`, which are answered with 401 or 403.
        may count: Word(&COUNT),
        /// For whom the rule is enforced: `off`, `shadow`, or so many percent of the keys; `100%`
        /// unless said.
        may rollout: Any(&[Word(&["off", "shadow"]), PERCENT]),
        /// Whether the `fleet` counts together, as it does unless said, or each `instance` by
        /// itself.
        may scope: Word(&SCOPE),
        /// What becomes of requests while the store is away: `allow` (unless said), `deny`, or
        /// `local`, each node its part.
        may on_store_failure: Word(&FAILURE),
        /// Whether each request asks the store (`exact`, unless said), nodes take units ahead
        /// (`leased`), or do so for hot keys (`auto`).
        may consistency: Word(&CONSISTENCY),
        /// The part of the limit that each region has.
        may regions: Table(&PERCENT),
    }
}

shape! {
    /// Requests that have all of this.
    MATCH "match" "`match`" {
        /// One of these methods.
        may methods: Some(&Text),
        /// One of these hosts: a name, or `*.` and a name.
        may host: Some(&Text),
        /// One of these paths: `*` is one segment, `**` any number of them.
        may path: Some(&Text),
        /// None of these paths.
        may except: Some(&Text),
        /// Header fields with these values; `"*"` or nothing matches any value.
        may headers: Table(&ANY_VALUE),
        /// One of these tiers.
        may tier: Some(&Text),
        /// Descriptors of Envoy with these values; nothing matches any value.
        may descriptors: Table(&ANY_VALUE),
    }
}

shape! {
    /// Requests that have all of this pass uncounted.
    EXEMPT "exempt" "`exempt`" {
        /// One of these methods.
        may methods: Some(&Text),
        /// One of these hosts: a name, or `*.` and a name.
        may host: Some(&Text),
        /// One of these paths: `*` is one segment, `**` any number of them.
        may path: Some(&Text),
        /// None of these paths.
        may except: Some(&Text),
        /// Header fields with these values; `"*"` or nothing matches any value.
        may headers: Table(&ANY_VALUE),
        /// One of these tiers.
        may tier: Some(&Text),
        /// Descriptors of Envoy with these values; nothing matches any value.
        may descriptors: Table(&ANY_VALUE),
        /// From one of these addresses or networks, such as 10.0.0.0/8.
        may ip: Some(&Text),
    }
}

shape! {
    /// The first of several that the request has.
    FIRST "first" "`key`" {
        /// The alternatives, best first.
        must first: List(1, &KEY_KIND),
    }
}

shape! {
    /// Units as a header field says: at least 1, at most `max`.
    COST "cost" "`cost`" {
        /// The header field that says how many units the request takes.
        must header: Text,
        /// Units where the field is absent, 1 unless said.
        may default: Whole(1, COST_MAX),
        /// The most units that are believed.
        must max: Whole(1, COST_MAX),
    }
}

shape! {
    /// Where the answer says what was really used.
    SETTLE "settle" "`settle`" {
        /// The header field of the answer with the units that were used.
        must response_header: Text,
    }
}

shape! {
    /// Another limit for one key of a rule.
    OVERRIDE "override" "an override" {
        /// The rule's id.
        must rule: ID,
        /// The key: a value for each part of the rule's, or `{user: acme}` to say which
        /// alternative.
        must key: Any(&[OVERRIDE_KEY, List(1, &OVERRIDE_KEY)]),
        /// The limit instead of the rule's.
        must limit: Some(&LIMIT),
        /// The date or time (RFC 3339) at which it ends; a date is its first moment in UTC.
        may until: UNTIL,
        /// Why, for people.
        may reason: Text,
    }
}
