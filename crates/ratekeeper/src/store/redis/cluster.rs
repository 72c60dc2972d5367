//! A cluster: which server has which slot, learnt from the servers and corrected by what they answer.
//!
//! Invariants: one refresh of the map at a time, and at least a tenth of a second between two; a server
//! that is in two maps keeps its link, and with it its connection and breaker.

use super::config::{Address, RedisConfig};
use super::error::{Class, StoreError};
use super::link::{Link, Probe};
use super::name::Tag;
use crate::sync::{Mutex, lock};
use redis::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

const SLOTS: usize = 16_384;

/// Least time between two refreshes.
const REFRESH_EVERY: Duration = Duration::from_millis(100);

/// How long one server may take to tell the map.
const ASK: Duration = Duration::from_millis(500);

/// Makes the call by which a server is probed, for a tag that it has.
pub(super) type Prober = fn(&RedisConfig, Tag) -> Probe;

pub(super) struct Cluster {
    config: Arc<RedisConfig>,
    prober: Prober,
    map: Mutex<Arc<Map>>,
    refresh: Mutex<Refresh>,
    changed: Notify,
}

#[derive(Default)]
struct Map {
    links: HashMap<Address, Arc<Link>>,
    /// The server of each slot; empty if nothing is known.
    slots: Vec<Option<Arc<Link>>>,
}

#[derive(Default)]
struct Refresh {
    running: bool,
    last: Option<Instant>,
    /// Why nobody could tell the map, if so.
    error: Option<StoreError>,
}

impl Cluster {
    pub(super) fn new(config: &Arc<RedisConfig>, prober: Prober) -> Arc<Cluster> {
        let links = config.addresses.iter();
        let links = links.map(|at| (at.clone(), Link::new(config, Some(at.clone())))).collect();
        let map = Mutex::new(Arc::new(Map { links, slots: Vec::new() }));
        let (config, refresh) = (Arc::clone(config), Mutex::default());
        Arc::new(Cluster { config, prober, map, refresh, changed: Notify::new() })
    }

