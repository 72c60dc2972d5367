//! The Rust of docs/redis-clients.md, as a program.
//!
//! Invariant: all that follows is on the page, letter by letter.

use redis::{Client, RedisResult, cmd};

// allowed, limit, remaining, retry_ms, reset_ms, delay_ms, source, permit
type Reply = (i64, i64, i64, i64, i64, i64, String, Option<String>);

fn main() -> RedisResult<()> {
    let url = std::env::args().nth(1).unwrap_or("redis://127.0.0.1:6380".into());
    let mut server = Client::open(url)?.get_connection()?;
    let reply: Reply = cmd("RK.CHECK").arg("api").arg("ann").query(&mut server)?;
    match reply {
        (1, _, left, ..) => println!("allowed, {left} left"),
        (_, _, _, wait, ..) => println!("refused, again in {wait} ms"),
    }
    Ok(())
}
