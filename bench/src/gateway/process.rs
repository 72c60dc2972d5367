//! A proxy as a process on the core of servers, with the files that it needs.
//!
//! Invariant: it is asked to end, by its own number, and is over when its handle is dropped; its folder goes with it.

use crate::http::SERVER_CORE;
use std::collections::HashMap;
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How often a proxy is asked whether it is there or over, and how long between.
const TRIES: usize = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// Of `utime` and `stime`, on every Linux there is.
const TICKS_PER_SECOND: f64 = 100.0;

/// An address of loopback that nobody listens on.
pub fn free() -> Option<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()
}

/// A folder of its own, and an address that is free.
pub struct Place {
    folder: PathBuf,
    pub address: SocketAddr,
}

impl Place {
    pub fn new() -> Option<Place> {
        let address = free()?;
        let name = format!("ratekeeper-bench-{}-{}", std::process::id(), address.port());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).ok()?;
        Some(Place { folder, address })
    }

    /// Writes a file; its path, as arguments want it.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Option<String> {
        let path = self.folder.join(name);
        std::fs::write(&path, content).ok()?;
        Some(path.display().to_string())
    }

    pub fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// Starts a program, and waits until somebody listens and it has said what it is to say.
    pub fn start(self, program: &Path, args: &[&str], says: &str) -> Option<Running> {
        let said = self.folder.join("said");
        let log = File::create(&said).ok()?;
        // `taskset` becomes the program: this is its process.
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CORE]).arg(program).args(args).stdin(Stdio::null());
        let child = command.stdout(log.try_clone().ok()?).stderr(log).spawn().ok()?;
        let mut running = Running { child, place: self };
        let ready = (0..TRIES).find_map(|_| {
            sleep(PAUSE);
            if running.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Some(false);
            }
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            let listens = || TcpStream::connect(running.place.address).is_ok();
            (text.contains(says) && listens()).then_some(true)
        });
        if ready == Some(true) {
            return Some(running);
        }
        let text = std::fs::read_to_string(&said).unwrap_or_default();
        println!("({} did not start: {})\n", program.display(), text.trim());
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A proxy that runs.
pub struct Running {
    child: Child,
    place: Place,
}

impl Running {
    pub fn address(&self) -> SocketAddr {
        self.place.address
    }

    /// Seconds of the processor that it and its workers have used.
    pub fn processor_time(&self) -> f64 {
        let numbers = std::fs::read_dir("/proc").expect("this is Linux").flatten();
        let numbers = numbers.filter_map(|own| own.file_name().to_str()?.parse::<u32>().ok());
        let all: HashMap<u32, (u32, f64)> =
            numbers.filter_map(|number| Some((number, stat(number)?))).collect();
        let own = self.child.id();
        // Workers are children of it, and have none.
        let tree = all.iter().filter(|(number, (parent, _))| **number == own || *parent == own);
        tree.map(|(_, (_, ticks))| ticks).sum::<f64>() / TICKS_PER_SECOND
    }
}

/// Whose child a process is, and the ticks that it has used.
fn stat(process: u32) -> Option<(u32, f64)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; user and system time are fields 14 and 15.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((fields.get(1)?.parse().ok()?, ticks(11)? + ticks(12)?))
}

/// Asked first: nginx has to end its workers.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let ended = (0..TRIES).any(|_| {
            sleep(PAUSE);
            self.child.try_wait().is_ok_and(|ended| ended.is_some())
        });
        if !ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
