//! What a server says of itself and the system of it: how long its decisions took, how much memory it has.
//!
//! Invariant: figures are differences, so that what was before does not count.

use super::programs::Running;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Connections that ask once and are then idle.
const IDLE: usize = 10_000;

/// How long they rest before the memory is looked at.
const REST: Duration = Duration::from_secs(5);

/// The share of decisions that a time is told of.
const SHARE: f64 = 0.99;

/// Decisions so far that took no longer than each of some times, in seconds.
pub fn decided(address: SocketAddr) -> Vec<(f64, f64)> {
    let text = get(&mut connect(address), "/metrics");
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("ratekeeper_decision_seconds_bucket{le=\"")?;
        let (end, count) = rest.split_once("\"} ")?;
        Some((end.parse().ok()?, count.trim().parse().ok()?))
    });
    lines.collect()
}

/// How much a server has decided so far for those who came by a door.
pub fn decisions(address: SocketAddr, door: &str) -> usize {
    let text = get(&mut connect(address), "/metrics");
    let door = format!("door=\"{door}\"");
    let lines = text.lines().filter_map(|line| {
        let (labels, count) = line.strip_prefix("ratekeeper_decisions_total{")?.split_once("} ")?;
        labels.contains(&door).then(|| count.trim().parse::<usize>().expect("it is a count"))
    });
    lines.sum()
}

/// Within which time nearly all decisions between two looks were made, in microseconds.
pub fn within(before: &[(f64, f64)], after: &[(f64, f64)]) -> f64 {
    let since: Vec<(f64, f64)> =
        after.iter().zip(before).map(|((end, now), (_, then))| (*end, now - then)).collect();
    let all = since.last().map_or(0.0, |(_, count)| *count);
    since.iter().find(|(_, count)| *count >= SHARE * all).map_or(f64::NAN, |(end, _)| end * 1e6)
}

/// What idle connections cost a server, in KiB each.
pub fn idle(running: &Running) {
    let before = resident(running.process());
    let open: Vec<TcpStream> = (0..IDLE)
        .map(|_| {
            let mut stream = connect(running.address);
            get(&mut stream, "/livez");
            stream
        })
        .collect();
    // What is put away is given back a moment later.
    std::thread::sleep(REST);
    let each = resident(running.process()).saturating_sub(before) as f64 / open.len() as f64;
    println!("\n{IDLE} idle connections, each of which has asked once: {each:.1} KiB each.");
}

/// Memory of a process that is there, in KiB.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server is there");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket has that option");
    stream
}

/// The whole answer.
fn get(stream: &mut TcpStream, path: &str) -> String {
    let ask = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(ask.as_bytes()).expect("the server reads");
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut piece).expect("the server answers");
        assert!(count > 0, "the server broke off");
        answer.extend_from_slice(&piece[..count]);
        if super::load::is_whole(&answer) {
            return String::from_utf8_lossy(&answer).into_owned();
        }
    }
}
