//! Gateways, as `examples/` sets them up.
//!
//! Invariant: the files are taken as they are; only ports are others, and for `Closed` the lines that the
//! file itself says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gateway {
    Nginx,
    Caddy,
    Traefik,
    Haproxy,
    Envoy,
}

/// What happens while the program is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Requests pass, as the file is.
    Open,
    /// Requests are refused, with the changes that the file names.
    Closed,
}

/// Ports of a test instead of those in the files.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    /// Where the gateway listens: 8000.
    pub(crate) gateway: u16,
    /// What the gateway needs for itself: 8001.
    pub(crate) inner: u16,
    /// The program: 8080.
    pub(crate) program: u16,
    /// The application: 9000.
    pub(crate) upstream: u16,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

impl Gateway {
    fn name(self) -> &'static str {
        match self {
            Gateway::Nginx => "nginx",
            Gateway::Caddy => "caddy",
            Gateway::Traefik => "traefik",
            Gateway::Haproxy => "haproxy",
            Gateway::Envoy => "envoy",
        }
    }

    /// Whether what passes carries figures to the client: Traefik cannot do it.
    pub(crate) fn tells_figures(self) -> bool {
        self != Gateway::Traefik
    }

    /// Whether clients on loopback are told apart: Envoy writes its own address for all of them.
    pub(crate) fn tells_clients_apart(self) -> bool {
        self != Gateway::Envoy
    }

    /// Writes its files into a folder.
    pub(crate) fn write(self, folder: &Path, mode: Mode, ports: Ports) {
        let examples = root().join("examples").join(self.name());
        for entry in fs::read_dir(&examples).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let text = if mode == Mode::Closed { closed(&text) } else { text };
            fs::write(folder.join(path.file_name().unwrap()), ports.put_into(&text)).unwrap();
        }
    }

    /// Runs it in the folder of its files.
    pub(crate) fn command(self, folder: &Path) -> Command {
        let mut command = Command::new(self.program());
        match self {
            Gateway::Nginx => {
                fs::create_dir_all(folder.join("run")).unwrap();
                let file = folder.join("nginx.conf");
                command.arg("-p").arg(folder.join("run")).arg("-c").arg(file);
                command.args(["-g", "daemon off;"]);
            }
            Gateway::Caddy => {
                command.args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"]);
                command
                    .env("HOME", folder)
                    .env_remove("XDG_CONFIG_HOME")
                    .env_remove("XDG_DATA_HOME");
            }
            Gateway::Traefik => drop(command.arg("--configFile=traefik.yaml")),
            Gateway::Haproxy => drop(command.args(["-db", "-f", "haproxy.cfg"])),
            Gateway::Envoy => {
                command.args(["-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1"]);
            }
        }
        command.current_dir(folder);
        command
    }

    /// Of the system, or where `./test gateways` has put it.
    fn program(self) -> PathBuf {
        match self {
            Gateway::Nginx | Gateway::Haproxy => {
                let system = Path::new("/usr/sbin").join(self.name());
                if system.exists() { system } else { self.name().into() }
            }
            Gateway::Caddy | Gateway::Traefik | Gateway::Envoy => {
                root().join("target/tools/gateways/bin").join(self.name())
            }
        }
    }
}

/// Does what the head of each file says: deletes lines that end in `# open`, and takes `#closed:` from
/// those that begin with it.
fn closed(text: &str) -> String {
    let each = text.lines().filter(|line| !line.ends_with("# open")).map(|line| {
        let (indentation, rest) = line.split_at(line.len() - line.trim_start().len());
        rest.strip_prefix("#closed: ")
            .map_or(line.to_owned(), |rest| format!("{indentation}{rest}"))
    });
    each.collect::<Vec<String>>().join("\n") + "\n"
}

impl Ports {
    /// Puts them in the place of those in a file, wherever these stand as numbers of their own.
    fn put_into(self, text: &str) -> String {
        let mut words = Vec::new();
        for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let end = part.trim_end_matches(|c: char| !c.is_ascii_digit()).len();
            let (number, rest) = part.split_at(end);
            let other = match number {
                "8000" => self.gateway,
                "8001" => self.inner,
                "8080" => self.program,
                "9000" => self.upstream,
                _ => {
                    words.push(part.to_owned());
                    continue;
                }
            };
            words.push(format!("{other}{rest}"));
        }
        words.concat()
    }
}
