//! The built program as a process.
//!
//! Invariant: only processes started here are signalled, by their own id, and each ends with its value.

use crate::wire::DEADLINE;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Where the built program is.
pub(crate) const PATH: &str = env!("CARGO_BIN_EXE_ratekeeper");

/// Lines that a process may be ahead of the test.
const LINES_MAX: usize = 1_000;

/// The program, with no settings from the environment of the tests.
pub(crate) fn command() -> Command {
    clean(Command::new(PATH))
}

/// The command without the program's settings in its environment.
pub(crate) fn clean(mut command: Command) -> Command {
    for name in ["CONFIG", "LISTEN", "STORE", "URL", "TOKEN_FILE", "LOG_FORMAT", "LOG_LEVEL"] {
        command.env_remove(format!("RATEKEEPER_{name}"));
    }
    command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT").stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn output(args: &[&str]) -> Output {
    command().args(args).output().expect("the program runs")
}

/// A server as a process.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
    /// What it said up to the lines to try.
    pub(crate) banner: Vec<String>,
    /// What it says after that, unless nobody listens.
    out: Option<BufReader<ChildStdout>>,
    pub(crate) err: Receiver<String>,
}

impl Program {
    /// `ratekeeper serve` on a free port.
    pub(crate) fn serve() -> Program {
        let mut serve = command();
        serve.args(["serve", "--listen", "127.0.0.1:0"]);
        Program::start(serve)
    }

    /// A command that serves; returns once it has said where.
    pub(crate) fn start(mut command: Command) -> Program {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the program starts");
        let out = child.stdout.take().expect("stdout is piped");
        let err = lines(child.stderr.take().expect("stderr is piped"));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        // From here on the child ends with this value, whatever follows.
        let mut program = Program { child, address, banner: Vec::new(), out: None, err };
        let (sender, receiver) = sync_channel(1);
        spawn(move || sender.send(read_banner(out)));
        let (banner, out) = receiver.recv_timeout(DEADLINE).expect("it speaks before the deadline");
        let listening = banner.iter().find_map(|line| line.strip_prefix("listening on  http://"));
        let address = listening.and_then(|address| address.parse().ok());
        let errors = || program.err.try_iter().collect::<Vec<String>>();
        assert!(address.is_some(), "no address in {banner:?}, {:?}", errors());
        program.address = address.unwrap_or(program.address);
        (program.banner, program.out) = (banner, Some(out));
        program
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by name.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &script]).status().expect("a shell runs");
        assert!(status.success(), "the signal is sent");
    }

    /// Closes the pipe that it speaks into.
    pub(crate) fn close_output(&mut self) {
        self.out = None;
    }

    /// What it still says until it ends.
    pub(crate) fn last_words(&mut self) -> String {
        let mut words = String::new();
        let read = self.out.as_mut().map(|out| out.read_to_string(&mut words));
        read.transpose().expect("it speaks UTF-8");
        words
    }

    /// Hundredths of a second that it has computed for, where the system tells.
    pub(crate) fn computed(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        // After the name in parentheses: the state, ten numbers, then user and system time.
        let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        times.filter_map(|time| time.parse::<u64>().ok()).sum()
    }

    /// How it ended, if it did before the deadline.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        poll(|| self.child.try_wait().expect("the child can be asked"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines up to the last one to try, and the pipe for what follows.
fn read_banner(out: ChildStdout) -> (Vec<String>, BufReader<ChildStdout>) {
    let (mut banner, mut out) = (Vec::<String>::new(), BufReader::new(out));
    while !banner.last().is_some_and(|line| line.trim_start().starts_with("curl ")) {
        let mut line = String::new();
        if out.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        banner.push(line.trim_end().to_owned());
    }
    (banner, out)
}

/// The lines of a pipe as they come.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(LINES_MAX);
    spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Asks until there is an answer, or the deadline has passed.
pub(crate) fn poll<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let pause = Duration::from_millis(10);
    for _ in 0..DEADLINE.as_millis() / pause.as_millis() {
        let found = ask();
        if found.is_some() {
            return found;
        }
        sleep(pause);
    }
    None
}

/// Waits until nobody listens on the address.
pub(crate) fn closes(address: SocketAddr) -> bool {
    poll(|| TcpStream::connect(address).is_err().then_some(())).is_some()
}