    /// The server that has a slot.
    pub(super) async fn link(
        self: &Arc<Self>,
        slot: u16,
        deadline: Instant,
    ) -> Result<Arc<Link>, StoreError> {
        let mut waited = false;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let map = Arc::clone(&lock(&self.map));
            match map.slots.get(usize::from(slot)) {
                Some(Some(link)) => {
                    if link.is_open() {
                        self.refresh();
                    }
                    return Ok(Arc::clone(link));
                }
                Some(None) if waited => break,
                _ => {}
            }
            // If nobody could tell a moment ago, nobody can now.
            if !self.refresh() || timeout_at(deadline, changed).await.is_err() {
                break;
            }
            waited = true;
        }
        let known = lock(&self.refresh).error.clone();
        Err(known.unwrap_or_else(|| self.error("no server is known to have the slot")))
    }

    /// Whether calls to any server that has slots are not made for now.
    pub(super) fn is_open(&self) -> bool {
        lock(&self.map).slots.iter().flatten().any(|link| link.is_open())
    }

    /// Every server that has slots.
    pub(super) async fn links(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Vec<Arc<Link>>, StoreError> {
        self.link(0, deadline).await?;
        let mut links: Vec<Arc<Link>> = Vec::new();
        for link in lock(&self.map).slots.iter().flatten() {
            if !links.iter().any(|known| Arc::ptr_eq(known, link)) {
                links.push(Arc::clone(link));
            }
        }
        Ok(links)
    }

    /// The server at an address that an answer named: of a slot that it has from now on, if it does.
    pub(super) fn follow(
        self: &Arc<Self>,
        to: &str,
        moved: Option<u16>,
    ) -> Result<Arc<Link>, StoreError> {
        let parsed = to.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = parsed.ok_or_else(|| self.error("an answer named no address"))?;
        let address = Address { host: host.trim_matches(['[', ']']).to_owned(), port };
        let mut map = lock(&self.map);
        let known = map.links.get(&address).map(Arc::clone);
        let is_new = known.is_none();
        let link = known.unwrap_or_else(|| Link::new(&self.config, Some(address.clone())));
        let place = moved.map(usize::from).filter(|slot| *slot < map.slots.len());
        let is_there =
            |slot: &usize| map.slots[*slot].as_ref().is_some_and(|known| Arc::ptr_eq(known, &link));
        // A map is not small, and what sends one call on sends others on, too: only the first of them
        // changes it.
        let place = place.filter(|slot| !is_there(slot));
        if is_new || place.is_some() {
            let (mut links, mut slots) = (map.links.clone(), map.slots.clone());
            links.insert(address, Arc::clone(&link));
            if let Some(slot) = place {
                slots[slot] = Some(Arc::clone(&link));
            }
            *map = Arc::new(Map { links, slots });
        }
        drop(map);
        if moved.is_some() {
            self.refresh();
        }
        Ok(link)
    }

    /// Learns the map anew, unless somebody does already, or just did; `false` if nobody is about to.
    pub(super) fn refresh(self: &Arc<Self>) -> bool {
        let mut refresh = lock(&self.refresh);
        if refresh.last.is_some_and(|last| last.elapsed() < REFRESH_EVERY) {
            return refresh.running;
        }
        if !std::mem::replace(&mut refresh.running, true) {
            tokio::spawn(Refreshing(Arc::clone(self)).run());
        }
        true
    }

    /// Asks one server after the other, those that work first; an error if none could tell.
    async fn learn(&self) -> Option<StoreError> {
        let known = Arc::clone(&lock(&self.map));
        let mut links: Vec<(&Address, &Arc<Link>)> = known.links.iter().collect();
        links.sort_by_key(|(_, link)| link.is_open());
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let mut failed = None;
        for (address, link) in links {
            match link.call(&question, false, Instant::now() + ASK).await {
                Ok(answer) => {
                    let ranges = ranges(&answer, address).unwrap_or_default();
                    if !ranges.is_empty() {
                        *lock(&self.map) = Arc::new(self.map_of(&known, &ranges));
                        return None;
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        failed
    }

    fn map_of(&self, known: &Map, ranges: &[Range]) -> Map {
        let (mut links, mut slots) = (HashMap::new(), vec![None; SLOTS]);
        for Range { first, last, address } in ranges {
            let new = || Link::new(&self.config, Some(address.clone()));
            let known = || known.links.get(address).map_or_else(new, Arc::clone);
            let link = links.entry(address.clone()).or_insert_with(known);
            slots[*first..=*last].fill(Some(Arc::clone(link)));
        }
        // A tag of any of its slots is soon found; one of a certain range may take long.
        for link in links.values() {
            let has = |slot: &Option<Arc<Link>>| {
                slot.as_ref().is_some_and(|other| Arc::ptr_eq(other, link))
            };
            if let Some(tag) = Tag::such_that(|slot| has(&slots[usize::from(slot)])) {
                link.probe_with((self.prober)(&self.config, tag));
            }
        }
        // The first servers are kept: if all others are gone, they may know more.
        for address in &self.config.addresses {
            if let Some(link) = known.links.get(address) {
                links.entry(address.clone()).or_insert_with(|| Arc::clone(link));
            }
        }
        Map { links, slots }
    }

    fn error(&self, fault: &str) -> StoreError {
        StoreError::new(&self.config.to_string(), Class::Unavailable, fault)
    }
}

/// A refresh under way. Should its task end early, as with its runtime, others may try.
struct Refreshing(Arc<Cluster>);

impl Refreshing {
    async fn run(self) {
        let error = self.0.learn().await;
        lock(&self.0.refresh).error = error;
    }
}

impl Drop for Refreshing {
    fn drop(&mut self) {
        let mut refresh = lock(&self.0.refresh);
        (refresh.running, refresh.last) = (false, Some(Instant::now()));
        drop(refresh);
        self.0.changed.notify_waiters();
    }
}

/// Slots that one server has.
struct Range {
    first: usize,
    last: usize,
    address: Address,
}

/// The ranges of an answer to CLUSTER SLOTS; `None` if it is something else.
fn ranges(answer: &Value, asked: &Address) -> Option<Vec<Range>> {
    let Value::Array(rows) = answer else { return None };
    rows.iter().map(|row| range(row, asked)).collect()
}

fn range(row: &Value, asked: &Address) -> Option<Range> {
    let Value::Array(row) = row else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = &row[..] else {
        return None;
    };
    let [host, Value::Int(port), ..] = &master[..] else { return None };
    let slot = |number: i64| usize::try_from(number).ok().filter(|slot| *slot < SLOTS);
    let (first, last) = (slot(*first)?, slot(*last)?);
    // A server that does not know its own address leaves it out: it is the one that was asked.
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => String::from_utf8_lossy(host).into_owned(),
        _ => asked.host.clone(),
    };
    let address = Address { host, port: u16::try_from(*port).ok()? };
    (first <= last).then_some(Range { first, last, address })
}
