//! What an open console costs the server: processor time with listeners of the stream and without, in turn.
//!
//! Invariant: the load is the same in both, 200 decisions a second; a listener reads all that it is told, and asks who
//! asks most as often as the page does.

use crate::http::programs::{self, Running};
use crate::{Plan, median};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, scope, sleep, spawn};
use std::time::{Duration, Instant};

/// Consoles that are open.
const CONSOLES: usize = 10;

/// Decisions a second.
const RATE: u32 = 200;

/// How long each turn is, and how often the page asks who asks most.
const TURN: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_secs(2);

/// Ticks of the system's clock in a second, as Linux tells them.
const TICKS: f64 = 100.0;

pub fn run(plan: Plan) {
    println!("\n### An open console: {RATE} decisions a second, {CONSOLES} consoles or none\n");
    let Some(server) = programs::ratekeeper(None) else {
        println!("(the program is not there; build it with `cargo build --release`.)");
        return;
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds.min(5) {
        without.push(turn(&server, 0));
        with.push(turn(&server, CONSOLES));
    }
    let (with, without) = (median(&with), median(&without));
    let each = (with.0 - without.0) / CONSOLES as f64;
    println!("| | share of a core, median | spread |");
    println!("|---|---:|---:|");
    println!("| no console | {:.2} % | {:.0} % |", without.0, without.1);
    println!("| {CONSOLES} consoles | {:.2} % | {:.0} % |", with.0, with.1);
    println!("\nEach open console: {each:.2} % of a core (goal: under 2 %).");
}

/// The share of a core that the server takes under load, in percent.
fn turn(server: &Running, consoles: usize) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let address = server.address;
    let listeners: Vec<JoinHandle<()>> = (0..consoles)
        .flat_map(|_| {
            let (first, second) = (Arc::clone(&over), Arc::clone(&over));
            [spawn(move || listen(address, &first)), spawn(move || look(address, &second))]
        })
        .collect();
    let share = scope(|threads| {
        let load = threads.spawn(|| ask(address, &over));
        sleep(Duration::from_secs(1));
        let (before, start) = (ticks(server.process()), Instant::now());
        sleep(TURN);
        let used = (ticks(server.process()) - before) / TICKS / start.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        load.join().expect("it asked");
        used * 100.0
    });
    listeners.into_iter().for_each(|own| own.join().expect("it listened"));
    share
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(3))).expect("it is open");
    stream.set_nodelay(true).expect("it is open");
    stream
}

/// Reads the stream until it is over.
fn listen(address: SocketAddr, over: &AtomicBool) {
    let mut stream = connect(address);
    let request = "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is open");
    let mut buffer = [0; 16 * 1024];
    while !over.load(Ordering::Relaxed) {
        assert!(stream.read(&mut buffer).expect("a second brings an event") > 0, "it has ended");
    }
}

/// Asks for the busiest keys as often as a page does.
fn look(address: SocketAddr, over: &AtomicBool) {
    let mut stream = connect(address);
    while !over.load(Ordering::Relaxed) {
        ask_once(&mut stream, "GET /v1/top?limit=20", "");
        sleep(LOOK);
    }
}

/// Asks at a steady pace.
fn ask(address: SocketAddr, over: &AtomicBool) {
    let (mut stream, start, mut sent) = (connect(address), Instant::now(), 0);
    while !over.load(Ordering::Relaxed) {
        let key = sent % 40;
        ask_once(&mut stream, "POST /v1/check", &format!(r#"{{"rule":"api","key":"user-{key}"}}"#));
        sent += 1;
        sleep((Duration::from_secs(1) / RATE * sent).saturating_sub(start.elapsed()));
    }
}

fn ask_once(stream: &mut TcpStream, line: &str, body: &str) {
    let length = body.len();
    let request =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).expect("it is open");
    let (mut text, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let count = stream.read(&mut buffer).expect("it answers");
        assert!(count > 0, "it answers");
        text.extend_from_slice(&buffer[..count]);
        let seen = String::from_utf8_lossy(&text);
        let Some((head, rest)) = seen.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let field = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if rest.len() >= field.and_then(|own| own.parse().ok()).unwrap_or(0) {
            return;
        }
    }
}

/// Processor time of a process, in ticks.
fn ticks(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // Behind the name, which may hold anything, come the fields from the third on.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok()).sum()
}
