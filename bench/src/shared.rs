//! Ratekeeper on Redis beside a script as tutorials have it, on a server of its own.
//!
//! The server runs on one core, all callers and what they call on another, so that neither takes time
//! from the other. Where there is no `taskset` both run where the system puts them.

mod caller;
mod fleet;
mod peer;
mod room;
mod server;
mod speed;

use ratekeeper::{Limit, LimitBuilder, Limiter, RedisConfig, Rule};
pub use server::Server;
use std::process::Command;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The core of the server, and that of the callers.
const SERVER_CORE: &str = "0";
const CALLERS_CORE: &str = "1";

/// The database of ratekeeper, and that of its peers: what one keeps does not slow the other.
const OURS: u8 = 0;
const PEERS: u8 = 1;

/// No call should be given up because something else has the processor: a store that seems to be away
/// is not asked for a while, and that is not what is measured. Each call has its timer as always.
const DEADLINE: Duration = Duration::from_secs(10);

/// Calls under way while keys are filled.
const AT_ONCE: usize = 128;

pub fn run(words: &[&str]) {
    let program = std::env::current_exe().expect("this program has a path");
    let pinned = Command::new("taskset")
        .args(["-c", CALLERS_CORE])
        .arg(&program)
        .args(["redis-from", SERVER_CORE])
        .args(words)
        .status();
    if !pinned.is_ok_and(|status| status.success()) {
        println!("\n(`taskset` or a second core is missing: nothing is pinned.)");
        let status = Command::new(program).args(["redis-from", "any"]).args(words).status();
        assert!(status.is_ok_and(|status| status.success()), "the part on Redis failed");
    }
}

pub fn child(core: &str, words: &[&str]) {
    let wanted = |part: &str| {
        words.contains(&part) || !["speed", "room", "fleet"].iter().any(|part| words.contains(part))
    };
    let Some(server) = Server::start((core == SERVER_CORE).then_some(core)) else {
        println!("\n`redis-server` is not installed: nothing is measured on Redis.");
        return;
    };
    if wanted("speed") {
        speed::run(&server, words);
    }
    if wanted("fleet") {
        fleet::run(&server, words);
    }
    if wanted("room") {
        room::run(&server);
    }
}

/// One thread, for one core.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("the system gives a runtime")
}

/// A unit takes an hour to come back, and there are enough of them that nothing is refused: every key
/// has to be remembered.
fn token_bucket() -> LimitBuilder {
    Limit::per_hour(1).burst(peer::CAPACITY)
}

fn rule(server: &Server, limit: LimitBuilder) -> Rule {
    let config = RedisConfig::new(&server.url(OURS)).expect("the URL is good");
    let builder = Limiter::redis(config.deadline(DEADLINE))
        .rule("api", limit)
        .expect("the limit makes sense");
    builder.build().rule("api").expect("the rule is there")
}

/// Charges each key once.
async fn fill(rule: &Rule, keys: &[String]) {
    for part in keys.chunks(AT_ONCE) {
        for decision in rule.check_many(part).await {
            assert!(decision.is_allowed(), "a fill refuses nothing");
            assert_eq!(decision.source(), ratekeeper::Source::Store, "the store is there");
        }
    }
}
