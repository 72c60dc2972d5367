//! Answers that come before their request was sent: neither becomes what it is not.

use super::message::{Fault, Message, Wire};
use super::site::{MANY, Site, get, of_upstream};
use super::upstream::{OK, Upstream, free};
use crate::program::poll;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

const RULES: &str =
    "[{id: all, key: ip, limit: 1000/day}, {id: few, key: ip, limit: 4 concurrent}]";

/// An answer that has begun.
const BEGUN: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";

/// How often chance gets a chance.
const ROUNDS: usize = 30;

/// An upstream that reads some of a body, waits for a word, says this, and tells how the request ended.
fn hasty(said: &'static str) -> (Upstream, SyncSender<()>, Receiver<Result<Message, Fault>>) {
    let ((go, gone), (tell, told)) = (sync_channel::<()>(1), sync_channel(1));
    let (gone, tell) = (Mutex::new(gone), Mutex::new(tell));
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        let Ok(mut request) = wire.head() else { return };
        if gone.lock().expect("nobody panics").recv_timeout(Duration::from_secs(20)).is_err() {
            return;
        }
        wire.send(said);
        let ended = wire.framed(&mut request).map(|_| request);
        let _ = tell.lock().expect("nobody panics").send(ended);
    });
    (upstream, go, told)
}

/// Goal: a body that its client leaves unfinished arrives unfinished, also if the answer is there already.
/// Method: answers that are whole or have begun, at the moment at which the client ends its body with nonsense,
/// or leaves; many times, since which comes first is chance. No place and no count stays behind.
#[test]
fn half_a_request_stays_half_when_it_is_answered() {
    for said in [OK, BEGUN] {
        for leaves in [false, true] {
            let (upstream, go, told) = hasty(said);
            let site = Site::before(&[&upstream], RULES);
            for round in 0..ROUNDS {
                let mut wire = Wire::open(site.address);
                wire.send(
                    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                );
                site.becomes(&of_upstream("in_flight", &upstream, ""), 1.0);
                go.send(()).expect("the upstream waits");
                match leaves {
                    true => drop(wire),
                    false => drop(wire.send("ZZ\r\n")),
                }
                let ended = told.recv_timeout(Duration::from_secs(10)).expect("it ends");
                assert!(ended.is_err(), "round {round}, leaves {leaves}: {ended:?}");
                site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
            }
            site.becomes(&of_upstream("connections", &upstream, ",state=\"busy\""), 0.0);
            site.has_left("few", 4);
            assert_eq!(site.left("all"), 1000 - ROUNDS as u64, "all stay charged");
        }
    }
}

/// Goal: an upload that goes on after its answer arrives whole, and is under way until then.
/// Method: an answer before the second half; then the rest.
#[test]
fn an_upload_goes_on_after_its_answer() {
    let (upstream, go, told) = hasty(OK);
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    site.becomes(&of_upstream("in_flight", &upstream, ""), 1.0);
    go.send(()).expect("the upstream waits");
    assert_eq!(wire.answer("POST").expect("it is answered").text(), "ok");
    assert_eq!(site.metric(&of_upstream("in_flight", &upstream, "")), Some(1.0));
    wire.send("half");
    let arrived = told.recv_timeout(Duration::from_secs(10)).expect("it ends");
    assert_eq!(arrived.expect("it is whole").text(), "halfhalf");
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    assert!(poll(|| (upstream.open() == 0).then_some(())).is_some());
}

/// Goal: an upstream that has answered and takes no more of the request is not waited for when nobody else does.
/// Method: a full answer to the head, and nothing read behind it; a body larger than all buffers, whose client
/// leaves.
#[test]
fn who_reads_no_more_after_its_answer_is_given_up() {
    let (go, gone) = sync_channel::<()>(1);
    let gone = Mutex::new(gone);
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        if wire.head().is_ok() {
            wire.send(OK);
            let _ = gone.lock().expect("nobody panics").recv_timeout(Duration::from_secs(60));
        }
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    wire.stream
        .set_write_timeout(Some(Duration::from_millis(500)))
        .expect("a socket has that option");
    while wire.send([b'x'; 1 << 16]) {}
    site.becomes(&of_upstream("in_flight", &upstream, ""), 1.0);
    drop(wire);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    site.becomes(&of_upstream("connections", &upstream, ",state=\"busy\""), 0.0);
    drop(go);
}

/// Goal: an answer that nobody wants any more is not read on, though it began before its request was sent.
/// Method: the rest of the upload, then the client leaves; the upstream goes on for as long as it is read.
#[test]
fn an_answer_that_nobody_wants_is_given_up() {
    let (tell, told) = sync_channel(1);
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        let Ok(mut request) = wire.head() else { return };
        wire.send(BEGUN);
        let _ = wire.framed(&mut request);
        while wire.send("2\r\nok\r\n") {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = tell.send(request.body.len());
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    assert_eq!(wire.head().expect("the answer begins").status(), 200);
    wire.send("half");
    assert!(wire.exactly(100).is_ok(), "it goes on");
    drop(wire);
    assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(8), "it hears of it");
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    site.has_left("few", 4);
}

/// Goal: words before the answer are passed over, but not for ever.
/// Method: a few, and more than anybody has to say.
#[test]
fn words_before_the_answer_have_a_bound() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    for (count, status) in [(3, 200), (1000, 502)] {
        let said = early.repeat(count) + OK;
        let upstream = Upstream::telling(move |_| said.clone());
        let site = Site::before(&[&upstream], MANY);
        assert_eq!(site.ask(&get("/", "")).status(), status, "{count}");
    }
}
