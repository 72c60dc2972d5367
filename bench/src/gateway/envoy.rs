//! Envoy with one worker before one upstream: alone, with a limit of its own, or asking a service.
//!
//! Invariant: what differs between them is the limit alone; a service that fails or is late is an
//! error that the load sees, never a request that passes unseen.

use super::process::{Place, Running};
use crate::http::find;
use std::net::SocketAddr;

/// What Envoy asks before a request passes.
#[derive(Clone, Copy, Debug)]
pub enum Limits {
    None,
    /// One bucket for all who ask.
    Local,
    /// A rate limit service.
    Service {
        address: SocketAddr,
        /// Whether Envoy writes the limit fields of an answer itself.
        writes_fields: bool,
    },
}

/// What the names of its types begin with.
const TYPES: &str = "type.googleapis.com/envoy.extensions";

/// What a route tells the service; the domain is `demo`.
const ACTIONS: &str =
    "[{actions: [{generic_key: {descriptor_key: api_key, descriptor_value: bench}}]}]";

/// How long Envoy waits for the service, in seconds: one that is late is a failure.
const PATIENCE: &str = "0.5s";

pub fn start(upstream: SocketAddr, limits: Limits) -> Option<Running> {
    let program = find("envoy")?;
    let place = Place::new()?;
    let port = place.address.port();
    let (filter, clusters) = (limits.filter(), limits.cluster());
    let rates = if matches!(limits, Limits::Service { .. }) { ACTIONS } else { "[]" };
    let cluster = cluster("api", upstream, "{}");
    let text = format!(
        "static_resources:
  listeners:
  - name: ingress
    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': {TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          use_remote_address: true
          route_config:
            virtual_hosts:
            - name: all
              domains: ['*']
              routes: [{{match: {{prefix: /}}, route: {{cluster: api, rate_limits: {rates}}}}}]
          http_filters:{filter}
          - name: envoy.filters.http.router
            typed_config:
              '@type': {TYPES}.filters.http.router.v3.Router
  clusters:{cluster}{clusters}
"
    );
    let file = place.file("envoy.yaml", &text)?;
    let args = ["-c", &file, "--concurrency", "1", "--use-dynamic-base-id"];
    place.start(&program, &[&args[..], &["--disable-hot-restart", "-l", "error"]].concat(), "")
}

impl Limits {
    /// What stands before the router.
    fn filter(self) -> String {
        match self {
            Limits::None => String::new(),
            Limits::Local => format!(
                "
          - name: envoy.filters.http.local_ratelimit
            typed_config:
              '@type': {TYPES}.filters.http.local_ratelimit.v3.LocalRateLimit
              stat_prefix: limit
              token_bucket: {{max_tokens: 10000000, tokens_per_fill: 10000000, fill_interval: 0.1s}}
              filter_enabled: {{default_value: {{numerator: 100, denominator: HUNDRED}}}}
              filter_enforced: {{default_value: {{numerator: 100, denominator: HUNDRED}}}}"
            ),
            Limits::Service { writes_fields, .. } => {
                let fields = if writes_fields { "DRAFT_VERSION_03" } else { "OFF" };
                format!(
                    "
          - name: envoy.filters.http.ratelimit
            typed_config:
              '@type': {TYPES}.filters.http.ratelimit.v3.RateLimit
              domain: demo
              timeout: {PATIENCE}
              failure_mode_deny: true
              enable_x_ratelimit_headers: '{fields}'
              rate_limit_service:
                transport_api_version: V3
                grpc_service: {{timeout: {PATIENCE}, envoy_grpc: {{cluster_name: limits}}}}"
                )
            }
        }
    }

    /// The service, if one is asked; it speaks HTTP/2.
    fn cluster(self) -> String {
        let Limits::Service { address, .. } = self else { return String::new() };
        let protocol = format!(
            "
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        '@type': {TYPES}.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}"
        );
        cluster("limits", address, &protocol)
    }
}

fn cluster(name: &str, address: SocketAddr, protocol: &str) -> String {
    let port = address.port();
    format!(
        "
  - name: {name}
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options: {protocol}
    load_assignment:
      cluster_name: {name}
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}"
    )
}
