//! A server that answers with errors: what is decided, what becomes of the connection and the breaker.
//!
//! Invariant: each error gets what its row in the contract says, and is over when the server is well.

use super::fleet::{SECRET, ms, runtime, turn};
use ratekeeper::outage::{Breaks, Class};
use ratekeeper::{Limiter, OnStoreFailure, RedisConfig, Rule, Source};
use ratekeeper_testing::fake::{Answer, Fake};
use ratekeeper_testing::load::Witness;
use ratekeeper_testing::servers::wait_until;
use std::time::Duration;
use tokio::time::Instant;

/// What a server answers, its class, whether the connection is dropped, and what the breaker does.
const REPLIES: [(&str, Class, bool, Breaks); 15] = [
    ("-LOADING Redis is loading the dataset in memory", UNAVAILABLE, false, Breaks::Counts),
    ("-BUSY Redis is busy running a script.", UNAVAILABLE, false, Breaks::Counts),
    ("-MISCONF Redis is configured to save snapshots", UNAVAILABLE, false, Breaks::Counts),
    ("-OOM command not allowed", UNAVAILABLE, false, Breaks::Counts),
    ("-NOREPLICAS Not enough good replicas to write.", UNAVAILABLE, false, Breaks::Counts),
    ("-CLUSTERDOWN The cluster is down", UNAVAILABLE, false, Breaks::Counts),
    ("-MASTERDOWN Link with MASTER is down", UNAVAILABLE, false, Breaks::Counts),
    ("-NOAUTH Authentication required.", Class::Denied, true, Breaks::Opens),
    ("-WRONGPASS invalid username-password pair", Class::Denied, true, Breaks::Opens),
    ("-NOPERM User rk has no permissions", Class::Denied, true, Breaks::Opens),
    ("-ERR max number of clients reached", Class::MaxClients, true, Breaks::Counts),
    ("-CROSSSLOT Keys in request don't hash", Class::Alien, true, Breaks::Counts),
    ("-ERR unknown command 'EVALSHA'", Class::Alien, true, Breaks::Counts),
    ("-TRYAGAIN Multiple keys request during rehashing", Class::TryAgain, false, Breaks::No),
    ("HTTP/1.1 400 Bad Request", Class::Alien, true, Breaks::Counts),
];

/// The deadline: long enough that a busy machine makes a connection in time, so that calls are counted.
const PATIENT: Duration = Duration::from_millis(300);

const UNAVAILABLE: Class = Class::Unavailable;

/// Failures in a row that open the breaker.
const IN_A_ROW: usize = 5;

/// A limiter over a server that is not one.
struct Bench {
    fake: Fake,
    limiter: Limiter,
    witness: Witness,
}

impl Bench {
    fn new(deadline: Duration) -> Bench {
        let (fake, witness) = (Fake::start(Answer::Well), Witness::default());
        let url = format!("redis://:{SECRET}@{}/0", fake.address());
        let config: RedisConfig = url.parse().unwrap();
        let builder = Limiter::redis(config.deadline(deadline)).observer(witness.clone());
        let builder = builder.rule("open", "1000/second").unwrap();
        let builder = builder.rule("closed", "1000/second").unwrap();
        let builder = builder.on_store_failure("closed", OnStoreFailure::Deny).unwrap();
        Bench { fake, limiter: builder.build(), witness }
    }

    /// A call under each rule is decided by its policy, in time.
    async fn falls_back(&self, reply: &str) {
        for (rule, source) in [("open", Source::FailedOpen), ("closed", Source::FailedClosed)] {
            let start = Instant::now();
            let decision = self.limiter.rule(rule).unwrap().check("alice").await;
            assert_eq!(decision.source(), source, "{reply}");
            assert_eq!(decision.is_allowed(), rule == "open", "{reply}");
            assert!(decision.is_without_figures());
            let (took, most) = (start.elapsed(), PATIENT + ms(5));
            assert!(took <= most, "{reply}: an answer took {took:?}");
        }
    }

    async fn source(&self) -> Source {
        self.limiter.rule("open").unwrap().check("alice").await.source()
    }
}

