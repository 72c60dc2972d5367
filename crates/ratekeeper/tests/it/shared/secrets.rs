//! Passwords and other secrets: used, and never shown.
//!
//! Invariant: whatever the password is, and however wrong the URL, no text of ours has it.

use proptest::prelude::*;
use ratekeeper::RedisConfig;

/// Capitals, which our messages have few of, and what has a meaning in a URL.
fn password() -> impl Strategy<Value = String> {
    proptest::string::string_regex("[A-Z@:/?#%,;+=&!\\[\\]]{4,24}").unwrap()
}

/// With everything but capitals as `%40`.
fn encoded(text: &str) -> String {
    let digits = |c: char| match c.is_ascii_uppercase() {
        true => c.to_string(),
        false => format!("%{:02x}", u32::from(c)),
    };
    text.chars().map(digits).collect()
}

/// All that can be seen of a URL.
fn texts(url: &str) -> Vec<String> {
    match RedisConfig::new(url) {
        Ok(config) => {
            let wrong = config.clone().prefix("").unwrap_err();
            vec![config.to_string(), format!("{config:?}"), wrong.to_string(), format!("{wrong:?}")]
        }
        Err(error) => vec![error.to_string(), format!("{error:?}")],
    }
}

proptest! {
    /// Goal: a password is in no text, whether it is written as it is or encoded, in a URL that is
    /// right or wrong.
    /// Method: random passwords in URLs of every kind and with every kind of fault behind them.
    #[test]
    fn a_password_is_never_shown(password in password()) {
        let encoded = encoded(&password);
        for written in [&password, &encoded] {
            for url in [
                format!("redis://user:{written}@host:6379/0"),
                format!("redis://:{written}@host"),
                format!("rediss://user:{written}@host"),
                format!("redis-cluster://user:{written}@a,b"),
                format!("redis-sentinel://user:{written}@s/main"),
                format!("redis-sentinel://user:{written}@s"),
                format!("redis://user:{written}@host:port"),
                format!("redis://user:{written}@host/db"),
                format!("redis://user:{written}@"),
                format!("http://user:{written}@host"),
                format!("user:{written}@host"),
                format!("redis://host/0?password={written}"),
            ] {
                for text in texts(&url) {
                    prop_assert!(!text.contains(&password) && !text.contains(written), "{url}: {text}");
                }
            }
        }
    }

    /// Goal: an encoded password is read, whatever is in it; and secrets that are given apart are not
    /// shown either.
    /// Method: a URL that is right shows three stars, and no secret.
    #[test]
    fn a_secret_that_is_given_apart_is_never_shown(password in password()) {
        let url = format!("redis://user:{}@host", encoded(&password));
        prop_assert_eq!(&texts(&url)[0], "redis://user:***@host:6379/0");
        let config = RedisConfig::new("redis://host").unwrap();
        let config = config.password(&password).key_secret(password.as_bytes());
        let config = config.ca(password.as_bytes());
        prop_assert_eq!(config.to_string(), "redis://:***@host:6379/0");
        prop_assert_eq!(format!("{config:?}"), "RedisConfig(\"redis://:***@host:6379/0\")");
    }
}
