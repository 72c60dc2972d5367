//! The program as a process, with a folder of its own.
//!
//! Invariant: it is over when the value is dropped, and its folder is gone unless the test failed. It holds
//! nothing that it would have to put away first, so it is not asked.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How long something may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Server {
    process: Option<Child>,
    api: u16,
    /// Where Redis clients are answered.
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
}

impl Server {
    /// With these rules, in plain text and without a password.
    pub(crate) fn new(rules: &str) -> Server {
        Server::of(&format!("listen: {{resp: 127.0.0.1:0}}\n{rules}\n"), &[])
    }

    /// With this file as its configuration, and others beside it.
    pub(crate) fn of(config: &str, files: &[(&str, &str)]) -> Server {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ratekeeper-clients-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files.iter().chain(&[("ratekeeper.yaml", config)]) {
            fs::write(folder.join(name), text).unwrap();
        }
        let mut server = Server { process: None, api: 0, port: 0, folder };
        server.process = Some(serve(&server.folder));
        let said = wait_for("the program listens", || server.banner());
        server.api = port(&said, "listening on ").unwrap();
        server.port = port(&said, "resp ").unwrap();
        server
    }

    /// What it has said, once that is all.
    pub(crate) fn banner(&mut self) -> Option<String> {
        let said = fs::read_to_string(self.folder.join("said")).unwrap();
        let process = self.process.as_mut().unwrap();
        assert!(process.try_wait().unwrap().is_none(), "it ended: {said}");
        said.contains("\nTry, in another terminal:\n").then_some(said)
    }

    /// What its check API answers at a path, header and body.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.api)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }
}

/// The folder that cargo builds into, as far as this profile goes.
pub(crate) fn built() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

fn serve(folder: &Path) -> Child {
    let path = built().join("ratekeeper");
    assert!(path.exists(), "{}: build it first: cargo build -p ratekeeper-server", path.display());
    let mut serve = Command::new(path);
    for name in ["CONFIG", "LISTEN", "STORE", "TOKEN_FILE", "LOG_FORMAT", "LOG_LEVEL"] {
        serve.env_remove(format!("RATEKEEPER_{name}"));
    }
    let said = File::create(folder.join("said")).unwrap();
    serve
        .args(["serve", "--config", "ratekeeper.yaml", "--listen", "127.0.0.1:0"])
        .current_dir(folder);
    serve.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap()
}

/// The port of the line that begins like this.
fn port(said: &str, start: &str) -> Option<u16> {
    let line = said.lines().find(|line| line.starts_with(start))?;
    line.rsplit(':').next()?.parse().ok()
}

/// Waits until there is something, and panics if there is not in time.
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if let Some(found) = found() {
            return found;
        }
        sleep(PAUSE);
    }
    panic!("{what}: not within {PATIENCE:?}");
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
