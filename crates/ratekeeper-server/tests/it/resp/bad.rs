//! Bytes that no client sends: answered by an error, and the connection ends where what follows could be anything.

use super::{RULES, Stand, Value, command};
use ratekeeper_server::serve::Bounds;
use std::io::Write;
use std::time::Duration;

/// Goal: whatever is announced is not believed; each of these ends the connection with an error, at once.
/// Method: each on a connection of its own: the whole error, then the end.
#[test]
fn what_cannot_be_understood_ends_the_connection() {
    let stand = Stand::by(RULES);
    let deep = "*1\r\n".repeat(200);
    let line = format!("PING {}", "x".repeat(64 * 1024));
    let long = format!("*1\r\n$4097\r\n{}", "x".repeat(100));
    let table: [(&str, &str); 15] = [
        ("*1000000000\r\n", "more than 16 arguments"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*x\r\n", "invalid multibulk length"),
        ("*\r\n", "invalid multibulk length"),
        ("*1\n", "invalid multibulk length"),
        ("*1\r\n$536870912\r\n", "invalid bulk length, it is 0 to 4096"),
        ("*1\r\n$-1\r\n", "invalid bulk length, it is 0 to 4096"),
        ("*1\r\n$-2\r\n", "invalid bulk length, it is 0 to 4096"),
        (&long, "invalid bulk length, it is 0 to 4096"),
        ("*1\r\n:1\r\n", "expected '$', got ':'"),
        (&deep, "expected '$', got '*'"),
        ("*1\r\n$4\r\nPINGxx", "a bulk string does not end where it should"),
        (&line, "too big inline request, more than 4096 bytes"),
        ("PING \"open\r\n", "unbalanced quotes in request"),
        ("PING \"a\"b\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, fault) in table {
        let mut client = stand.client();
        // The server may end the connection before all of it is sent.
        let _ = client.stream.write_all(bytes.as_bytes());
        assert_eq!(client.reply(), Value::Error(format!("ERR Protocol error: {fault}")));
        assert!(client.is_over(), "{fault}");
    }
}

/// Goal: checks before what cannot be understood are answered, and count.
/// Method: a check and then nonsense in one piece; another client looks at what is left.
#[test]
fn what_came_before_is_answered() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    client.send(&[command(&["RK.CHECK", "small", "a"]), b"*x\r\n".to_vec()].concat());
    assert!(matches!(client.reply(), Value::List(items) if items[2] == 1.into()));
    assert!(matches!(client.reply(), Value::Error(_)));
    assert!(client.is_over());
    assert!(
        matches!(stand.client().ask(&["RK.PEEK", "small", "a"]), Value::List(items) if items[2] == 1.into())
    );
}

/// Goal: empty commands are passed over; lines are commands, with quotes; a line of another protocol ends it.
/// Method: lines and empty commands in one piece; then a request of HTTP with a command in its body.
#[test]
fn lines_are_commands() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    client.send(b"\r\n\n*0\r\n*-1\r\nPING\r\nping 'a b'\necho \"\"\r\nRK.CHECK small x COST 2\r\n");
    assert_eq!(client.reply(), "PONG".into());
    assert_eq!(client.reply(), "a b".into());
    assert_eq!(client.reply(), "".into());
    assert!(matches!(client.reply(), Value::List(items) if items[0] == 1.into()));
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nRK.RESET small x\r\n");
    assert!(
        matches!(client.reply(), Value::Error(text) if text.contains("unknown command 'POST'"))
    );
    assert!(client.is_over(), "what a page could send is not done");
    assert!(
        matches!(stand.client().ask(&["RK.PEEK", "small", "x"]), Value::List(items) if items[2] == 0.into())
    );
}

/// Goal: a command that comes byte by byte is the same command.
/// Method: a long command, each byte in a packet of its own.
#[test]
fn bytes_may_come_one_by_one() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    client.stream.set_nodelay(true).expect("it can be set");
    for byte in command(&["ECHO", &"x".repeat(600)]) {
        client.send(&[byte]);
    }
    assert_eq!(client.reply(), Value::Text("x".repeat(600)));
}

/// Goal: a client that asks on and on and reads nothing is not read from, and ends; others are served meanwhile.
/// Method: a hundred thousand commands whose replies nobody reads; a short bound on writing.
#[test]
fn who_reads_nothing_is_not_read_from() {
    let bounds = Bounds { write: Duration::from_millis(200), ..Bounds::default() };
    let stand = Stand::with(RULES, None, bounds);
    let mut client = stand.client();
    let flood = command(&["ECHO", &"x".repeat(4_000)]);
    let sent = (0..100_000).take_while(|_| client.stream.write_all(&flood).is_ok()).count();
    assert!(sent < 20_000, "{sent} commands were read, though nobody read a reply");
    assert_eq!(stand.client().ask(&["PING"]), "PONG".into());
}

/// Goal: a connection that has nothing to say keeps no buffers, and is there when it has.
/// Method: a short rest; pauses between commands, and in the middle of one.
#[test]
fn quiet_connections_go_on() {
    let bounds = Bounds { rest: Duration::from_millis(20), ..Bounds::default() };
    let stand = Stand::with(RULES, None, bounds);
    let mut client = stand.client();
    for pause in [0, 60, 60] {
        std::thread::sleep(Duration::from_millis(pause));
        assert_eq!(client.ask(&["PING"]), "PONG".into());
        client.send(b"*1\r\n$4\r\nPI");
        std::thread::sleep(Duration::from_millis(pause));
        client.send(b"NG\r\n");
        assert_eq!(client.reply(), "PONG".into(), "half a command outlives the rest");
    }
}

/// Goal: a command that was begun is to be finished in time, however its bytes trickle.
/// Method: a short bound, and a byte each 20 ms.
#[test]
fn commands_are_finished_in_time() {
    let bounds = Bounds {
        header: Duration::from_millis(200),
        rest: Duration::from_millis(20),
        ..Bounds::default()
    };
    let stand = Stand::with(RULES, None, bounds);
    let mut client = stand.client();
    assert_eq!(client.ask(&["PING"]), "PONG".into());
    client.send(b"*2\r\n$4\r\nECHO\r\n$4000\r\n");
    let sent = (0..1_000).take_while(|_| {
        std::thread::sleep(Duration::from_millis(20));
        client.stream.write_all(b"x").is_ok()
    });
    assert!(sent.count() < 1_000, "it was cut off");
    let mut silent = stand.client();
    silent.send(b"*1\r\n$4\r\nPI");
    assert!(silent.is_over());
}

/// Goal: a client that never pauses does not hold up the end of a server; its pipeline is answered.
/// Method: one that asks on and on while the server stops, with a long time to finish.
#[test]
fn busy_clients_do_not_hold_up_the_end() {
    let bounds = Bounds { drain: Duration::from_secs(600), ..Bounds::default() };
    let stand = Stand::with(RULES, None, bounds);
    let mut client = stand.client();
    assert_eq!(client.ask(&["PING"]), "PONG".into());
    let busy = std::thread::spawn(move || {
        let pings = command(&["PING"]).repeat(50);
        while client.stream.write_all(&pings).is_ok() {
            let mut replies = [0; 7 * 50];
            if std::io::Read::read_exact(&mut client.stream, &mut replies).is_err() {
                return;
            }
        }
    });
    let ends = std::thread::spawn(move || drop(stand));
    let over = crate::program::poll(|| ends.is_finished().then_some(()));
    assert!(over.is_some(), "the server waits for a client that does not pause");
    busy.join().expect("the client ends");
}
