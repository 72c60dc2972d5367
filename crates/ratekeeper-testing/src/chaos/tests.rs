//! What the proxy does to bytes, one fault at a time.
//!
//! Invariant: no test depends on something being quick. What is said to take time takes at least so long;
//! what is said not to arrive has not when something later has, on another path.

use super::{Direction, Proxy, Way};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tokio::time::Instant;

/// Nothing takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A delay after which no test waits.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// A server, the proxy before it, and one connection through it, by both ends.
struct Pair {
    listener: TcpListener,
    proxy: Proxy,
    client: TcpStream,
    server: TcpStream,
}

impl Pair {
    fn new() -> Pair {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap(), 7);
        let (client, server) = connect(&listener, &proxy);
        Pair { listener, proxy, client, server }
    }

    /// Whether bytes have arrived at the server.
    fn has_arrived(&mut self) -> bool {
        self.server.set_nonblocking(true).unwrap();
        let found = self.server.peek(&mut [0]);
        self.server.set_nonblocking(false).unwrap();
        match found {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
            Ok(_) => true,
        }
    }

    /// Something goes from the server to the client, and arrives.
    fn marks(&mut self) {
        self.server.write_all(b"mark").unwrap();
        assert_eq!(&read::<4>(&mut self.client), b"mark");
    }
}

fn connect(listener: &TcpListener, proxy: &Proxy) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(proxy.address()).unwrap();
    let (server, _) = listener.accept().unwrap();
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE)).unwrap();
        end.set_nodelay(true).unwrap();
    }
    (client, server)
}

fn read<const COUNT: usize>(from: &mut TcpStream) -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    from.read_exact(&mut bytes).unwrap();
    bytes
}

/// Bytes of which none is like its neighbours.
fn numbered(count: u32) -> Vec<u8> {
    (0..count).flat_map(u32::to_be_bytes).collect()
}

/// Goal: all bytes pass, in their order, and so does the end, whatever the jitter is.
/// Method: numbers in small pieces both ways, each delayed by chance; then each side ends.
#[test]
fn bytes_keep_their_order_under_jitter() {
    let Pair { proxy, client, server, .. } = Pair::new();
    proxy.set_both(Way { jitter: Duration::from_millis(3), ..Way::default() });
    let numbers = numbered(50_000);
    std::thread::scope(|scope| {
        for (mut from, mut to) in [(&client, &server), (&server, &client)] {
            let numbers = &numbers;
            scope.spawn(move || {
                numbers.chunks(1_000).for_each(|piece| from.write_all(piece).unwrap());
                from.shutdown(std::net::Shutdown::Write).unwrap();
            });
            scope.spawn(move || {
                let mut arrived = Vec::new();
                to.read_to_end(&mut arrived).unwrap();
                assert!(arrived == *numbers, "{} of {} bytes", arrived.len(), numbers.len());
            });
        }
    });
}

/// Goal: a delay is at least as long as was said.
/// Method: the time from before a byte is sent until it has arrived.
#[test]
fn a_delay_is_at_least_so_long() {
    let mut pair = Pair::new();
    let delay = Duration::from_millis(80);
    pair.proxy.set(Direction::ToServer, Way::delayed(delay));
    for _ in 0..3 {
        let start = Instant::now();
        pair.client.write_all(b"a").unwrap();
        assert_eq!(&read::<1>(&mut pair.server), b"a");
        assert!(start.elapsed() >= delay, "{:?}", start.elapsed());
    }
}

/// Goal: each direction has faults of its own.
/// Method: an hour's delay one way; the answer that goes the other way arrives, and the question has not.
#[test]
fn one_direction_knows_nothing_of_the_other() {
    let mut pair = Pair::new();
    pair.proxy.set(Direction::ToServer, Way::delayed(FOR_EVER));
    pair.client.write_all(b"question").unwrap();
    pair.marks();
    assert!(!pair.has_arrived());
}

