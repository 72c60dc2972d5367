//! Passwords, versions, and what clients say and ask before they ask for decisions.

use super::{RULES, Stand, Value, command, list};
use crate::folder::Folder;
use ratekeeper_server::door::resp::Password;
use ratekeeper_server::serve::Bounds;
use std::time::Duration;

const SECRET: &str = "0123456789abcdef";

fn locked(bounds: Bounds) -> Stand {
    let folder = Folder::of(&[("password", &format!("{SECRET}\n"))]);
    let password = Password::open(folder.as_path().join("password").as_path());
    Stand::with(RULES, Some(password.expect("it is long enough")), bounds)
}

fn is_error(value: &Value, code: &str) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(code))
}

/// Goal: nothing is told or done before the password; by `AUTH` in both forms, or with `HELLO`.
/// Method: commands, wrong passwords and wrong users, then each right way in.
#[test]
fn nobody_asks_without_the_password() {
    let stand = locked(Bounds::default());
    let mut client = stand.client();
    for words in
        [&["PING"][..], &["RK.CHECK", "small", "a"], &["INFO"], &["COMMAND"], &["HELLO", "3"]]
    {
        assert!(is_error(&client.ask(words), "NOAUTH "), "{words:?}");
    }
    for words in [&["AUTH", "wrong"][..], &["AUTH", "default", "wrong"], &["AUTH", "root", SECRET]]
    {
        assert!(is_error(&client.ask(words), "WRONGPASS "), "{words:?}");
    }
    assert!(is_error(&client.ask(&["HELLO", "3", "AUTH", "default", "wrong"]), "WRONGPASS "));
    assert_eq!(client.ask(&["AUTH", SECRET]), "OK".into());
    assert_eq!(client.ask(&["PING"]), "PONG".into());
    assert_eq!(stand.client().ask(&["AUTH", "default", SECRET]), "OK".into());
    let hello = ["HELLO", "3", "AUTH", "default", SECRET, "SETNAME", "me"];
    let mut client = stand.client();
    assert!(matches!(client.ask(&hello), Value::List(items) if items.len() == 14));
    assert_eq!(client.ask(&["CLIENT", "GETNAME"]), "me".into());
}

/// Goal: who guesses is cut off; before the password a command is small, and there is not for ever.
/// Method: guesses, a long password, many arguments, and half a command with a short bound.
#[test]
fn strangers_have_little_room() {
    let bounds = Bounds { header: Duration::from_millis(300), ..Bounds::default() };
    let stand = locked(bounds);
    let mut client = stand.client();
    for _ in 0..8 {
        assert!(is_error(&client.ask(&["AUTH", "wrong"]), "WRONGPASS "));
    }
    assert!(client.is_over(), "eight guesses are enough");
    let mut client = stand.client();
    assert!(is_error(&client.ask(&["AUTH", &"x".repeat(257)]), "ERR Protocol error: "));
    assert!(client.is_over());
    let mut client = stand.client();
    assert!(is_error(&client.ask(&["a"; 8]), "ERR Protocol error: more than 7 arguments"));
    assert!(client.is_over());
    let mut client = stand.client();
    client.send(b"*1\r\n$4\r\nPI");
    assert!(client.is_over(), "nobody waits for ever for a password");
}

/// Goal: both versions are spoken; maps and nulls are those of the version.
/// Method: what each version says of itself, and wrong ones.
#[test]
fn both_versions_are_spoken() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    client.send(&command(&["HELLO"]));
    let Value::List(two) = client.reply() else { panic!() };
    assert_eq!(
        (&two[..4], &two[5]),
        (
            &[
                Value::from("server"),
                "ratekeeper".into(),
                "version".into(),
                env!("CARGO_PKG_VERSION").into()
            ][..],
            &2.into()
        )
    );
    client.send(&command(&["HELLO", "3"]));
    let Value::List(three) = client.reply() else { panic!() };
    assert_eq!((three.len(), &three[5]), (14, &3.into()));
    client.send(&command(&["RK.PEEK", "small", "a"]));
    assert!(matches!(client.reply(), Value::List(items) if items[7] == Value::Null));
    assert!(is_error(&client.ask(&["HELLO", "4"]), "NOPROTO "));
    assert!(is_error(&client.ask(&["HELLO", "2", "WHAT"]), "ERR "));
    assert!(is_error(&client.ask(&["AUTH", "x"]), "ERR there is no password here"));
}

/// Goal: what clients and tools ask when they connect is answered.
/// Method: what client libraries, redis-cli and redis-benchmark send, with whole replies where they are
/// short.
#[test]
fn greetings_are_answered() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    assert_eq!(client.ask(&["CLIENT", "SETINFO", "lib-name", "x"]), "OK".into());
    assert_eq!(client.ask(&["CLIENT", "GETNAME"]), Value::Null);
    assert_eq!(client.ask(&["CLIENT", "SETNAME", "worker-1"]), "OK".into());
    assert_eq!(client.ask(&["CLIENT", "GETNAME"]), "worker-1".into());
    assert!(is_error(&client.ask(&["CLIENT", "SETNAME", "a b"]), "ERR "));
    assert!(matches!(client.ask(&["CLIENT", "ID"]), Value::Integer(id) if id > 0));
    assert!(is_error(&client.ask(&["CLIENT", "KILL"]), "ERR unknown subcommand"));
    assert_eq!(client.ask(&["SELECT", "0"]), "OK".into());
    assert!(is_error(&client.ask(&["SELECT", "1"]), "ERR DB index"));
    assert_eq!(client.ask(&["CONFIG", "GET", "save"]), list!("save", ""));
    assert_eq!(client.ask(&["CONFIG", "GET", "maxmemory"]), list!());
    assert!(is_error(&client.ask(&["CONFIG", "SET", "save", "x"]), "ERR "));
    let Value::Integer(count) = client.ask(&["COMMAND", "COUNT"]) else { panic!() };
    assert!(matches!(client.ask(&["COMMAND"]), Value::List(items) if items.len() as i64 == count));
    assert!(
        matches!(client.ask(&["COMMAND", "LIST"]), Value::List(items) if items.len() as i64 == count)
    );
    assert_eq!(client.ask(&["COMMAND", "DOCS"]), list!());
    assert!(
        matches!(client.ask(&["COMMAND", "INFO", "rk.check", "get"]), Value::List(items) if items[1] == Value::Null)
    );
    assert!(matches!(client.ask(&["INFO"]), Value::Text(text) if text.contains("loading:0\r\n")));
    assert_eq!(client.ask(&["PING", "hello"]), "hello".into());
    assert_eq!(client.ask(&["QUIT"]), "OK".into());
    assert!(client.is_over());
}
