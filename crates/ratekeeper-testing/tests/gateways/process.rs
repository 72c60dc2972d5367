//! A program that a test has started.
//!
//! Invariant: it is asked to end, by its own number, and is over when its handle is dropped.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How long a program may take to end by itself.
const ENDS: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Process(Child);

impl Process {
    /// Starts it; what it says goes to a file.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Process {
        let log = File::create(log).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let started = command.spawn();
        Process(started.unwrap_or_else(|error| {
            panic!("{command:?}: {error}; `./test gateways` installs what the tests need")
        }))
    }

    /// Whether it has ended by itself.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

/// Asked first: nginx has to end its workers.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        for _ in 0..ENDS.as_millis() / PAUSE.as_millis() {
            if self.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            sleep(PAUSE);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
