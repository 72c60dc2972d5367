//! h2load, and what it tells.
//!
//! Invariant: all that was sent was answered, with a status of 200 and a message: an error of gRPC
//! has that status, too, but no message.

use super::programs::Service;
use std::process::Command;

/// What comes before each message of gRPC: whether it is compressed, and its length.
pub const PREFIX: usize = 5;

/// How much is asked by how many.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub requests: usize,
    pub connections: usize,
    /// Requests under way at a time, on each.
    pub streams: usize,
}

impl Load {
    /// Requests in a second.
    pub fn run(self, service: &Service) -> f64 {
        // On the core of this process, which is that of the load.
        let mut command = Command::new("h2load");
        let numbers = [("-n", self.requests), ("-c", self.connections), ("-m", self.streams)];
        for (name, number) in numbers {
            command.args([name, &number.to_string()]);
        }
        command.args(["-H", "content-type: application/grpc", "-H", "te: trailers"]);
        let url = format!("http://{}{}", service.running.address(), service.path);
        let output = command.args(["-d", &service.body, &url]).output().expect("h2load is there");
        let said = String::from_utf8_lossy(&output.stdout);
        let rate = self.read(&said).filter(|_| output.status.success());
        rate.unwrap_or_else(|| {
            panic!("h2load failed at {url}: {said}{}", String::from_utf8_lossy(&output.stderr))
        })
    }

    /// The rate, if all went well.
    fn read(self, said: &str) -> Option<f64> {
        let line = |start: &str| said.lines().find_map(|line| line.strip_prefix(start));
        let rate = line("finished in ")?.split(", ").find_map(|part| part.strip_suffix(" req/s"));
        let good = line("status codes: ")?.split(", ").find_map(|part| part.strip_suffix(" 2xx"));
        // As in `185.55KB (190000) data`.
        let data = line("traffic: ")?.split(", ").find_map(|part| part.strip_suffix(") data"));
        let data = data?.rsplit_once('(')?.1.parse::<usize>().ok()?;
        let well = good?.trim().parse() == Ok(self.requests) && data > self.requests * PREFIX;
        rate?.parse().ok().filter(|_| well)
    }
}
