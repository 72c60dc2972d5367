//! Keys: whatever is in them, they are told apart, and names in the store are plain.
//!
//! Invariant: no byte of a user's key is in a name.

use super::shapes::SECOND;
use super::stand::Stand;
use ratekeeper::{Key, Rule};

/// Longest name under the prefix `rk`: beyond 30 bytes the server takes more memory for it.
const NAME_MAX: usize = 30;

/// Keys of one part that look alike, or that would break a name.
fn odd() -> Vec<Vec<u8>> {
    let texts = [
        "",
        " ",
        "  ",
        "a",
        "A",
        "a ",
        "{",
        "}",
        "{}",
        "{a}",
        "{a}b",
        "}{",
        "rk:{AAA}x",
        "*",
        "?",
        "[a]",
        "\0",
        "a\0",
        "\0a",
        "\r\n",
        "a\r\nb",
        "a\nb",
        "$1\r\na",
        "\u{e9}",
        "e\u{301}",
        ":",
        "a:",
        "a_b",
        "ab",
        "\u{feff}a",
        "'",
        "\"",
        "\\",
        "%00",
        "../x",
    ];
    let mut keys: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    keys.extend([vec![0xff], vec![0xff, 0xfe], vec![0xc3, 0x28], vec![0; 3], vec![0; 4]]);
    let mut long = vec![b'k'; 64 * 1024];
    keys.push(long.clone());
    long[40_000] = b'l';
    keys.push(long.clone());
    long.pop();
    keys.push(long);
    keys
}

/// Keys of several parts that look alike when they are joined.
fn tuples() -> Vec<Vec<&'static str>> {
    let several: [&[&str]; 14] = [
        &["a", "bc"],
        &["ab", "c"],
        &["abc", ""],
        &["", "abc"],
        &["a", "b", "c"],
        &["a_b", "c"],
        &["a", "b_c"],
        &["a:b", "c"],
        &["a", "b:c"],
        &["", ""],
        &["", "", ""],
        &["a", "bc", ""],
        &["a\0", "bc"],
        &["a", "\0bc"],
    ];
    several.map(<[&str]>::to_vec).into()
}

/// Each has a bucket of its own: one that nobody has touched, and then one without what it spent.
async fn spends(rule: &Rule, key: impl Key + Copy, spent: u64) {
    assert_eq!(rule.peek(key).await.remaining(), 1_000, "key {spent} is another's");
    assert_eq!(rule.check(key).cost(spent).await.remaining(), 1_000 - spent);
}

async fn spend_all(rule: &Rule) -> u64 {
    let mut spent = 0;
    for key in odd() {
        spent += 1;
        spends(rule, &key[..], spent).await;
    }
    for key in tuples() {
        spent += 1;
        spends(rule, &key[..], spent).await;
    }
    spent
}

pub(super) async fn distinct(stand: Stand) {
    let (_limiter, rule) = stand.one("1000/day");
    let all = spend_all(&rule).await;
    let mut spent = 0;
    for key in odd() {
        spent += 1;
        assert_eq!(rule.peek(&key[..]).await.remaining(), 1_000 - spent);
    }
    for key in tuples() {
        spent += 1;
        assert_eq!(rule.peek(&key[..]).await.remaining(), 1_000 - spent);
    }
    assert_eq!(spent, all);
    assert_eq!(rule.peek(["abc"]).await, rule.peek("abc").await, "one part is that part");
    if stand.place.is_shared() {
        assert_eq!(stand.names().len() as u64, all);
    }
}

/// Whether it is `prefix:{` digits `}` digits, with nothing but letters, digits, `-` and `_`.
fn is_plain(name: &[u8], prefix: &str) -> bool {
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(digit);
    let Some(rest) = name.strip_prefix(prefix.as_bytes()) else { return false };
    let Some(rest) = rest.strip_prefix(b":{") else { return false };
    let Some(end) = rest.iter().position(|byte| *byte == b'}') else { return false };
    digits(&rest[..end]) && digits(&rest[end + 1..])
}

pub(super) async fn names(stand: Stand) {
    let plain = Stand::new(&stand.place, "rk");
    let builder = plain.builder().rule("rule", "1000/day").expect("a rule");
    let builder = builder.rule("a-rule.of_a-long.name", ["9/minute", "9/hour"]).expect("a rule");
    let limiter = builder.rule("slots", "9 concurrent").expect("a rule").build();
    let spent = spend_all(&limiter.rule("rule").expect("a rule")).await;
    for name in ["a-rule.of_a-long.name", "slots"] {
        for key in odd() {
            assert!(limiter.rule(name).expect("a rule").check(&key[..]).await.is_allowed());
        }
    }
    let names = plain.names();
    // Two limits each, and of permits the count and the record.
    assert_eq!(names.len() as u64, spent + 4 * odd().len() as u64);
    for name in &names {
        let text = String::from_utf8_lossy(name);
        assert!(is_plain(name, "rk"), "{text}");
        assert!(name.len() <= NAME_MAX, "{text} has {} bytes", name.len());
    }
    plain.wait(SECOND);
    assert_eq!(plain.failures(), Vec::<String>::new());
}
