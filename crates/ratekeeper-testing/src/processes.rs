//! A fleet of real processes, some of which are killed or paused at times that a seed says.
//!
//! Each is an `rk-node`, which writes down its decisions; together they are one history. Invariant:
//! whatever was started here is ended when its handle is dropped, paused or not, and nothing else is.

mod line;
mod plan;

pub use line::Line;
pub use plan::Fault;

use plan::{Event, events};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a process may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait before looking again whether one has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Nanoseconds of `CLOCK_MONOTONIC`: the same clock in all processes of a machine.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(nanos).expect("the machine has not run for centuries")
}

/// A fleet and what it does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `rk-node`.
    pub program: PathBuf,
    /// The store.
    pub url: String,
    /// The rule file.
    pub rules: PathBuf,
    /// A folder for the histories of single processes.
    pub folder: PathBuf,
    /// How many processes there are at a time.
    pub nodes: usize,
    /// Faults, keys and costs follow from it.
    pub seed: u64,
    /// How long it goes on.
    pub seconds: u64,
    /// Decisions in a second, by each process.
    pub rate: u32,
    /// Keys.
    pub keys: u64,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// How often a process was killed.
    pub kills: u32,
    /// How often one was paused.
    pub pauses: u32,
    /// The numbers of all processes that there were.
    pub pids: Vec<u32>,
}

/// One process; it ends with its handle.
#[derive(Debug)]
struct Node {
    child: Child,
    history: PathBuf,
}

/// The processes while they run.
struct Fleet<'a> {
    plan: &'a Plan,
    nodes: Vec<Node>,
    /// The histories of those that were killed.
    gone: Vec<PathBuf>,
    told: Told,
    faults: Vec<(u64, String)>,
}

impl Plan {
    /// Runs the fleet, and puts all that it decided into one file, in the order of time, with the
    /// beginning and the end of each fault (`fault_start T kill-2`, `fault_end T kill-2`, of the third of the fleet).
    pub fn run(&self, history: &Path) -> Result<Told> {
        let mut fleet = Fleet {
            plan: self,
            nodes: Vec::new(),
            gone: Vec::new(),
            told: Told::default(),
            faults: Vec::new(),
        };
        for _ in 0..self.nodes {
            let node = fleet.start()?;
            fleet.nodes.push(node);
        }
        let (start, time) = (now(), Duration::from_secs(self.seconds));
        for event in events(self.seed, self.nodes, time) {
            sleep_until(start, event.at);
            fleet.meet(&event)?;
        }
        sleep_until(start, time);
        fleet.end()?;
        fs::write(history, fleet.collect()?)?;
        Ok(fleet.told)
    }
}

