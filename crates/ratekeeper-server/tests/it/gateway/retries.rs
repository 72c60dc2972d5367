//! Second tries: only where nothing was sent, never of what must not happen twice, and few of them.

use super::site::{MANY, Site, get, post};
use super::upstream::{After, OK, Upstream, nobodies, nobody};

/// Retries of all upstreams.
fn retries(site: &Site) -> u64 {
    let metrics = site.api("/metrics").body;
    let own = metrics.lines().filter(|line| line.starts_with("ratekeeper_upstream_retries_total{"));
    own.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
}

/// Goal: a request that may be repeated goes to another upstream where the first refuses connections; its
/// client does not notice.
/// Method: three addresses, of which two are nobody's: every GET, PUT and DELETE is answered.
#[test]
fn what_may_be_repeated_goes_to_another() {
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let upstream = Upstream::saying(if method == "HEAD" {
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        } else {
            OK
        });
        let mut urls: Vec<String> = nobodies(2).iter().map(|own| format!("http://{own}")).collect();
        urls.push(upstream.url());
        let site = Site::to(&urls, "", "", MANY);
        for _ in 0..5 {
            let answer = site.ask(&get("/", "").replacen("GET", method, 1));
            assert_eq!(answer.status(), 200, "{method}");
        }
        assert_eq!(upstream.seen().len(), 5, "each arrives once");
        assert!(retries(&site) <= 2, "who refused is not asked again");
        assert_eq!(site.decided("all", "allowed"), 5, "a second try is not charged");
    }
}

/// Goal: what was sent is not sent again, whatever its method.
/// Method: two upstreams that read the request and end; each request arrives at one of them, once.
#[test]
fn what_was_sent_is_not_sent_again() {
    let ends = || Upstream::acting(|_, _| After::Close);
    let (first, second) = (ends(), ends());
    let site = Site::before(&[&first, &second], MANY);
    let requests = ["GET", "POST", "PUT", "DELETE", "PATCH"];
    for (number, method) in requests.iter().enumerate() {
        let answer = site.ask(&post("/", "", "x").replacen("POST", method, 1));
        assert_eq!(answer.status(), 502, "{method}");
        assert_eq!(first.seen().len() + second.seen().len(), number + 1, "{method}");
    }
    assert_eq!(retries(&site), 0);
}

/// Goal: what must not happen twice is not tried again, even where a connection was refused.
/// Method: POSTs to an upstream and an address that is nobody's: those that were lost were not passed on.
#[test]
fn a_post_is_tried_once() {
    let upstream = Upstream::saying(OK);
    let urls = [format!("http://{}", nobody()), upstream.url()];
    let site = Site::to(&urls, "", "", MANY);
    let statuses: Vec<u16> = (0..10).map(|_| site.ask(&post("/", "", "x")).status()).collect();
    let lost = statuses.iter().filter(|status| **status == 502).count();
    assert!(lost <= 1 && statuses.iter().all(|status| [200, 502].contains(status)), "{statuses:?}");
    assert_eq!((upstream.seen().len(), retries(&site)), (10 - lost, 0));
}

/// Goal: second tries are a small part of all requests, however many fail.
/// Method: thirty addresses that are nobody's, and one upstream: ten tries are there at the start, and one
/// more for every ten requests.
#[test]
fn second_tries_have_a_budget() {
    let upstream = Upstream::saying(OK);
    let mut urls: Vec<String> = nobodies(30).iter().map(|own| format!("http://{own}")).collect();
    urls.push(upstream.url());
    let site = Site::to(&urls, "", "", MANY);
    let (mut answered, mut asked) = (0, 0);
    // One after the other is found out, until only the one that is there is left.
    while answered < 20 && asked < 200 {
        let status = site.get("/").status();
        assert!([200, 502].contains(&status), "{status}");
        (answered, asked) = (answered + usize::from(status == 200), asked + 1);
        assert!(retries(&site) <= 10 + asked / 10, "{} of {asked}", retries(&site));
    }
    assert_eq!(answered, 20, "of {asked}");
    assert!(retries(&site) >= 10, "the budget is there to be used");
    assert_eq!(upstream.seen().len(), answered);
}
