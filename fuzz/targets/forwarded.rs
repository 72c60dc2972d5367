//! Forwarded header fields: a caller behind a trusted proxy is counted by an address, or rejected; from
//! anybody else they change nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper::{Limiter, Request};
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

fn limiter(header: &str) -> Limiter {
    let text = format!(
        "identity: {{trusted_proxies: [10.0.0.0/8, 'fd00::/8'], client_ip_header: {header}}}\n\
         rules: [{{id: api, key: ip, limit: 5/second}}]"
    );
    Limiter::from_yaml(&text).expect("it is a rule file")
}

static LIMITERS: LazyLock<[(&str, Limiter); 3]> = LazyLock::new(|| {
    ["X-Forwarded-For", "Forwarded", "X-Real-IP"].map(|header| (header, limiter(header)))
});

fuzz_target!(|lines: &[u8]| {
    for (header, limiter) in &*LIMITERS {
        let fields: Vec<_> =
            lines.split(|byte| *byte == b'\n').map(|line| (*header, line)).collect();
        for (peer, trusted) in [("10.0.0.1", true), ("192.0.2.1", false)] {
            let peer = peer.parse().expect("an address");
            let request =
                Request { peer: Some(peer), headers: &fields, ..Request::new("GET", "/") };
            let explained =
                pin!(limiter.explain(&request)).poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(explained) = explained else { panic!("memory answers at once") };
            match explained {
                Ok(explained) if trusted => {
                    // Whoever it is, it has an address; or no rule can be asked, which says why.
                    let rule = &explained.rules[0];
                    assert!(!rule.key.is_empty() || rule.why_not.is_some());
                }
                Ok(explained) => assert_eq!(explained.address, Some(peer)),
                Err(_) => assert!(trusted, "nobody else's word is read"),
            }
        }
    }
});
