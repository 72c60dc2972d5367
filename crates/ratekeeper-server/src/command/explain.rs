//! `ratekeeper explain`: which rules a request meets, which key, which limits, and why; by a rule file,
//! without a server.
//!
//! Invariant: nothing is charged, and nothing is asked of the store that the file names.

pub(super) mod text;

use super::banner::SOMEBODY;
use super::{Failure, plain, runtime};
use crate::args::Explain;
use crate::config::Config;
use crate::door::is_token_byte;
use crate::serve::{HEADER_BYTES_MAX, HEADERS_MAX};
use ratekeeper::{Limiter, Request};
use std::io::{self, Write};
use std::process::ExitCode;

pub(super) fn run(args: &Explain) -> Result<ExitCode, Failure> {
    let Some(path) = &args.config else {
        return Err(Failure::new(
            "no rule file is named; write `--config PATH`, or set `RATEKEEPER_CONFIG`",
        ));
    };
    let headers = args.headers.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        let most = format!("{HEADERS_MAX} header fields and {HEADER_BYTES_MAX} bytes");
        return Err(Failure::new(format!("`-H` gives more than {most}; give fewer")));
    }
    let config = Config::read(path)?;
    let limiter = Limiter::memory().rules(config.file.rules).build();
    let named = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let request = Request {
        host: args.host.as_deref().or(named.map(|(_, host)| *host)),
        peer: Some(args.ip.unwrap_or(SOMEBODY)),
        headers: &headers,
        user: args.user.as_deref(),
        tier: args.tier.as_deref(),
        ..Request::new(&args.method, &args.path)
    };
    let build = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let explained = match limiter.prepare(&request) {
        Ok(_) => runtime(build)?.block_on(limiter.explain(&request)),
        Err(rejected) => Err(rejected),
    };
    let (text, code) = match (explained, args.json) {
        (Ok(explained), true) => (text::json(&explained), 0),
        (Ok(explained), false) => (text::human(&explained, args), 0),
        (Err(rejected), true) => {
            let rejected = rejected.to_string();
            (serde_json::json!({"status": 400, "rejected": rejected}).to_string(), 1)
        }
        (Err(rejected), false) => {
            let text = format!("this request would be answered with 400: {rejected}");
            (plain(&text), 1)
        }
    };
    // Whoever closed stdout has the exit code.
    let _ = writeln!(io::stdout(), "{text}");
    Ok(ExitCode::from(code))
}

/// A header field as it is written on the wire.
fn header(line: &str) -> Result<(&str, &str), Failure> {
    let found = line.split_once(':').map(|(name, value)| (name, value.trim_ascii()));
    let fits = |(name, value): &(&str, &str)| {
        let control = value.chars().any(|c| c.is_ascii_control() && c != '\t');
        !name.is_empty() && name.bytes().all(is_token_byte) && !control
    };
    found.filter(fits).ok_or_else(|| {
        let repair = "write `-H 'Name: value'`";
        Failure::new(format!("`-H {line}` is not a header field; {repair}"))
    })
}
