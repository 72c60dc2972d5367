//! The servers, each as a process on the core of servers.
//!
//! Invariant: a server ends with its handle.

use super::SERVER_CORE;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A server that runs.
pub struct Running {
    child: Child,
    pub address: SocketAddr,
    /// Its rules, for as long as it runs.
    file: Option<PathBuf>,
}

impl Running {
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.file.as_ref().map(std::fs::remove_file);
    }
}

/// Starts a program on a free port, and waits until it answers.
fn start(program: &Path, args: impl Fn(SocketAddr) -> Vec<String>) -> Option<Running> {
    let free = TcpListener::bind("127.0.0.1:0").ok()?;
    let address = free.local_addr().ok()?;
    drop(free);
    let mut command = Command::new("taskset");
    command.args(["-c", SERVER_CORE]).arg(program).args(args(address));
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running { child: quiet.spawn().ok()?, address, file: None };
    let answers = (0..250).any(|_| {
        sleep(Duration::from_millis(20));
        TcpStream::connect(address).is_ok()
    });
    answers.then_some(running)
}

/// A program that was built or installed below the repository, or is known to the shell.
pub fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let near = [built, Some(root.join("target"))].into_iter().flatten();
    let folders = ["release", "tools/bin", "tools/gateways/bin"];
    let near = near.flat_map(|own| folders.map(|folder| own.join(folder).join(name)));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let known = std::env::split_paths(&paths).map(|own| own.join(name)).collect::<Vec<_>>();
    near.chain(known).find(|path| path.is_file())
}

pub fn ratekeeper(store: Option<&str>) -> Option<Running> {
    let number = (std::process::id(), store.is_some());
    let file =
        std::env::temp_dir().join(format!("ratekeeper-bench-{}-{}.yaml", number.0, number.1));
    let rules =
        "memory: {keys: 2000000}\nrules: [{id: api, key: user, limit: 1000/hour burst 100000}]\n";
    std::fs::write(&file, rules).ok()?;
    let path = file.display().to_string();
    let mut running = start(&find("ratekeeper")?, |address| {
        let words = ["serve", "--config", &path, "--log-level", "off", "--listen"];
        let mut args: Vec<String> = words.map(str::to_owned).to_vec();
        args.push(address.to_string());
        if let Some(store) = store {
            args.extend(["--store".to_owned(), store.to_owned()]);
        }
        args
    })?;
    running.file = Some(file);
    Some(running)
}

pub fn throttlecrab() -> Option<Running> {
    start(&find("throttlecrab-server")?, |address| {
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let words = ["--http", "--http-host", &host, "--http-port", &port, "--store", "periodic"];
        words.map(str::to_owned).to_vec()
    })
}

pub fn hello() -> Option<Running> {
    let program = std::env::current_exe().ok()?;
    start(&program, |address| vec!["hello-on".into(), address.to_string()])
}

/// A server that says hello, on one thread.
pub fn say_hello(address: &str) {
    use http_body_util::Full;
    use hyper::body::Bytes;
    use hyper::{Request, Response, body::Incoming};

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives a runtime").block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.expect("the port is free");
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let hello = hyper::service::service_fn(|_: Request<Incoming>| async {
                Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from("hello"))))
            });
            let io = hyper_util::rt::TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, hello));
        }
    });
}