impl Fleet<'_> {
    /// Starts a process; each has a number of its own, also those that take the place of another.
    fn start(&mut self) -> Result<Node> {
        let (plan, number) = (self.plan, self.told.pids.len() as u64);
        let history = plan.folder.join(format!("n{number}.history"));
        let seed = plan.seed.wrapping_add(1_000 + number);
        let mut command = Command::new(&plan.program);
        command.arg(&plan.url).arg(&plan.rules);
        command.arg(format!("n{number}")).arg(plan.nodes.to_string()).arg(&history);
        // It is told when to end; should nobody tell it, it ends by itself.
        for figure in [seed, 2 * plan.seconds + 10, plan.rate.into(), plan.keys] {
            command.arg(figure.to_string());
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        self.told.pids.push(child.id());
        Ok(Node { child, history })
    }

    fn meet(&mut self, event: &Event) -> Result<()> {
        // What is noted is not shorter than what was.
        if event.begins {
            self.note("fault_start", event);
        }
        let node = &mut self.nodes[event.place];
        match (event.fault, event.begins) {
            (Fault::Kill, true) => {
                node.child.kill()?;
                node.child.wait()?;
                self.told.kills += 1;
            }
            (Fault::Kill, false) => {
                let next = self.start()?;
                let gone = std::mem::replace(&mut self.nodes[event.place], next);
                self.gone.push(gone.history.clone());
            }
            (Fault::Pause, true) => {
                node.signal(Signal::STOP)?;
                self.told.pauses += 1;
            }
            (Fault::Pause, false) => node.signal(Signal::CONT)?,
        }
        if !event.begins {
            self.note("fault_end", event);
        }
        Ok(())
    }

    fn note(&mut self, word: &str, event: &Event) {
        let (time, name, place) = (now(), event.fault.name(), event.place);
        self.faults.push((time, format!("{word} {time} {name}-{place}")));
    }

    /// Tells all to end, and waits until they have.
    fn end(&mut self) -> Result<()> {
        for node in &self.nodes {
            node.signal(Signal::TERM)?;
        }
        let start = now();
        for node in &mut self.nodes {
            let status = loop {
                match node.child.try_wait()? {
                    Some(status) => break status,
                    None if now() - start > PATIENCE.as_nanos() as u64 => {
                        return Err(std::io::Error::other("a process does not end"));
                    }
                    None => std::thread::sleep(PAUSE),
                }
            };
            if !status.success() {
                return Err(std::io::Error::other(format!("a process ended with {status}")));
            }
        }
        Ok(())
    }

    /// One history of all.
    fn collect(&self) -> Result<String> {
        let mut lines = self.faults.clone();
        for history in self.gone.iter().chain(self.nodes.iter().map(|node| &node.history)) {
            // One that was killed before its first decision has none.
            let text = if history.exists() { fs::read_to_string(history)? } else { String::new() };
            // What was asked is there before it is answered; and once more, if it was.
            let mut own = BTreeMap::new();
            for text in text.lines() {
                let line: Line = text.parse().map_err(std::io::Error::other)?;
                own.insert(line.id, (line.asked, text.to_owned()));
            }
            lines.extend(own.into_values());
        }
        lines.sort();
        let mut text = String::new();
        for (_, line) in lines {
            let _ = writeln!(text, "{line}");
        }
        Ok(text)
    }
}

impl Node {
    fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A process that is paused dies of this, too; one that has been waited for is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until so long after an instant.
fn sleep_until(start: u64, at: Duration) {
    let passed = Duration::from_nanos(now() - start);
    std::thread::sleep(at.saturating_sub(passed));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep() -> Node {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        Node { child, history: PathBuf::new() }
    }

    fn is_there(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}/stat")).exists()
    }

    /// Goal: no process is left behind, also if it is paused, and if the test that has it fails.
    /// Method: drop one that sleeps, one that is stopped, and one in a thread that panics.
    #[test]
    fn a_process_ends_with_its_handle() {
        let (node, paused, lost) = (asleep(), asleep(), asleep());
        let pids = [&node, &paused, &lost].map(|node| node.child.id());
        assert!(pids.into_iter().all(is_there));
        drop(node);
        paused.signal(Signal::STOP).unwrap();
        drop(paused);
        let failed = std::thread::spawn(move || {
            let _lost = lost;
            panic!("a test fails");
        });
        assert!(failed.join().is_err());
        assert!(!pids.into_iter().any(is_there));
    }

    /// Goal: a fleet whose processes cannot run says so.
    /// Method: a program that is not there, and one that ends at once with a failure.
    #[test]
    fn a_fleet_that_cannot_run_says_so() {
        let plan = Plan {
            program: "no-such-program".into(),
            url: String::new(),
            rules: PathBuf::new(),
            folder: std::env::temp_dir(),
            nodes: 2,
            seed: 1,
            seconds: 0,
            rate: 1,
            keys: 1,
        };
        let history = std::env::temp_dir().join("ratekeeper-no-history");
        assert!(plan.run(&history).is_err());
        let failing = Plan { program: "false".into(), ..plan };
        assert!(failing.run(&history).is_err());
        assert!(!history.exists());
    }
}
