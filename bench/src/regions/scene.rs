//! Four servers in two regions, and what became of their calls in some time.

use super::{BURST, NODES, RATE};
use ratekeeper::Limiter;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::interval;

pub const WARM_UP: Duration = Duration::from_millis(400);
pub const SLICE: Duration = Duration::from_millis(1_200);

pub struct Scene {
    /// The servers; the second half of them is the far region.
    nodes: Vec<Limiter>,
}

/// The calls of one region.
#[derive(Default)]
pub struct Calls {
    /// Microseconds of each, in order once they are sorted.
    micros: Vec<u64>,
    /// How many each source has decided.
    sources: BTreeMap<&'static str, usize>,
    admitted: u64,
}

#[derive(Default)]
pub struct Phase {
    pub near: Calls,
    pub far: Calls,
    /// What one limiter alone would have admitted.
    most: f64,
}

impl Scene {
    /// Two servers for each URL, the second of which is far.
    pub fn new(stores: &[(String, &str); 2], rule: &str) -> Scene {
        let mut nodes = Vec::new();
        for (number, (url, deadline)) in stores.iter().enumerate() {
            let region = ["eu", "us"][number];
            // A part has the servers of its region alone.
            let count = if rule.contains("regions") { NODES / 2 } else { NODES };
            let file = format!(
                "nodes: {count}\nregion: {region}\nstore: {{url: '{url}'{deadline}}}\n\
                 rules: [{{id: api, key: user, limit: {RATE}/second burst {BURST}, {rule}}}]\n"
            );
            for _ in 0..NODES / 2 {
                nodes.push(Limiter::from_yaml(&file).expect("the file is fine"));
            }
        }
        Scene { nodes }
    }

    /// Lets all servers ask for a key that nobody has asked for yet.
    pub async fn phase(&self, key: &'static str, time: Duration) -> Phase {
        let start = Instant::now();
        let mut regions = [Calls::default(), Calls::default()];
        let mut servers = JoinSet::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let asked = ask(node.clone(), key, time);
            servers.spawn(async move { (number / (NODES as usize / 2), asked.await) });
        }
        while let Some(asked) = servers.join_next().await {
            let (region, asked) = asked.expect("no panics");
            for (source, micros, allowed) in asked {
                regions[region].micros.push(micros);
                *regions[region].sources.entry(source).or_default() += 1;
                regions[region].admitted += u64::from(allowed);
            }
        }
        let [near, far] = regions;
        Phase { near, far, most: BURST as f64 + RATE as f64 * start.elapsed().as_secs_f64() }
    }
}

type Answer = (&'static str, u64, bool);

/// Asks at an even pace, whether or not it was answered.
async fn ask(node: Limiter, key: &'static str, time: Duration) -> Vec<Answer> {
    let rule = node.rule("api").expect("the rule is there");
    let mut ticks = interval(Duration::from_secs(1) * NODES / (2 * RATE as u32));
    let (start, mut calls) = (Instant::now(), JoinSet::new());
    while start.elapsed() < time {
        ticks.tick().await;
        let rule = rule.clone();
        calls.spawn(async move {
            let start = Instant::now();
            let decision = rule.check(key).await;
            (decision.source().name(), start.elapsed().as_micros() as u64, decision.is_allowed())
        });
    }
    calls.join_all().await
}

impl Calls {
    pub fn latencies(&self) -> String {
        let at = |share: f64| self.micros[((self.micros.len() - 1) as f64 * share) as usize] as f64;
        format!("{:.2}, {:.2}", at(0.5) / 1e3, at(0.99) / 1e3)
    }

    /// In percent.
    pub fn share_of(&self, source: &str) -> f64 {
        let own = self.sources.get(source).copied().unwrap_or(0);
        own as f64 * 100.0 / self.micros.len() as f64
    }

    pub fn sources(&self) -> String {
        let told = |source: &&'static str| format!("`{source}` {:.0} %", self.share_of(source));
        self.sources.keys().map(told).collect::<Vec<_>>().join(", ")
    }
}

impl Phase {
    /// Adds another turn.
    pub fn add(&mut self, other: Phase) {
        for (own, other) in [(&mut self.near, other.near), (&mut self.far, other.far)] {
            own.micros.extend(other.micros);
            own.admitted += other.admitted;
            for (source, count) in other.sources {
                *own.sources.entry(source).or_default() += count;
            }
        }
        self.most += other.most;
    }

    pub fn sort(&mut self) {
        self.near.micros.sort_unstable();
        self.far.micros.sort_unstable();
    }

    /// In percent of what one limiter alone would have admitted.
    pub fn admitted(&self) -> f64 {
        (self.near.admitted + self.far.admitted) as f64 * 100.0 / self.most
    }
}
