//! One connection of a Redis client, from its first byte to its end.
//!
//! Invariant: it holds at most one command more than is decided together, and the replies of those; a connection that
//! is quiet holds no buffer.

use super::frame::COMMAND_MAX;
use super::session::Session;
use super::{IDLE, Resp};
use crate::serve::Bounds;
use crate::socket::Socket;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until, timeout, timeout_at};

/// Bytes that are read at a time, until a client sends more.
const INPUT_USUAL: usize = 4 * 1024;

/// One connection.
pub(super) struct Connection {
    socket: Socket,
    bounds: Bounds,
    input: Input,
    output: Vec<u8>,
    session: Session,
    born: Instant,
    /// When the first piece of a command came that is not whole yet.
    begun: Option<Instant>,
    /// How often something has come, and how often it had when the alarm rang last.
    reads: u64,
    seen: u64,
    /// Rings while something comes, to see when nothing does any more: the time is not read for each command.
    alarm: Pin<Box<Sleep>>,
}

/// What has come, and was not understood yet.
#[derive(Default)]
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What became of waiting for more.
enum Read {
    /// Something has come.
    Some,
    /// Nothing has, for a while.
    Quiet,
    /// Nothing will.
    Over,
}

impl Connection {
    pub(super) fn new(socket: Socket, resp: Resp, bounds: Bounds) -> Connection {
        let now = Instant::now();
        let (alarm, session) = (Box::pin(sleep_until(now + bounds.rest)), Session::new(resp));
        let (input, output) = (Input::default(), Vec::new());
        let (born, begun, reads, seen) = (now, None, 0, 0);
        Connection { socket, bounds, input, output, session, born, begun, reads, seen, alarm }
    }

    /// Serves it until its client, a bound or `stopped` ends it.
    pub(super) async fn serve(mut self, mut stopped: watch::Receiver<()>) {
        let told = stopped.clone();
        let stop = async move { _ = stopped.changed().await };
        let mut stop = std::pin::pin!(stop);
        loop {
            self.input.make_room();
            match poll_fn(|context| self.poll_more(context, stop.as_mut())).await {
                Read::Some => {}
                Read::Over => return,
                Read::Quiet => {
                    (self.input, self.output) = (Input::default(), Vec::new());
                    self.session.rest();
                    let readable = timeout_at(self.ends(), self.socket.tcp().readable());
                    tokio::select! {
                        ready = readable => match ready {
                            Ok(Ok(())) => continue,
                            _ => return,
                        },
                        () = stop.as_mut() => return,
                    }
                }
            }
            if !self.answer().await || told.has_changed().is_ok_and(|is_over| is_over) {
                let _ = timeout(self.bounds.write, self.socket.shutdown()).await;
                return;
            }
            self.begun = match self.input.is_empty() {
                true => None,
                false => Some(self.begun.unwrap_or_else(Instant::now)),
            };
        }
    }

    /// When it ends, if nothing comes from now on.
    fn ends(&self) -> Instant {
        self.due().unwrap_or_else(|| Instant::now() + IDLE)
    }

    /// By when the client has to be done with what it has begun: saying who it is, or a command.
    fn due(&self) -> Option<Instant> {
        let since = if self.session.is_known() { self.begun } else { Some(self.born) };
        since.map(|since| since + self.bounds.header)
    }

    fn is_late(&self) -> bool {
        self.due().is_some_and(|due| Instant::now() >= due)
    }

    /// Reads what has come; in time, if nothing has, says so.
    fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<Read> {
        let mut into = ReadBuf::new(&mut self.input.bytes[self.input.end..]);
        if let Poll::Ready(read) = Pin::new(&mut self.socket).poll_read(context, &mut into) {
            let count = into.filled().len();
            self.input.end += count;
            self.reads += 1;
            let over = read.is_err() || count == 0 || self.is_late();
            return Poll::Ready(if over { Read::Over } else { Read::Some });
        }
        if stop.poll(context).is_ready() {
            return Poll::Ready(Read::Over);
        }
        while self.alarm.as_mut().poll(context).is_ready() {
            self.alarm.as_mut().reset(Instant::now() + self.bounds.rest);
            if self.is_late() {
                return Poll::Ready(Read::Over);
            }
            if self.seen == self.reads && self.input.is_empty() {
                return Poll::Ready(Read::Quiet);
            }
            self.seen = self.reads;
        }
        Poll::Pending
    }

    /// Answers all that was understood; whether the connection goes on.
    async fn answer(&mut self) -> bool {
        loop {
            let (on, more) = self.session.answer(&mut self.input, &mut self.output).await;
            if !self.output.is_empty() {
                let (socket, output) = (&mut self.socket, &self.output);
                let written = async {
                    socket.write_all(output).await?;
                    // Over TLS what was written may still be here.
                    socket.flush().await
                };
                let written = timeout(self.bounds.write, written).await;
                self.output.clear();
                if !matches!(written, Ok(Ok(()))) {
                    return false;
                }
            }
            if !on || !more {
                return on;
            }
        }
    }
}

impl Input {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Makes room for more: what is left goes to the front, and a command that fills all there is gets more.
    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.bytes.len() {
            let more = (2 * self.bytes.len()).clamp(INPUT_USUAL, COMMAND_MAX);
            self.bytes.resize(more.max(self.end), 0);
        }
    }
}
