//! The audit of histories: against brute force, against the real algorithms, against seeded faults, and as
//! a command.

mod brute;
mod brute_refusals;
mod clean;
mod command;
mod faults;
mod page;
mod seeded;
mod text;

use ratekeeper::rule::file::RuleFile;
use ratekeeper_server::audit::{Check, History, Outcome, Record, Report, Rulebook, Source, judge};

/// Every algorithm with policing, and a limit for it: the window is 10 ms.
const LIMITS: [(&str, &str); 5] = [
    ("fixed_window", "4/10ms"),
    ("sliding_window_log", "4/10ms"),
    ("sliding_window_counter", "4/10ms"),
    ("token_bucket", "4/10ms burst 3"),
    ("leaky_bucket", "7/10ms burst 5"),
];

/// A rule file with one rule, `r`.
fn rules(algorithm: &str, limit: &str) -> String {
    format!("rules: [{{id: r, limit: {limit}, algorithm: {algorithm}}}]")
}

/// A source of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// A history in the making, of one rule and one node.
#[derive(Default)]
struct Made(History);

impl Made {
    /// Adds an operation of the key `k`; times in microseconds.
    fn add(&mut self, cost: u64, (asked, answered): (u64, u64), outcome: Outcome, source: Source) {
        let (invoke, complete) = (asked * 1_000, answered * 1_000);
        self.record(&Record { cost, invoke, complete, outcome, source, ..self.next() });
    }

    /// Adds one that the store admitted at once.
    fn allow(&mut self, cost: u64, at: u64) {
        self.add(cost, (at, at), Outcome::Allow, Source::Store);
    }

    /// Adds one that the store refused at once.
    fn deny(&mut self, cost: u64, at: u64) {
        self.add(cost, (at, at), Outcome::Deny, Source::Store);
    }

    fn record(&mut self, record: &Record<'_>) {
        self.0.push(record).expect("it is within the bounds");
    }

    /// What an operation is unless said.
    fn next(&self) -> Record<'static> {
        Record {
            id: self.0.len() as u64 + 1,
            node: "n",
            key: "k",
            rule: "r",
            version: 1,
            cost: 1,
            invoke: 0,
            complete: 0,
            outcome: Outcome::Allow,
            source: Source::Store,
            retry: None,
            remaining: None,
        }
    }

    fn judge(&self, rules: &str, nodes: u32) -> Report {
        judged(&self.0, rules, nodes)
    }
}

fn judged(history: &History, rules: &str, nodes: u32) -> Report {
    let file = RuleFile::parse(rules).expect("the rules make sense");
    judge(history, &Rulebook::new(&file, Some(nodes))).expect("the rules are there")
}

/// The units beyond what may be; 0 if there are none.
fn excess(report: &Report) -> u128 {
    let found = report.findings.iter().find(|finding| finding.check == Check::Envelope);
    found.map_or(0, |finding| finding.excess)
}

/// Which checks have findings.
fn broken(report: &Report) -> Vec<Check> {
    let mut checks: Vec<Check> = report.findings.iter().map(|finding| finding.check).collect();
    checks.dedup();
    checks
}
