//! Other programs, run to their end.
//!
//! Invariant: a program that does not end by itself is ended after [`SECONDS`], and that is a failure.

use crate::server::Server;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long a program may run.
const SECONDS: &str = "60";

/// What a program has said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// What it said, if it ended well and complained of nothing.
    pub(crate) fn lines(&self) -> Vec<&str> {
        assert!(self.code == Some(0) && self.err.is_empty(), "{self:?}");
        self.out.lines().collect()
    }
}

/// A program that will not run for ever.
pub(crate) fn bounded(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.arg(SECONDS).arg(program.as_ref()).env_remove("REDISCLI_AUTH");
    command
}

/// Runs it to its end, with this as its input.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let code = output.status.code();
    assert!(
        !matches!(code, Some(124..=127)),
        "{command:?}: {output:?}; `./test clients` installs what the tests need"
    );
    let [out, err] = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    Said { code, out, err }
}

/// `redis-cli`, at a server.
pub(crate) fn cli(server: &Server, args: &[&str]) -> Said {
    batch(server, args, b"")
}

/// `redis-cli` that reads its commands.
pub(crate) fn batch(server: &Server, args: &[&str], input: &[u8]) -> Said {
    let mut command = bounded("redis-cli");
    command.args(["-p", &server.port.to_string()]).args(args).current_dir(&server.folder);
    run(&mut command, input)
}

/// What `./test clients` has installed.
pub(crate) fn tools() -> PathBuf {
    root().join("target/tools/clients")
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
