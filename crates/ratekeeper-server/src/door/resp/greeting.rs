//! What clients say and ask before they ask for decisions: who they are, whom they speak to, and in which version.
//!
//! Invariant: whoever has not said the password, where there is one, is told nothing but that.

use super::args::{Wrong, shown};
use super::reply::Replies;
use super::word::{Known, WORDS, find};
use super::{Password, Resp};
use std::sync::atomic::{AtomicU64, Ordering};

/// Wrong passwords on one connection. Beyond it the connection ends.
const WRONG_MAX: u32 = 8;

/// Longest name that a client gives itself.
const NAME_MAX: usize = 64;

/// What is known of the client of a connection.
#[derive(Debug)]
pub(super) struct Client {
    /// Whether it has asked for the third version of the protocol.
    pub(super) three: bool,
    /// Whether it may ask.
    pub(super) is_known: bool,
    wrong: u32,
    id: u64,
    name: Vec<u8>,
}

impl Client {
    pub(super) fn new(password: Option<&Password>) -> Client {
        static CLIENTS: AtomicU64 = AtomicU64::new(1);
        let (three, is_known, wrong, name) = (false, password.is_none(), 0, Vec::new());
        Client { three, is_known, wrong, id: CLIENTS.fetch_add(1, Ordering::Relaxed), name }
    }

    /// Whether it has guessed too often.
    pub(super) fn is_over(&self) -> bool {
        self.wrong >= WRONG_MAX
    }

    /// `AUTH [user] password`.
    pub(super) fn auth(&mut self, resp: &Resp, args: &[&[u8]], replies: &mut Replies<'_>) {
        let (user, given) = match args {
            [given] => (None, *given),
            [user, given] => (Some(*user), *given),
            _ => return replies.error("ERR", "syntax error; send AUTH [user] password"),
        };
        match &resp.password {
            None => replies.error("ERR", "there is no password here; leave AUTH out"),
            Some(_) if self.enter(resp, user, given) => replies.ok(),
            Some(_) => replies.error("WRONGPASS", "invalid username-password pair"),
        }
    }

    fn enter(&mut self, resp: &Resp, user: Option<&[u8]>, given: &[u8]) -> bool {
        let is_right = resp.password.as_ref().is_none_or(|own| own.is(user, given));
        self.is_known |= is_right;
        self.wrong += u32::from(!is_right);
        if let Some(password) = resp.password.as_ref().filter(|_| !is_right) {
            password.refused(resp.app.observe.up());
        }
        is_right
    }

    /// `HELLO [version [AUTH user password] [SETNAME name]]`.
    pub(super) fn hello(&mut self, resp: &Resp, args: &[&[u8]], replies: &mut Replies<'_>) {
        let three = match args {
            [] => self.three,
            [b"2", ..] => false,
            [b"3", ..] => true,
            _ => {
                return replies.error("NOPROTO", "unsupported protocol version; send 2 or 3");
            }
        };
        let (mut rest, mut name) = (args.get(1..).unwrap_or_default(), None);
        while !rest.is_empty() {
            rest = match rest {
                [word, user, given, rest @ ..] if word.eq_ignore_ascii_case(b"AUTH") => {
                    if !self.enter(resp, Some(*user), given) {
                        return replies.error("WRONGPASS", "invalid username-password pair");
                    }
                    rest
                }
                [word, own, rest @ ..] if word.eq_ignore_ascii_case(b"SETNAME") => {
                    name = Some(*own);
                    rest
                }
                _ => return replies.error("ERR", "syntax error in HELLO"),
            };
        }
        if !self.is_known {
            let why = "HELLO must be called with the client already authenticated, otherwise the HELLO \
                       <proto> AUTH <user> <pass> option can be used";
            return replies.error("NOAUTH", why);
        }
        if let Some(Err(wrong)) = name.map(|name| self.rename(name)) {
            return replies.error("ERR", wrong);
        }
        (self.three, replies.three) = (three, three);
        replies.map(7);
        for (name, value) in [("server", "ratekeeper"), ("version", env!("CARGO_PKG_VERSION"))] {
            replies.bulk(name);
            replies.bulk(value);
        }
        replies.bulk("proto");
        replies.integer(if three { 3 } else { 2 });
        replies.bulk("id");
        replies.integer(self.id.cast_signed());
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            replies.bulk(name);
            replies.bulk(value);
        }
        replies.bulk("modules");
        replies.array(0);
    }

    fn rename(&mut self, name: &[u8]) -> Result<(), Wrong> {
        if name.len() > NAME_MAX || !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
            return Err(format!("a name has at most {NAME_MAX} characters, and no spaces"));
        }
        self.name = name.to_vec();
        Ok(())
    }

    /// `CLIENT …`: what clients say of themselves.
    pub(super) fn client(&mut self, args: &[&[u8]], replies: &mut Replies<'_>) {
        let [word, rest @ ..] = args else { return };
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        match rest {
            [_, _] if is("SETINFO") => replies.ok(),
            [name] if is("SETNAME") => match self.rename(name) {
                Ok(()) => replies.ok(),
                Err(wrong) => replies.error("ERR", wrong),
            },
            [] if is("GETNAME") && self.name.is_empty() => replies.null(),
            [] if is("GETNAME") => replies.bulk(&self.name),
            [] if is("ID") => replies.integer(self.id.cast_signed()),
            _ => {
                let can = "there are SETINFO, SETNAME, GETNAME and ID";
                replies
                    .error("ERR", format!("unknown subcommand '{}' of CLIENT; {can}", shown(word)));
            }
        }
    }
}

