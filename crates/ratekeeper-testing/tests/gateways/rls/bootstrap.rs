//! Envoy's file in `examples/`, as a test needs it.
//!
//! Invariant: the file is taken as it is, but for ports, for its timeout, which a busy machine does not keep, and for
//! what a test says.

use crate::files::root;
use crate::site::free_port;
use std::fs;

/// The bound of an answer in the file, and one that a busy machine keeps, too.
const TIMEOUT: &str = "timeout: 0.05s";
const PATIENT: &str = "timeout: 5s";

/// Where the limits of all routes begin, and where the next filter does.
const LIMITS: &str = "\n                      rate_limits:\n";
const NEXT: &str = "                  - name: envoy.filters.http.router\n";

/// A line of the filter, before which others may stand.
const DOMAIN: &str = "                      domain: edge\n";

/// The text of a file by which Envoy starts.
pub(super) struct Bootstrap(pub(super) String);

/// A file in `examples/envoy`.
pub(super) fn example(name: &str) -> String {
    fs::read_to_string(root().join("examples/envoy").join(name)).unwrap()
}

impl Bootstrap {
    /// As in `examples/`.
    pub(super) fn example() -> Bootstrap {
        Bootstrap(example("ratelimit.yaml")).with(TIMEOUT, PATIENT)
    }

    /// The same with these `rate_limits` for all routes that have none of their own: a list within brackets.
    pub(super) fn describing(limits: &str) -> Bootstrap {
        let Bootstrap(text) = Bootstrap::example();
        let (before, rest) = text.split_once(LIMITS).unwrap();
        let (_, after) = rest.split_once(NEXT).unwrap();
        let limits = limits.replace('\n', " ");
        let own = LIMITS.trim_end();
        Bootstrap(format!("{before}{own} {limits}\n{NEXT}{after}"))
    }

    /// With another text instead of one that is there once.
    pub(super) fn with(self, from: &str, to: &str) -> Bootstrap {
        assert_eq!(self.0.matches(from).count(), 1, "`{from}` is there once");
        Bootstrap(self.0.replace(from, to))
    }

    /// With a further setting of the filter.
    pub(super) fn setting(self, line: &str) -> Bootstrap {
        self.with(DOMAIN, &format!("{DOMAIN}                      {line}\n"))
    }

    /// As the head of the file says for who wants requests refused while nobody answers.
    pub(super) fn closed(self) -> Bootstrap {
        self.with("failure_mode_deny: false     # open", "").with("#closed: failure", "failure")
    }
}

/// Ports of a test instead of those in the files.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Where Envoy listens: 8000.
    pub(super) envoy: u16,
    /// Where it is administered.
    pub(super) admin: u16,
    /// The program's API: 8080.
    pub(super) api: u16,
    /// Where the program is asked by Envoy: 8081.
    pub(super) grpc: u16,
    /// The application: 9000.
    pub(super) upstream: u16,
}

impl Ports {
    pub(super) fn free(upstream: u16) -> Ports {
        let [envoy, admin, api, grpc] = std::array::from_fn(|_| free_port());
        Ports { envoy, admin, api, grpc, upstream }
    }

    /// Those in the files, each with its own.
    fn pairs(self) -> [(u16, u16); 4] {
        [(8000, self.envoy), (8080, self.api), (8081, self.grpc), (9000, self.upstream)]
    }

    /// Puts them in the place of those in a file.
    pub(super) fn put_into(self, text: &str) -> String {
        self.pairs().into_iter().fold(text.to_owned(), |text, (own, other)| {
            let text =
                text.replace(&format!("port_value: {own}}}"), &format!("port_value: {other}}}"));
            text.replace(&format!("127.0.0.1:{own}"), &format!("127.0.0.1:{other}"))
        })
    }

    /// Shows those in the files instead of them.
    pub(super) fn take_from(self, text: &str) -> String {
        self.pairs().into_iter().fold(text.to_owned(), |text, (own, other)| {
            text.replace(&format!("127.0.0.1:{other}"), &format!("127.0.0.1:{own}"))
        })
    }
}
