//! No request reaches an upstream that was not charged, whatever bytes a client sends.

use super::corpus::{CHUNKS, CODINGS, Case, Fate, LENGTHS, LINES, TARGETS};
use super::message::{Fault, Wire};
use super::site::{MANY, Site};
use super::upstream::{OK, Upstream, free};
use std::sync::{Arc, Mutex};

/// What follows each case on its connection.
const NEXT: &str = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// What arrived: a path, a body, and whether it was there to its end.
type Arrived = Arc<Mutex<Vec<(String, String, bool)>>>;

/// An upstream that writes each request down when its head is there, so that none is missed that is cut.
fn upstream() -> (Upstream, Arrived) {
    let arrived = Arrived::default();
    let ours = arrived.clone();
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        while let Ok(mut request) = wire.head() {
            let path = request.start.split(' ').nth(1).unwrap_or_default().to_owned();
            let index = {
                let mut all = ours.lock().expect("nobody failed");
                all.push((path, String::new(), false));
                all.len() - 1
            };
            if wire.framed(&mut request).is_err() {
                return;
            }
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let mut all = ours.lock().expect("nobody failed");
            if let Some(own) = all.get_mut(index) {
                (own.1, own.2) = (body, true);
            }
            drop(all);
            wire.send(OK);
        }
    });
    (upstream, arrived)
}

/// What became of the bytes of a case.
#[derive(Debug)]
struct Outcome {
    /// Of the answers that came.
    statuses: Vec<u16>,
    /// How the connection ended.
    end: Fault,
    charged: usize,
    /// What arrived.
    seen: Vec<(String, String, bool)>,
}

impl Outcome {
    fn fits(&self, fate: Fate) -> bool {
        let whole = |path: &str, body: &str| (path.to_owned(), body.to_owned(), true);
        let (statuses, seen, end) = (&self.statuses[..], &self.seen[..], &self.end);
        match fate {
            Fate::Rejected(status) => {
                statuses == [status] && seen.is_empty() && self.charged == 0 && *end != Fault::Late
            }
            Fate::Declined(status) => {
                let rest = (&statuses[1.min(statuses.len())..], self.charged, seen);
                statuses.first() == Some(&status)
                    && (rest == (&[], 0, &[]) || rest == (&[200], 1, &[whole("/next", "")]))
                    && *end == Fault::Ended
            }
            Fate::Closes(path, body) => {
                (statuses, seen) == (&[200][..], &[whole(path, body)][..])
                    && (self.charged, end) == (1, &Fault::Ended)
            }
            Fate::Passes(wanted) => {
                let wanted = wanted.iter().chain([&("/next", "")]);
                let wanted: Vec<_> = wanted.map(|(path, body)| whole(path, body)).collect();
                seen == wanted
                    && statuses == vec![200; wanted.len()]
                    && (self.charged, end) == (wanted.len(), &Fault::Ended)
            }
            Fate::Broken => {
                statuses.iter().all(|status| *status == 400)
                    && statuses.len() <= 1
                    && (self.charged, seen.len() <= 1, *end != Fault::Late) == (1, true, true)
                    && seen.iter().all(|(path, _, is_whole)| path == "/outer" && !is_whole)
            }
        }
    }
}

/// Sends bytes, and reads what comes until the end of the connection.
fn answers(site: &Site, bytes: &str) -> (Vec<u16>, Fault) {
    let mut wire = Wire::open(site.address);
    wire.send(bytes);
    let mut statuses = Vec::new();
    loop {
        match wire.answer("GET") {
            Ok(answer) => statuses.push(answer.status()),
            Err(fault) => return (statuses, fault),
        }
    }
}

/// Tries all cases on one server; every one that comes out otherwise is told.
fn run(cases: &[Case]) {
    let (upstream, arrived) = upstream();
    let site = Site::before(&[&upstream], MANY);
    let all = || arrived.lock().expect("nobody failed").clone();
    let mut wrong = Vec::new();
    for (number, (name, bytes, fate)) in cases.iter().enumerate() {
        // Each has paths of its own: what is cut may be written down only when the next one is on its way.
        let own = format!("/{number}");
        let bytes = format!("{bytes}{NEXT}");
        let bytes = bytes.replace("/outer", &format!("{own}/outer"));
        let bytes = bytes.replace("/next", &format!("{own}/next"));
        let before = site.decided("all", "allowed");
        let (statuses, end) = answers(&site, &bytes);
        let charged = (site.decided("all", "allowed") - before) as usize;
        let seen = all().into_iter().filter_map(|(path, body, is_whole)| {
            let path = path.strip_prefix(&own).filter(|rest| rest.starts_with('/'))?.to_owned();
            Some((path, body, is_whole))
        });
        let outcome = Outcome { statuses, end, charged, seen: seen.collect() };
        if !outcome.fits(*fate) {
            wrong.push(format!("{name}: {outcome:?}"));
        }
    }
    let (all, charged) = (all(), site.decided("all", "allowed"));
    assert!(all.len() as u64 <= charged, "{charged} were charged, not {all:?}");
    let strange = |path: &str| !path.ends_with("/outer") && !path.ends_with("/next");
    wrong.extend(all.into_iter().map(|(path, _, _)| path).filter(|path| strange(path)));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Goal: where a body ends is told in one way, or the request is rejected.
/// Method: lengths beside chunks, several lengths, lengths that are none; each followed by a request.
#[test]
fn lengths_that_disagree_are_rejected() {
    run(LENGTHS);
}

/// Goal: a coding is `chunked` alone, or the request is rejected.
/// Method: spellings that some servers read as chunks and others do not.
#[test]
fn codings_in_disguise_are_rejected() {
    run(CODINGS);
}

/// Goal: of chunks that are none nothing whole arrives, and nothing behind them.
/// Method: sizes, ends and trailers that some servers read otherwise.
#[test]
fn bad_chunks_end_their_request() {
    run(CHUNKS);
}

/// Goal: lines that servers split in different ways are rejected.
/// Method: folded lines, bare CR and LF, spaces and controls where none belong.
#[test]
fn lines_in_disguise_are_rejected() {
    run(LINES);
}

/// Goal: a request is for one host and one path, or is rejected.
/// Method: hosts and targets that servers read in different ways.
#[test]
fn hosts_and_targets_in_disguise_are_rejected() {
    run(TARGETS);
}
