//! Sentinels: who knows where the master is.
//!
//! Invariant: they are asked whenever a connection is made, so a failover is found when the old master
//! is lost or says that it is a replica.

use super::config::{Address, RedisConfig};
use super::connect::open;
use super::error::{Class, StoreError};
use futures_util::future::select_ok;
use redis::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How long one sentinel may take: one that hangs must not keep us from the others.
const ASK: Duration = Duration::from_millis(300);

/// Asks all sentinels for the address of the master, and takes the first answer.
pub(super) async fn master(config: &RedisConfig, name: &str) -> Result<Address, StoreError> {
    let asked = config.addresses.iter().map(|at| {
        Box::pin(async move {
            let late =
                |_| Err(StoreError::new(&config.at(at), Class::Timeout, "did not answer in time"));
            timeout(ASK, ask(config, at, name)).await.unwrap_or_else(late)
        })
    });
    select_ok(asked).await.map(|(address, _)| address)
}

async fn ask(config: &RedisConfig, at: &Address, name: &str) -> Result<Address, StoreError> {
    let place = config.at(at);
    let mut connection = open(config, at, false).await?;
    let mut command = redis::cmd("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let answer = connection.send(&command, false).await?;
    let fault = |text: String| Err(StoreError::new(&place, Class::Unavailable, text));
    let Value::Array(parts) = answer else {
        return fault(format!("knows no master named `{name}`; check the name in the URL"));
    };
    match &parts[..] {
        [Value::BulkString(host), Value::BulkString(port)] => {
            let (host, port) = (String::from_utf8_lossy(host), String::from_utf8_lossy(port));
            match port.parse() {
                Ok(port) => Ok(Address { host: host.into_owned(), port }),
                Err(_) => fault("told a port that is no number".into()),
            }
        }
        _ => fault("told no address of the master".into()),
    }
}
