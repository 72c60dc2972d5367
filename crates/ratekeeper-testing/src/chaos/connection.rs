//! Connections of the proxy: one task each, which owns both sockets.
//!
//! Invariant: whatever ends one way of a connection but the end of its bytes ends both.

use super::pump::{End, pump};
use super::{Direction, Shared};
use crate::dice::Dice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// How long to wait if the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(10);

/// Bytes of a connection that was cut, read at once to be thrown away.
const REST: usize = 4_096;

/// Takes connections for as long as it is asked.
pub(super) async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("it does not block");
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(NO_ROOM).await;
            continue;
        };
        let number = shared.accepts.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(connect(client, number, Arc::clone(&shared)));
    }
}

/// One connection, from its beginning to its end.
async fn connect(mut client: TcpStream, number: u64, shared: Arc<Shared>) {
    let mut resets = shared.resets.subscribe();
    let Ok(mut server) = TcpStream::connect(shared.target).await else {
        // As the server itself would refuse it, only later.
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let pumped = tokio::select! {
        end = both(&mut client, &mut server, number, &shared) => end,
        _ = resets.changed() => End::Reset,
    };
    match pumped {
        End::Whole => {}
        End::Reset => {
            let _ = (client.set_zero_linger(), server.set_zero_linger());
        }
        End::Cut => {
            let _ = (client.shutdown().await, server.shutdown().await);
            // What is left unread would make a reset of the end, and take back what has passed.
            tokio::join!(throw_away(&client), throw_away(&server));
        }
    }
}

/// Passes bytes both ways until both have ended, or something ended them.
async fn both(client: &mut TcpStream, server: &mut TcpStream, number: u64, shared: &Shared) -> End {
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let dice = |direction: Direction| Dice::new(shared.seed + 2 * number + direction as u64);
    let way = |direction| (shared.way(direction).subscribe(), &shared.lost);
    let there = Direction::ToServer;
    let there = pump((from_client, to_server), way(there), dice(there));
    let back = Direction::ToClient;
    let back = pump((from_server, to_client), way(back), dice(back));
    match tokio::try_join!(there, back) {
        Ok(_) => End::Whole,
        Err(end) => end,
    }
}

/// Reads what comes until there is no more.
async fn throw_away(stream: &TcpStream) {
    let mut bytes = [0; REST];
    loop {
        match stream.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if stream.readable().await.is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
