//! Redis' protocol: `RK.CHECK`, over a socket.

use super::{Door, Rules, Said, Step, Time};
use ratekeeper::ManualClock;
use ratekeeper_server::door::resp::{self, Resp as Server};
use ratekeeper_server::serve::Bounds;
use std::future::pending;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The door.
pub struct Resp {
    clock: ManualClock,
    stream: BufReader<TcpStream>,
}

impl Resp {
    /// By these rules.
    pub async fn new(rules: &Rules) -> Resp {
        let (app, clock) = rules.app("");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let server = Server { app, password: None };
        tokio::spawn(resp::run(listener, server, Bounds::default(), |_| true, pending()));
        let stream = TcpStream::connect(address).await.expect("the server accepts");
        Resp { clock, stream: BufReader::new(stream) }
    }

    /// A line of a reply, without what ends it.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("a line");
        line.trim_end().to_owned()
    }

    /// A number.
    async fn number(&mut self) -> i64 {
        let line = self.line().await;
        let number = line.strip_prefix(':').and_then(|own| own.parse().ok());
        assert!(number.is_some(), "{line} is no number");
        number.unwrap_or_default()
    }
}

impl Door for Resp {
    fn name(&self) -> &'static str {
        "Redis' protocol"
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    async fn ask(&mut self, step: &Step) -> Said {
        let command = format!("RK.CHECK r {} COST {}\r\n", step.who, step.cost);
        self.stream.write_all(command.as_bytes()).await.expect("the server reads");
        assert_eq!(self.line().await, "*8");
        let mut figures = [0; 6];
        for figure in &mut figures {
            *figure = self.number().await;
        }
        let [allowed, limit, remaining, retry, reset, delay] = figures;
        assert_eq!((&*self.line().await, &*self.line().await), ("$5", "store"));
        assert_eq!(self.line().await, "$-1", "there is no permit");
        let known = |value: i64| u64::try_from(value).ok();
        let millis = |value: i64| known(value).map_or(Time::None, Time::Millis);
        let (retry, reset) = (if retry == -2 { Time::Never } else { millis(retry) }, millis(reset));
        let (limit, remaining) = (known(limit), known(remaining));
        Said { allowed: allowed == 1, limit, remaining, retry, reset, delay: millis(delay) }
    }
}

/// The reader is asked for whole lines alone, so nothing is left over.
impl Drop for Resp {
    fn drop(&mut self) {
        assert!(self.stream.buffer().is_empty() || std::thread::panicking());
    }
}