/// `COMMAND …`: which commands there are.
pub(super) fn command(args: &[&[u8]], replies: &mut Replies<'_>) {
    let is = |name: &str| args.first().is_some_and(|own| own.eq_ignore_ascii_case(name.as_bytes()));
    match args {
        [] => {
            replies.array(WORDS.len());
            WORDS.iter().for_each(|known| about(known, replies));
        }
        [_] if is("COUNT") => replies.integer(WORDS.len() as i64),
        [_] if is("LIST") => {
            replies.array(WORDS.len());
            WORDS.iter().for_each(|known| replies.bulk(known.name));
        }
        // They have none that a client could show.
        _ if is("DOCS") => replies.map(0),
        [_, names @ ..] if is("INFO") => {
            replies.array(names.len());
            for name in names {
                match find(name) {
                    Some(known) => about(known, replies),
                    None => replies.null(),
                }
            }
        }
        _ => replies.error(
            "ERR",
            "there are COMMAND, COMMAND COUNT, COMMAND LIST, COMMAND INFO and COMMAND DOCS",
        ),
    }
}

fn about(Known { name, arity, key, .. }: &Known, replies: &mut Replies<'_>) {
    replies.array(6);
    replies.bulk(name);
    replies.integer(*arity);
    replies.array(1);
    replies.simple("fast");
    replies.integer(*key);
    replies.integer(*key);
    replies.integer(i64::from(*key > 0));
}

/// `CONFIG GET name …`: load tools ask for these first.
pub(super) fn config(args: &[&[u8]], replies: &mut Replies<'_>) {
    let [get, names @ ..] = args else { return };
    if !get.eq_ignore_ascii_case(b"GET") || names.is_empty() {
        return replies
            .error("ERR", "there is CONFIG GET alone; rules are changed by the rule file");
    }
    let known = [("save", ""), ("appendonly", "no")];
    let is = |name: &str| names.iter().any(|own| own.eq_ignore_ascii_case(name.as_bytes()));
    let asked: Vec<_> = known.iter().filter(|(name, _)| is(name)).collect();
    replies.map(asked.len());
    for (name, value) in asked {
        replies.bulk(name);
        replies.bulk(value);
    }
}

/// `INFO`: clients look for a version, and for whether data is still loaded.
pub(super) fn info(resp: &Resp, replies: &mut Replies<'_>) {
    let app = &resp.app;
    let (version, up) = (env!("CARGO_PKG_VERSION"), app.observe.up().as_secs());
    let (store, release, keys) =
        (app.store_kind(), app.limiter.version(), app.limiter.stats().keys);
    replies.bulk(format!(
        "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nserver_name:ratekeeper\r\n\
         ratekeeper_version:{version}\r\nuptime_in_seconds:{up}\r\n\r\n\
         # Persistence\r\nloading:0\r\n\r\n\
         # Replication\r\nrole:master\r\n\r\n\
         # Ratekeeper\r\nstore:{store}\r\nrelease:{release}\r\nkeys_in_memory:{keys}\r\n"
    ));
}
