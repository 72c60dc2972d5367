//! `CL.THROTTLE` as redis-cell answers, `THROTTLE` as throttlecrab does, asked by `redis-cli`.
//!
//! Invariant: all questions of a test go over one connection, and every place of every reply is compared.

use crate::places::same;
use crate::server::Server;
use crate::shell::batch;

/// Asks each line, and compares the five places of each reply.
fn asks(questions: &[(&str, [&str; 5])]) {
    let server = Server::new("rules: []");
    let lines: Vec<&str> = questions.iter().map(|(line, _)| *line).collect();
    let said = batch(&server, &[], format!("{}\n", lines.join("\n")).as_bytes());
    let expected: Vec<&str> = questions.iter().flat_map(|(_, reply)| *reply).collect();
    same(&said.lines(), &expected);
}

/// Goal: who asked redis-cell can ask here, with no other line.
/// Method: until refused; a look; what can never fit; another period; another burst.
#[test]
fn throttles_are_answered_as_redis_cell_does() {
    asks(&[
        ("CL.THROTTLE ann 2 3 60", ["0", "3", "2", "-1", "20"]),
        ("CL.THROTTLE ann 2 3 60 1", ["0", "3", "1", "-1", "<=40"]),
        ("cl.throttle ann 2 3 60 1", ["0", "3", "0", "-1", "<=60"]),
        ("CL.THROTTLE ann 2 3 60", ["1", "3", "0", "<=20", "<=60"]),
        ("CL.THROTTLE bob 2 3 60 0", ["0", "3", "3", "-1", "0"]),
        ("CL.THROTTLE bob 2 3 60 4", ["1", "3", "3", "-1", "0"]),
        ("CL.THROTTLE ann 2 3 61", ["0", "3", "2", "-1", "21"]),
        ("CL.THROTTLE ann 5 3 60", ["0", "6", "2", "-1", "<=80"]),
    ]);
}

/// Goal: who asked throttlecrab can ask here, with no other line.
/// Method: until refused; a look; what can never fit.
#[test]
fn throttles_are_answered_as_throttlecrab_does() {
    asks(&[
        ("THROTTLE ann 3 3 60", ["1", "3", "2", "20", "0"]),
        ("THROTTLE ann 3 3 60 1", ["1", "3", "1", "<=40", "0"]),
        ("throttle ann 3 3 60 1", ["1", "3", "0", "<=60", "0"]),
        ("THROTTLE ann 3 3 60", ["0", "3", "0", "<=60", "<=20"]),
        ("THROTTLE bob 3 3 60 0", ["1", "3", "3", "0", "0"]),
        ("THROTTLE bob 3 3 60 4", ["0", "3", "3", "0", "-1"]),
    ]);
}
