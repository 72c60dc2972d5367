//! The thread that writes the log, and the queue before it.
//!
//! Invariant: whoever has a line never waits: if the queue is full, the line is left out, and how many were
//! is written as soon as there is room.

use super::Format;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// Lines on their way at most.
pub const LINES_MAX: usize = 1_024;

/// How long the end of a process waits for what is on its way.
const LAST_LINES: Duration = Duration::from_millis(500);

enum Message {
    Line(Vec<u8>),
    /// Everything before it is to be written; says so then.
    Last(SyncSender<()>),
}

/// The log's thread. Dropped, it writes what is on its way.
#[derive(Debug)]
pub struct Writer {
    lines: Lines,
    /// Never waited for: what it writes to may have stopped reading.
    _thread: JoinHandle<()>,
}

/// Where lines go.
#[derive(Clone, Debug)]
pub struct Lines {
    queue: SyncSender<Message>,
    left_out: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(to: impl Write + Send + 'static, format: Format) -> io::Result<Writer> {
        Writer::with_room(LINES_MAX, to, format)
    }

    /// The same, with so many lines on their way at most.
    pub fn with_room(
        lines: usize,
        to: impl Write + Send + 'static,
        format: Format,
    ) -> io::Result<Writer> {
        let (queue, messages) = sync_channel(lines);
        let left_out = Arc::new(AtomicU64::new(0));
        let lines = Lines { queue, left_out: Arc::clone(&left_out) };
        let thread = thread::Builder::new().name("log".into());
        let _thread = thread.spawn(move || write(to, format, &messages, &left_out))?;
        Ok(Writer { lines, _thread })
    }

    /// Where lines go.
    pub fn lines(&self) -> Lines {
        self.lines.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let (done, is_done) = sync_channel(1);
        // If there is no room for this either, nobody reads the log.
        if self.lines.queue.try_send(Message::Last(done)).is_ok() {
            let _ = is_done.recv_timeout(LAST_LINES);
        }
    }
}

fn write(mut to: impl Write, format: Format, messages: &Receiver<Message>, left_out: &AtomicU64) {
    for message in messages {
        match message {
            // The log goes on without anyone to read it.
            Message::Line(line) => _ = to.write_all(&line),
            Message::Last(done) => _ = (to.flush(), done.try_send(())),
        }
        let missing = left_out.swap(0, Ordering::Relaxed);
        if missing > 0 {
            let text = "log lines left out";
            let _ = match format {
                Format::Human => writeln!(to, "WARN {text} count={missing}"),
                Format::Json => {
                    writeln!(to, r#"{{"level":"WARN","message":"{text}","count":{missing}}}"#)
                }
            };
        }
    }
}

impl Lines {
    /// Sends a line on its way, unless there are too many.
    pub(crate) fn send(&self, line: Vec<u8>) {
        if self.queue.try_send(Message::Line(line)).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    /// A line in the making; it is sent when it is dropped.
    fn make_writer(&'a self) -> Line<'a> {
        Line { lines: self, text: Vec::new() }
    }
}

/// A line in the making.
#[derive(Debug)]
pub struct Line<'a> {
    lines: &'a Lines,
    text: Vec<u8>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.lines.send(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A pipe whose reader has stopped until it is told to go on.
    #[derive(Clone, Default)]
    struct Stuck(Arc<Mutex<Vec<u8>>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Goal: a log that nobody reads holds nobody up, and tells later how much is missing.
    /// Method: hold what the thread writes to, and log three times as many lines as the queue has room for;
    /// let it go, and count what was written and what was told to be missing.
    #[test]
    fn a_log_that_is_stuck_holds_nobody_up() {
        let pipe = Stuck::default();
        let writer = Writer::start(pipe.clone(), Format::Json).unwrap();
        let lines = writer.lines();
        let stuck = pipe.0.lock().unwrap();
        for _ in 0..3 * LINES_MAX {
            writeln!(lines.make_writer(), "line").unwrap();
        }
        drop(stuck);
        // There is room again after a while; then the rest is written, too.
        while lines.queue.try_send(Message::Line(b"last\n".to_vec())).is_err() {
            thread::yield_now();
        }
        // Where nothing is left in the queue, there is room for what ends it.
        let has_last = || pipe.0.lock().unwrap().windows(5).any(|own| own == b"last\n");
        for _ in 0..10_000 {
            if has_last() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        drop(writer);
        let text = String::from_utf8(pipe.0.lock().unwrap().clone()).unwrap();
        let written = text.lines().filter(|line| *line == "line").count();
        let missing: usize = text
            .lines()
            .filter_map(|line| {
                line.split_once(r#""count":"#)?.1.strip_suffix('}')?.parse::<usize>().ok()
            })
            .sum();
        assert!(written >= LINES_MAX, "{written} lines");
        assert_eq!(written + missing, 3 * LINES_MAX);
    }
}