/// Goal: no more bytes pass in a second than was said.
/// Method: a fifth of what passes in a second takes a fifth of a second at least.
#[test]
fn a_rate_is_kept() {
    let mut pair = Pair::new();
    let numbers = numbered(5_000);
    pair.proxy.set(Direction::ToServer, Way { rate: Some(100_000), ..Way::default() });
    let start = Instant::now();
    pair.client.write_all(&numbers).unwrap();
    assert!(read::<20_000>(&mut pair.server)[..] == numbers);
    assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
}

/// Goal: what is held does not arrive until it is released, and then all of it does.
/// Method: hold one way; a mark that was sent later arrives the other way; release.
#[test]
fn what_is_held_arrives_when_it_is_released() {
    let mut pair = Pair::new();
    pair.proxy.change(Direction::ToServer, |way| way.held = true);
    pair.client.write_all(b"held").unwrap();
    pair.marks();
    assert!(!pair.has_arrived());
    pair.proxy.release();
    assert_eq!(&read::<4>(&mut pair.server), b"held");
}

/// Goal: what falls into a black hole never arrives, and nothing after it on that connection; others pass
/// once it is over.
/// Method: bytes into the hole, more after it was closed, and a mark on another connection. What the
/// server has read when the proxy is gone is all that ever arrived.
#[test]
fn what_falls_into_a_black_hole_never_arrives() {
    let mut pair = Pair::new();
    pair.client.write_all(b"before").unwrap();
    assert_eq!(&read::<6>(&mut pair.server), b"before");
    pair.proxy.set(Direction::ToServer, Way { black_hole: true, ..Way::default() });
    pair.client.write_all(b"lost").unwrap();
    let start = Instant::now();
    while pair.proxy.lost() < 4 && start.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    assert_eq!(pair.proxy.lost(), 4);
    pair.proxy.set(Direction::ToServer, Way::default());
    pair.client.write_all(b"after").unwrap();
    let (mut client, mut server) = connect(&pair.listener, &pair.proxy);
    client.write_all(b"mark").unwrap();
    assert_eq!(&read::<4>(&mut server), b"mark");
    assert!(!pair.has_arrived());
    let Pair { proxy, mut server, .. } = pair;
    drop(proxy);
    let mut arrived = Vec::new();
    // An end or a reset: nothing came before it.
    let _ = server.read_to_end(&mut arrived);
    assert!(arrived.is_empty(), "{arrived:?}");
}

/// Goal: a reset is a reset, on both sides, and connections made after it are well.
/// Method: what reading says; then a mark on another connection.
#[test]
fn a_reset_is_seen_on_both_sides() {
    let mut pair = Pair::new();
    pair.marks();
    pair.proxy.reset();
    for end in [&mut pair.client, &mut pair.server] {
        let error = end.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    (pair.client, pair.server) = connect(&pair.listener, &pair.proxy);
    pair.marks();
    assert_eq!(pair.proxy.accepts(), 2);
}

/// Goal: a connection ends after exactly so many bytes, in the middle of what was written.
/// Method: read all that there is on both sides.
#[test]
fn a_connection_is_cut_after_so_many_bytes() {
    let mut pair = Pair::new();
    pair.proxy.set(Direction::ToServer, Way { cut_after: Some(10), ..Way::default() });
    pair.client.write_all(b"seven, ").unwrap();
    assert_eq!(&read::<7>(&mut pair.server), b"seven, ");
    pair.client.write_all(b"and seven").unwrap();
    let mut rest = Vec::new();
    pair.server.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"and");
    pair.client.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"and", "nothing goes back");
}

/// Goal: the proxy and its connections end with its handle.
/// Method: drop it; both ends have no more to read, and nobody listens.
#[test]
fn it_ends_with_its_handle() {
    let mut pair = Pair::new();
    pair.marks();
    let address = pair.proxy.address();
    drop(pair.proxy);
    for end in [&mut pair.client, &mut pair.server] {
        assert_eq!(end.read(&mut [0]).unwrap_or(0), 0);
    }
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}
