//! Rule files: whatever is in them, they are read, or every fault has its place and its repair; and what
//! was read can be asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, Request};
use std::pin::pin;
use std::task::{Context, Waker};

fuzz_target!(|text: &str| match RuleFile::parse(text) {
    Err(errors) => {
        for error in errors.iter() {
            assert!(error.line > 0 && error.column > 0, "{error}");
            assert!(!error.fault.is_empty() && !error.repair.is_empty(), "{error}");
        }
    }
    Ok(file) => {
        let limiter = Limiter::memory().keys(64).rules(file.rules).build();
        let peer = Some("192.0.2.1".parse().expect("an address"));
        let request = Request { peer, ..Request::new("POST", "/api/items") };
        let mut context = Context::from_waker(Waker::noop());
        let _ = pin!(limiter.explain(&request)).poll(&mut context);
        let _ = pin!(limiter.admit(&request)).poll(&mut context);
    }
});
