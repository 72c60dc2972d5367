//! The peers: a token bucket as tutorials write it, in a hash of two fields.

use super::server::Server;
use super::{AT_ONCE, PEERS};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Connection, Pipeline};
use std::sync::Mutex;
use tokio::sync::Semaphore;

/// What a bucket holds, here and for ratekeeper; one comes back in an hour.
pub const CAPACITY: u64 = 10_000;
const PER_SECOND: f64 = 1.0 / 3600.0;

/// Connections of those who have one to themselves while they ask.
const CONNECTIONS: usize = 50;

/// As many calls may be under way in one connection as for ratekeeper.
const IN_FLIGHT: usize = 1_024;

const SCRIPT: &str = "
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local requested = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'ts')
local tokens = tonumber(bucket[1]) or capacity
local ts = tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - ts) * rate)
local allowed = tokens >= requested
if allowed then
  tokens = tokens - requested
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'ts', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / rate))
return { allowed and 1 or 0, math.floor(tokens) }
";

/// The name of a key, as long as those of ratekeeper.
pub fn name(key: &str) -> String {
    format!("ratelimit:{key}")
}

/// The hash by which the server knows the script.
pub fn load(server: &Server) -> String {
    let mut connection = server.connection(PEERS);
    redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query(&mut connection).expect("it is a script")
}

fn call(hash: &str, name: &str) -> Cmd {
    let mut call = redis::cmd("EVALSHA");
    call.arg(hash).arg(1).arg(name).arg(CAPACITY).arg(PER_SECOND).arg(1);
    call
}

async fn decide(connection: &mut MultiplexedConnection, hash: &str, name: &str) -> bool {
    let answer = call(hash, name).query_async::<(i64, i64)>(connection).await;
    answer.is_ok()
}

async fn connect(server: &Server) -> MultiplexedConnection {
    let options = AsyncConnectionConfig::new().set_pipeline_buffer_size(IN_FLIGHT);
    let client = server.client(PEERS);
    let connection = client.get_multiplexed_async_connection_with_config(&options).await;
    connection.expect("the server is there")
}

/// Whoever asks waits for a connection, and has it until the answer is there.
pub struct Pooled {
    hash: String,
    free: Mutex<Vec<MultiplexedConnection>>,
    room: Semaphore,
}

impl Pooled {
    pub async fn new(server: &Server) -> Pooled {
        let mut free = Vec::new();
        for _ in 0..CONNECTIONS {
            free.push(connect(server).await);
        }
        let room = Semaphore::new(CONNECTIONS);
        Pooled { hash: load(server), free: Mutex::new(free), room }
    }

    pub async fn decide(&self, name: &str) -> bool {
        let Ok(_room) = self.room.acquire().await else { return false };
        let free = self.free.lock().expect("no panics").pop();
        let mut connection = free.expect("there is one for everybody in the room");
        let answer = decide(&mut connection, &self.hash, name).await;
        self.free.lock().expect("no panics").push(connection);
        answer
    }
}

/// All ask over one connection: what is asked at the same time goes out together.
pub struct Pipelined {
    hash: String,
    connection: MultiplexedConnection,
}

impl Pipelined {
    pub async fn new(server: &Server) -> Pipelined {
        Pipelined { hash: load(server), connection: connect(server).await }
    }

    pub async fn decide(&self, name: &str) -> bool {
        decide(&mut self.connection.clone(), &self.hash, name).await
    }
}

/// Adds the commands of every key, many at a time.
pub fn fill(connection: &mut Connection, keys: &[String], add: impl Fn(&mut Pipeline, &str)) {
    for part in keys.chunks(AT_ONCE) {
        let mut pipeline = redis::pipe();
        part.iter().for_each(|key| add(&mut pipeline, key));
        pipeline.exec(connection).expect("the server does as it is told");
    }
}

/// A bucket for every key.
pub fn fill_buckets(server: &Server, keys: &[String]) {
    let hash = load(server);
    fill(&mut server.connection(PEERS), keys, |pipeline, key| {
        pipeline.add_command(call(&hash, &name(key)));
    });
}