/// Goal: each error gives the decision of the rule in time; the connection is kept or dropped, and the
/// breaker opens, as the contract says; and it is over when the server is well. No secret is told.
/// Method: for each, a server that answers well, then with the error to some calls, then well again.
#[test]
fn every_error_of_a_server_gets_what_the_contract_says() {
    let _turn = turn();
    let runtime = runtime();
    for (reply, class, drops, breaks) in REPLIES {
        let bench = Bench::new(PATIENT);
        let store = || runtime.block_on(async { bench.source().await }) == Source::Store;
        wait_until("the fake server is used", store);
        bench.fake.clear();
        bench.witness.clear();
        let bytes = format!("{reply}\r\n").into_bytes();
        bench.fake.answer(match class {
            // Who is not let in learns that when it logs in.
            Class::Denied => Answer::Bytes(bytes),
            _ => Answer::Scripts(bytes),
        });
        runtime.block_on(async {
            for _ in 0..6 {
                bench.falls_back(reply).await;
            }
        });
        let sent = bench.fake.count("EVALSHA");
        let most = match breaks {
            Breaks::Opens => 1,
            Breaks::Counts => IN_A_ROW,
            Breaks::No => 24,
        };
        assert_eq!(sent, most, "{reply}: calls that were made, of twelve");
        assert_eq!(bench.witness.count(Class::Open) > 0, breaks != Breaks::No, "{reply}");
        assert_eq!(bench.witness.classes(), [class], "{reply}");
        let (fake, sees_probes) = (&bench.fake, breaks != Breaks::No);
        wait_until("the connection is made anew, or probes come by the one that is there", || {
            if drops { fake.accepts() > 0 } else { fake.count("EVAL") >= 2 || !sees_probes }
        });
        assert_eq!(fake.accepts() > 0, drops, "{reply}: connections were made anew");
        let texts = bench.witness.texts();
        assert!(!texts.iter().any(|text| text.contains(SECRET)), "{texts:?}");
        bench.fake.answer(Answer::Well);
        let start = Instant::now();
        wait_until("the fake server is used again", store);
        let most = ms(if class == Class::Denied { 2_500 } else { 1_000 });
        assert!(start.elapsed() <= most * 2, "{reply}: after {:?}", start.elapsed());
        let known = ["EVAL", "EVALSHA", "AUTH"];
        assert!(bench.fake.calls().iter().all(|call| known.contains(&&*call.name)));
    }
}

/// Goal: however many calls were under way on a connection that is lost, that is one failure, and the
/// next call is made. (Once, five calls on one lost connection opened the breaker.)
/// Method: many calls, whose scripts are not answered when the connection is cut; those who wait go by
/// the next one, and so does one more.
#[test]
fn a_lost_connection_is_one_failure_however_many_calls_it_had() {
    let bench = Bench::new(ms(10_000));
    let runtime = runtime();
    let store = || runtime.block_on(async { bench.source().await }) == Source::Store;
    wait_until("the fake server is used", store);
    bench.fake.clear();
    bench.fake.answer(Answer::Silence);
    let rule = bench.limiter.rule("open").unwrap();
    let call = |rule: Rule| async move { rule.check("alice").await.source() };
    let calls: Vec<_> = (0..200).map(|_| runtime.spawn(call(rule.clone()))).collect();
    wait_until("scripts are under way", || bench.fake.count("EVALSHA") >= 1);
    bench.fake.answer(Answer::Well);
    bench.fake.hang_up();
    let sources = calls.into_iter().map(|call| runtime.block_on(call).unwrap());
    let (stored, lost): (Vec<_>, Vec<_>) = sources.partition(|own| *own == Source::Store);
    assert!(!lost.is_empty() && lost.iter().all(|own| *own == Source::FailedOpen), "{lost:?}");
    assert_eq!(bench.witness.classes(), [Class::Connection]);
    let counted = bench.witness.count(Class::Connection);
    assert_eq!(counted, 200 - stored.len() as u64, "{:?}", bench.witness);
    assert!(store(), "{:?}", bench.witness);
    assert_eq!(bench.witness.count(Class::Open), 0, "{:?}", bench.witness);
}
