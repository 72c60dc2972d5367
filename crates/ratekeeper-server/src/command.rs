//! The commands, one file each, and how they end.
//!
//! Invariant: whatever happens ends in an exit code: 0 for done and allowed, 1 for refused, 2 for an
//! error, which is told once, on stderr, with its place, fault and repair.

mod api_key;
mod ask;
mod audit;
mod banner;
mod check;
mod explain;
mod doors;
mod gateway;
mod init;
mod key;
mod listeners;
mod notify;
mod remote;
mod rules;
mod serve;
mod signals;
mod store;
mod switch;
mod validate;
mod why;

pub(crate) use explain::text::json as explained;

use crate::args::{ApiKey, Args, Command};
use crate::config::{Fault, Faults};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use tokio::runtime::Runtime;

/// Runs what the command line says.
pub fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Init(init) => init::run(&init),
        Command::Check(check) => check::run(&check),
        Command::Validate(validate) => validate::run(&validate),
        Command::Explain(explain) => explain::run(&explain),
        Command::ApiKey(ApiKey::New(new)) => api_key::run(&new),
        Command::Key(key) => key::run(&key),
        Command::Why(why) => why::run(&why),
        Command::Rules(rules) => rules::run(&rules),
        Command::Switch(switch) => switch::run(&switch),
        Command::Audit(audit) => audit::run(&audit),
    };
    done.unwrap_or_else(|failure| {
        // Nobody is left to tell if stderr is closed.
        let _ = writeln!(io::stderr(), "{failure}");
        ExitCode::from(2)
    })
}

/// Why a command cannot do its work: place, fault and repair, for the one who typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    One(String),
    /// What is wrong with rule files, each on a line that editors and people know how to read.
    Files(Vec<String>),
}

impl Failure {
    fn new(text: impl Into<String>) -> Failure {
        Failure::One(text.into())
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Failure {
        Failure::Files(faults.lines())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Faults::from(fault).into()
    }
}

/// Text that came over the wire, or from a file, is shown without what could steer a terminal.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::One(text) => write!(f, "error: {}", plain(text)),
            Failure::Files(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The runtime of a command, started by `build`.
fn runtime(build: io::Result<Runtime>) -> Result<Runtime, Failure> {
    build.map_err(|error| {
        Failure::new(format!("cannot start threads: {error}; raise the limits of this user"))
    })
}
