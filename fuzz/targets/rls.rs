//! Messages of Envoy: any bytes are read, and what can be asked is answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper::Limiter;
use ratekeeper_server::door::envoy::fuzz;
use std::sync::LazyLock;

static LIMITER: LazyLock<Limiter> = LazyLock::new(|| {
    let rules = "rules:\n\
                 - {id: user, domain: edge, key: 'descriptor:user', limit: [3/hour, 9/day]}\n\
                 - {id: all, domain: edge, limit: 1000/second}\n\
                 - {id: shut, domain: edge, match: {descriptors: {path: /x}}, deny: true}\n";
    Limiter::from_yaml(rules).expect("the rules make sense")
});

fuzz_target!(|bytes: &[u8]| {
    fuzz(bytes, &LIMITER);
});
