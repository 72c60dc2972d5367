//! Histories as text: what is written is read back, and what is broken is told with its line.

use super::{Dice, Made, judged, rules};
use ratekeeper_server::audit::{
    COST_MAX, Episode, History, LINE_MAX, Outcome, Record, Source, WALL_MAX,
};

fn read(text: &[u8]) -> Result<History, String> {
    History::read("h.txt", &mut &text[..]).map_err(|bad| bad.to_string())
}

fn written(history: &History) -> String {
    let mut bytes = Vec::new();
    history.write(&mut bytes).expect("memory takes it");
    String::from_utf8(bytes).expect("it is text")
}

/// Goal: what is written is read back as it was, whatever names are made of.
/// Method: names with spaces, controls, percent signs, other scripts, and none; every figure at its ends.
#[test]
fn a_history_is_read_back_as_it_was_written() {
    let mut made = Made::default();
    for key in ["alice", "a b", "100%", "tab\tnewline\n", "naïve 🦀", "", "%", "#", "a=b&c"] {
        let record = Record { key, rule: key, node: key, ..made.next() };
        made.record(&record);
        made.record(&Record { retry: Some(5), source: Source::Lease, id: u64::MAX, ..record });
        made.record(&Record {
            remaining: Some(0),
            outcome: Outcome::Error,
            cost: COST_MAX,
            ..record
        });
        made.record(&Record { remaining: Some(7), retry: Some(0), invoke: u64::MAX, ..record });
    }
    made.0.clock = Some((12, WALL_MAX));
    made.0.sent = Some(u64::MAX);
    made.0.episodes.push(Episode { name: "split_brain".into(), start: 4, end: 5 });
    made.0.episodes.push(Episode { name: "two words".into(), start: 1, end: u64::MAX });
    let text = written(&made.0);
    let again = read(text.as_bytes()).expect("it is a history");
    assert!(again.records().eq(made.0.records()));
    assert_eq!((again.clock, again.sent), (made.0.clock, made.0.sent));
    assert_eq!(again.episodes, made.0.episodes);
    assert!(text.contains(" a%20b ") && text.contains(" naïve%20🦀 "), "{text}");
}

/// Goal: a line that is wrong is told with its number, fault and repair.
/// Method: a table of lines behind a comment and an empty line.
#[test]
fn a_broken_line_is_told_with_its_number() {
    let good = "1 n k r 1 1 5 6 allow store";
    let table = [
        ("1 n k r 1 1 5 6 allow", "9 fields; write `id node key"),
        ("1 n k r 1 1 5 6 allow store 7", "11 fields; write both"),
        ("1 n k r 1 1 5 6 allow store 7 8 9", "more than 12 fields; percent-encode"),
        ("x n k r 1 1 5 6 allow store", "id is `x`; write a whole number"),
        ("1 n k r 1 -1 5 6 allow store", "cost is `-1`; write a whole number"),
        ("1 n k r 1 +1 5 6 allow store", "cost is `+1`; write a whole number"),
        ("1 n k r 1 1099511627777 5 6 allow store", "a cost above 1099511627776; write"),
        ("1 n k r 4294967296 1 5 6 allow store", "`rule_version` is above 4294967295"),
        ("1 n k r 1 1 5 18446744073709551616 allow store", "t_complete is `18446744073709551616`"),
        ("1 n k r 1 1 5 6 allowed store", "outcome is `allowed`; write allow | deny | error"),
        ("1 n k r 1 1 5 6 allow redis", "source is `redis`; write store | lease"),
        ("1  k r 1 1 5 6 allow store", "an empty field; write one space"),
        ("1 n %zz r 1 1 5 6 allow store", "`%zz` has a `%` without two digits"),
        ("1 n %ff r 1 1 5 6 allow store", "`%ff` is no UTF-8"),
        ("1 n a\tb r 1 1 5 6 allow store", "a control character; percent-encode it"),
        ("fault_end 5 x", "`x` has not begun"),
        ("fault_start 5", "a marker with too few or too many fields"),
        ("clock 5 x", "the wall clock is `x`"),
        ("sent -", "the number of requests is `-`"),
        ("1 n k r 1 1 5 6 deny store 18446744073709551615 -", "retry_ns is too large"),
    ];
    for (line, fault) in table {
        let told = read(format!("# a comment\n\n{good}\n{line}\n{good}\n").as_bytes()).unwrap_err();
        assert!(told.starts_with(&format!("h.txt:4: {fault}")), "{line}: {told}");
        assert!(told.contains("; "), "{told}");
    }
    assert!(read(b"\xff\n").unwrap_err().starts_with("h.txt:1: bytes that are no UTF-8"));
    let long = "9".repeat(LINE_MAX + 1);
    assert!(read(long.as_bytes()).unwrap_err().starts_with("h.txt:1: a line of more than"));
    assert_eq!(read(good.as_bytes()).map(|history| history.len()), Ok(1), "without a line's end");
}

/// Goal: no history makes the audit panic or overflow, whatever its numbers are.
/// Method: random operations of the largest and smallest figures, faults and clocks at the ends of time.
#[test]
fn numbers_at_their_ends_are_judged() {
    let ends = [0, 1, 999, 1_000, u64::MAX / 2, u64::MAX - 1_000, u64::MAX - 1, u64::MAX];
    let limits = [
        ("fixed_window", "1099511627776/3650d"),
        ("sliding_window_log", "10000/1ms"),
        ("sliding_window_counter", "137438953471/365d"),
        ("token_bucket", "1099511627776/365d"),
        ("leaky_bucket", "1/1ms"),
    ];
    for (seed, (algorithm, limit)) in (0..200).flat_map(|seed| limits.map(|each| (seed, each))) {
        let mut dice = Dice(seed);
        let mut made = Made::default();
        for _ in 0..30 {
            let [invoke, other] = [0, 1].map(|_| ends[dice.roll(8) as usize]);
            let outcome = Outcome::ALL[dice.roll(3) as usize];
            let source = Source::ALL[dice.roll(7) as usize];
            let cost = [0, 1, COST_MAX][dice.roll(3) as usize];
            let retry = Some(ends[dice.roll(7) as usize]);
            let complete = if dice.roll(9) == 0 { other } else { invoke.max(other) };
            let record = Record { cost, invoke, complete, outcome, source, retry, ..made.next() };
            made.record(&Record { remaining: retry, ..record });
        }
        for name in ["state_lost", "failover", "split_brain", "local"] {
            let [start, end] = [0, 1].map(|_| ends[dice.roll(8) as usize]);
            made.0.episodes.push(Episode { name: name.into(), start, end });
        }
        if seed % 2 == 0 {
            made.0.clock = Some((ends[dice.roll(8) as usize], dice.roll(WALL_MAX)));
        }
        let report = judged(&made.0, &rules(algorithm, limit), 1 + dice.roll(65_535) as u32);
        assert_eq!(report.operations, 30);
    }
}
