//! One connection to one server: TCP, TLS where it is wanted, login; and calls that share it.
//!
//! Invariants: over TLS the server's certificate and name are checked, and nothing falls back to plain
//! text; dropped by all who have it, the connection is closed, whatever is under way.

mod reach;
mod repair;

#[cfg(feature = "redis-tls")]
pub(super) use reach::Stream;

use super::config::{Address, RedisConfig};
use super::error::StoreError;
use super::link::{CONNECT, IN_FLIGHT};
use reach::reach;
use redis::aio::{MultiplexedConnection, PubSub, PubSubStream};
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisResult, Value};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;

/// A connection that is shared: what is asked at the same time goes out together, and the answers come
/// back in order.
#[derive(Clone)]
pub(super) struct Connection {
    calls: MultiplexedConnection,
    place: Arc<str>,
    driver: Arc<Driver>,
    written: Arc<AtomicU64>,
}

/// The task that reads and writes.
struct Driver {
    alive: Arc<AtomicBool>,
    /// Whether this server has ever answered.
    answered: AtomicBool,
    task: AbortHandle,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Whether it was not lost yet.
    pub(super) fn is_alive(&self) -> bool {
        self.driver.alive.load(Ordering::Acquire)
    }

    /// How many bytes went out so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Makes a call and waits for its answer; `asking` if the key is on its way to this server.
    pub(super) async fn send(&mut self, command: &Cmd, asking: bool) -> Result<Value, StoreError> {
        let answer = self.exchange(command, asking).await;
        let fresh = !self.driver.answered.load(Ordering::Relaxed);
        let answer = answer.map_err(|error| repair::lost(&self.place, &error, fresh))?;
        if fresh {
            self.driver.answered.store(true, Ordering::Relaxed);
        }
        match answer {
            Value::ServerError(error) => Err(repair::answered(&self.place, &error)),
            value => Ok(value),
        }
    }

    async fn exchange(&mut self, command: &Cmd, asking: bool) -> RedisResult<Value> {
        if !asking {
            return self.calls.send_packed_command(command).await;
        }
        let mut both = redis::pipe();
        both.cmd("ASKING").add_command(command.clone());
        let answers = self.calls.send_packed_commands(&both, 0, 2).await?;
        Ok(answers.into_iter().nth(1).unwrap_or(Value::Nil))
    }
}

/// Connects to a server. Sentinels know neither our user nor our database.
pub(super) async fn open(
    config: &RedisConfig,
    address: &Address,
    login: bool,
) -> Result<Connection, StoreError> {
    let place: Arc<str> = config.at(address).into();
    let stream = reach(config, &place, address).await?;
    let who = who(config, login);
    #[cfg(feature = "redis-tls")]
    if config.tls {
        let stream = super::tls::wrap(config, address, stream).await?;
        return start(&place, &who, stream).await;
    }
    start(&place, &who, stream).await
}

/// Connects to a server to hear what is told on a channel.
pub(super) async fn subscribe(
    config: &RedisConfig,
    address: &Address,
    channel: &[u8],
) -> Result<PubSubStream, StoreError> {
    let place: Arc<str> = config.at(address).into();
    let stream = reach(config, &place, address).await?;
    let who = who(config, true);
    #[cfg(feature = "redis-tls")]
    let connected = match config.tls {
        true => PubSub::new(&who, super::tls::wrap(config, address, stream).await?).await,
        false => PubSub::new(&who, stream).await,
    };
    #[cfg(not(feature = "redis-tls"))]
    let connected = PubSub::new(&who, stream).await;
    let lost = |error| repair::lost(&place, &error, true);
    let mut heard = connected.map_err(lost)?;
    heard.subscribe(channel).await.map_err(lost)?;
    Ok(heard.into_on_message())
}

fn who(config: &RedisConfig, login: bool) -> RedisConnectionInfo {
    let mut who = RedisConnectionInfo::default().set_skip_set_lib_name();
    if login {
        who = who.set_db(i64::from(config.db));
        who = config.user.iter().fold(who, RedisConnectionInfo::set_username);
        who = config.password.iter().fold(who, RedisConnectionInfo::set_password);
    }
    who
}

async fn start<S>(
    place: &Arc<str>,
    who: &RedisConnectionInfo,
    stream: S,
) -> Result<Connection, StoreError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let written = Arc::new(AtomicU64::new(0));
    let stream = Counted { stream, written: Arc::clone(&written) };
    let options = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(None)
        .set_pipeline_buffer_size(IN_FLIGHT);
    let connected = MultiplexedConnection::new_with_config(who, stream, options).await;
    let (calls, work) = connected.map_err(|error| repair::lost(place, &error, true))?;
    let alive = Arc::new(AtomicBool::new(true));
    let lives = Arc::clone(&alive);
    let task = tokio::spawn(async move {
        work.await;
        lives.store(false, Ordering::Release);
    });
    let answered = AtomicBool::new(false);
    let driver = Arc::new(Driver { alive, answered, task: task.abort_handle() });
    Ok(Connection { calls, place: Arc::clone(place), driver, written })
}

/// A stream that counts what goes out, so that a call of which nothing did can be told from others.
struct Counted<S> {
    stream: S,
    written: Arc<AtomicU64>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &poll {
            self.written.fetch_add(*count as u64, Ordering::AcqRel);
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
