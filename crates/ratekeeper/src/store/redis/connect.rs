//! One connection to one server: TCP, TLS where it is wanted, login; and calls that share it.
//!
//! Invariants: over TLS the server's certificate and name are checked, and nothing falls back to plain
//! text; dropped by all who have it, the connection is closed, whatever is under way.

use super::config::{Address, RedisConfig};
use super::error::{Class, StoreError};
use super::link::{CONNECT, IN_FLIGHT};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisError, RedisResult, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// A connection that is shared: what is asked at the same time goes out together, and the answers come
/// back in order.
#[derive(Clone)]
pub(super) struct Connection {
    calls: MultiplexedConnection,
    place: Arc<str>,
    driver: Arc<Driver>,
}

/// The task that reads and writes.
struct Driver {
    alive: Arc<AtomicBool>,
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

    /// Makes a call and waits for its answer; `asking` if the key is on its way to this server.
    pub(super) async fn send(&mut self, command: &Cmd, asking: bool) -> Result<Value, StoreError> {
        match self.exchange(command, asking).await {
            Ok(Value::ServerError(error)) => {
                let (code, detail) = (error.code(), error.details().unwrap_or_default());
                let class = Class::of_reply(code, detail);
                Err(StoreError::new(&self.place, class, format!("{code} {detail}")))
            }
            Ok(value) => Ok(value),
            Err(error) => Err(fault(&self.place, &error)),
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
    let lost = |error: std::io::Error| StoreError::new(&place, Class::Connection, describe(&error));
    let stream = TcpStream::connect((&*address.host, address.port)).await.map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    let mut who = RedisConnectionInfo::default().set_skip_set_lib_name();
    if login {
        who = who.set_db(i64::from(config.db));
        who = config.user.iter().fold(who, |who, user| who.set_username(user));
        who = config.password.iter().fold(who, |who, password| who.set_password(password));
    }
    #[cfg(feature = "redis-tls")]
    if config.tls {
        let stream = super::tls::wrap(config, address, stream).await?;
        return start(&place, &who, stream).await;
    }
    start(&place, &who, stream).await
}

async fn start<S>(
    place: &Arc<str>,
    who: &RedisConnectionInfo,
    stream: S,
) -> Result<Connection, StoreError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(None)
        .set_pipeline_buffer_size(IN_FLIGHT);
    let connected = MultiplexedConnection::new_with_config(who, stream, options).await;
    let (calls, work) = connected.map_err(|error| fault(place, &error))?;
    let alive = Arc::new(AtomicBool::new(true));
    let lives = Arc::clone(&alive);
    let task = tokio::spawn(async move {
        work.await;
        lives.store(false, Ordering::Release);
    });
    let driver = Arc::new(Driver { alive, task: task.abort_handle() });
    Ok(Connection { calls, place: Arc::clone(place), driver })
}

/// What went wrong with a connection, and where it can be told, how to mend it.
fn fault(place: &str, error: &RedisError) -> StoreError {
    use redis::ErrorKind;
    let (code, detail) = (error.code().unwrap_or_default(), error.detail().unwrap_or_default());
    let class = match error.kind() {
        ErrorKind::AuthenticationFailed => Class::Denied,
        ErrorKind::Parse => Class::Alien,
        ErrorKind::Server(_) | ErrorKind::Extension => Class::of_reply(code, detail),
        _ => Class::Connection,
    };
    let repair = match class {
        Class::Denied => "; check user and password",
        Class::Alien => "; is this a Redis server?",
        _ => "",
    };
    StoreError::new(place, class, format!("{error}{repair}"))
}

fn describe(error: &std::io::Error) -> String {
    let repair = match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "; is the server running, and is this its port?",
        _ => "",
    };
    format!("{error}{repair}")
}
