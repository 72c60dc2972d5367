//! Two regions, 20 ms apart: what each way of sharing a limit costs a decision, and what it admits, together and
//! while the regions are cut off from each other.
//!
//! Four servers, two in each region, ask for one key at an even pace, twice as often as the limit admits. Stores
//! run on one core; the servers, and the proxy that is the distance, on the other.

mod scene;

use crate::shared::Server;
use ratekeeper_testing::chaos::{Proxy, Way};
use scene::{Phase, Scene};
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;
use tokio::runtime::Builder;

/// The core of the stores, and that of all else.
const STORES_CORE: &str = "0";
const SERVERS_CORE: &str = "1";

/// The distance between the regions, one way.
const ONE_WAY: Duration = Duration::from_millis(20);

/// The limit: units in a second, and at once.
pub const RATE: u64 = 400;
pub const BURST: u64 = 100;

/// Servers in all.
pub const NODES: u32 = 4;

/// How often each way has its turn; the calls of all turns are taken together.
const ROUNDS: usize = 2;

/// What is measured: a name, what the file says of the store, and what it says of the rule. Without a word on the
/// store each region has its own.
const WAYS: [(&str, Option<&str>, &str); 7] = [
    ("one store, 200 ms, `allow`", Some(", deadline: 200ms"), "on_store_failure: allow"),
    ("one store, 200 ms, `deny`", Some(", deadline: 200ms"), "on_store_failure: deny"),
    ("one store, 200 ms, `local`", Some(", deadline: 200ms"), "on_store_failure: local"),
    ("one store, 15 ms, `allow`", Some(""), "on_store_failure: allow"),
    ("one store, 15 ms, `deny`", Some(""), "on_store_failure: deny"),
    ("one store, 15 ms, `local`", Some(""), "on_store_failure: local"),
    ("a part for each region", None, "on_store_failure: deny, regions: {eu: 60%, us: 40%}"),
];

pub fn run() {
    let program = std::env::current_exe().expect("this program has a path");
    let pinned = Command::new("taskset")
        .args(["-c", SERVERS_CORE])
        .arg(&program)
        .args(["regions-from", STORES_CORE])
        .status();
    if !pinned.is_ok_and(|status| status.success()) {
        println!("\n(`taskset` or a second core is missing: nothing is pinned.)");
        let status = Command::new(program).args(["regions-from", "any"]).status();
        assert!(status.is_ok_and(|status| status.success()), "the part on regions failed");
    }
}

pub fn child(core: &str) {
    let start = || Server::start((core == STORES_CORE).then_some(core));
    let (Some(eu), Some(us)) = (start(), start()) else {
        println!("\n`redis-server` is not installed: nothing is measured on regions.");
        return;
    };
    let address = SocketAddr::from(([127, 0, 0, 1], eu.port()));
    let distance = Proxy::start(address, 1);
    distance.set_both(Way::delayed(ONE_WAY));
    println!(
        "\n### Two regions, 20 ms each way, {RATE}/second burst {BURST}, offered twice that\n"
    );
    println!(
        "| | near p50, p99 ms | far p50, p99 ms | far, by the store | admitted | cut: near p50, p99 ms | \
         far p50, p99 ms | far, decided by | admitted |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|---:|");
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    let mut found = WAYS.map(|_| [Phase::default(), Phase::default()]);
    for _ in 0..ROUNDS {
        for ((_, store, rule), found) in WAYS.into_iter().zip(&mut found) {
            eu.forget_all();
            us.forget_all();
            let urls = match store {
                Some(deadline) => [(eu.url(0), deadline), (distance.url(), deadline)],
                None => [(eu.url(0), ""), (us.url(0), "")],
            };
            let phases = runtime.block_on(phases(&Scene::new(&urls, rule), &distance));
            found.iter_mut().zip(phases).for_each(|(found, phase)| found.add(phase));
        }
    }
    for ((name, ..), [together, cut]) in WAYS.iter().zip(&mut found) {
        together.sort();
        cut.sort();
        print(name, together, cut);
    }
}

/// Together, and cut off from each other.
async fn phases(scene: &Scene, distance: &Proxy) -> [Phase; 2] {
    scene.phase("warm-up", scene::WARM_UP).await;
    let together = scene.phase("together", scene::SLICE).await;
    distance.hold();
    // The breaker takes its time to notice; that is part of what is measured.
    let cut = scene.phase("cut", scene::SLICE).await;
    distance.release();
    [together, cut]
}

fn print(name: &str, together: &Phase, cut: &Phase) {
    println!(
        "| {name} | {} | {} | {:.0} % | {:.0} % | {} | {} | {} | {:.0} % |",
        together.near.latencies(),
        together.far.latencies(),
        together.far.share_of("store"),
        together.admitted(),
        cut.near.latencies(),
        cut.far.latencies(),
        cut.far.sources(),
        cut.admitted(),
    );
}
