//! A client's commands, each done in its turn.
//!
//! Invariant: a client that has not said the password, where there is one, can do nothing else.

use super::args::{Options, Wrong, cost, key, name, shown, text};
use super::connection::Input;
use super::frame::{Bounds, Command, parse};
use super::greeting::{self, Client};
use super::pipeline::{CHECK_KEY, Pipeline, split};
use super::reply::Replies;
use super::throttle::{Limits, Way};
use super::word::{Known, Word, find};
use super::{OUTPUT_MAX, Resp, check};
use crate::admin;
use crate::decisions::Asked;
use crate::observe::{Door, through};

/// A client, and what it has asked.
pub(super) struct Session {
    resp: Resp,
    client: Client,
    limits: Limits,
    pipeline: Pipeline,
}

impl Session {
    pub(super) fn new(resp: Resp) -> Session {
        let client = Client::new(resp.password.as_deref());
        Session { resp, client, limits: Limits::default(), pipeline: Pipeline::default() }
    }

    /// Whether the client may ask.
    pub(super) fn is_known(&self) -> bool {
        self.client.is_known
    }

    /// Keeps nothing that is not needed until there is another command.
    pub(super) fn rest(&mut self) {
        self.pipeline.rest();
        self.limits = Limits::default();
    }

    /// Answers what has come, as much as is decided together; whether the connection goes on, and whether there may be
    /// more.
    pub(super) async fn answer(&mut self, input: &mut Input, output: &mut Vec<u8>) -> (bool, bool) {
        let bytes = &input.bytes[..input.end];
        let (mut on, mut more) = (true, true);
        let mut command = Command::default();
        while on && !self.pipeline.is_full() && output.len() < OUTPUT_MAX {
            let bounds = if self.client.is_known { Bounds::FULL } else { Bounds::STRANGER };
            let used = match parse(&bytes[input.start..], bounds, &mut command) {
                Ok(Some(used)) => used,
                Ok(None) => {
                    more = false;
                    break;
                }
                Err(fault) => {
                    let mut replies = self.flushed(bytes, output).await;
                    replies.error("ERR", format_args!("Protocol error: {fault}"));
                    on = false;
                    break;
                }
            };
            let at = input.start;
            input.start += used;
            if !command.is_empty() {
                on = self.take(&command, at, bytes, output).await;
            }
        }
        self.flushed(bytes, output).await;
        (on, more)
    }

    /// Where replies go, once all before them were made.
    async fn flushed<'o>(&mut self, bytes: &[u8], output: &'o mut Vec<u8>) -> Replies<'o> {
        let mut replies = Replies { out: output, three: self.client.three };
        if !self.pipeline.is_empty() {
            self.pipeline.flush(&self.resp.app, bytes, &mut replies).await;
        }
        replies
    }

    /// Does what a command says, or puts it with those that are decided together; whether the connection goes on.
    async fn take(
        &mut self,
        command: &Command<'_>,
        at: usize,
        bytes: &[u8],
        output: &mut Vec<u8>,
    ) -> bool {
        let known = find(command[0]).filter(|known| known.takes(command.len()));
        if let Some(known) = known.filter(|_| self.client.is_known) {
            let (limiter, pipeline) = (&self.resp.app.limiter, &mut self.pipeline);
            let waits = match known.word {
                Word::Check => pipeline.check(limiter, command, at, false),
                Word::Peek => pipeline.check(limiter, command, at, true),
                Word::CellThrottle => {
                    pipeline.throttle(limiter, &mut self.limits, command, (at, Way::Cell))
                }
                Word::Throttle => {
                    pipeline.throttle(limiter, &mut self.limits, command, (at, Way::Crab))
                }
                _ => {
                    let mut replies = self.flushed(bytes, output).await;
                    return self.act(known, command, &mut replies).await;
                }
            };
            if let Err(wrong) = waits {
                self.flushed(bytes, output).await.error("ERR", wrong);
            }
            return true;
        }
        let mut replies = self.flushed(bytes, output).await;
        match known {
            Some(known) if matches!(known.word, Word::Hello | Word::Auth | Word::Quit) => {
                self.act(known, command, &mut replies).await
            }
            _ if !self.client.is_known => {
                replies.error("NOAUTH", "Authentication required.");
                !command.is_line
            }
            _ => {
                match find(command[0]) {
                    Some(known) => {
                        let name = known.name;
                        replies.error(
                            "ERR",
                            format_args!("wrong number of arguments for '{name}' command"),
                        );
                    }
                    None => {
                        let name = shown(command[0]);
                        replies.error(
                            "ERR",
                            format_args!("unknown command '{name}'; see COMMAND LIST"),
                        );
                    }
                }
                // A line that is no command of ours may be of another protocol, sent by who was led here.
                !command.is_line
            }
        }
    }

    /// Does what a command says that is no decision among others; whether the connection goes on.
    async fn act(
        &mut self,
        known: &Known,
        command: &Command<'_>,
        replies: &mut Replies<'_>,
    ) -> bool {
        let args = &command[1..];
        let done = match known.word {
            Word::Reserve => self.reserve(command, replies).await,
            Word::Settle | Word::Cancel => self.settle(args, replies).await,
            Word::Release => self.release(args, replies).await,
            Word::Reset => self.reset(command, replies).await,
            Word::Auth => {
                self.client.auth(&self.resp, args, replies);
                return !self.client.is_over();
            }
            Word::Hello => {
                self.client.hello(&self.resp, args, replies);
                return !self.client.is_over();
            }
            Word::Quit => {
                replies.ok();
                return false;
            }
            word => {
                self.small(word, args, replies);
                Ok(())
            }
        };
        if let Err(wrong) = done {
            replies.error("ERR", wrong);
        }
        true
    }

    /// What needs no waiting.
    fn small(&mut self, word: Word, args: &[&[u8]], replies: &mut Replies<'_>) {
        match (word, args) {
            (Word::Ping, []) => replies.simple("PONG"),
            (Word::Ping | Word::Echo, [text]) => replies.bulk(text),
            (Word::Select, [b"0"]) => replies.ok(),
            (Word::Select, _) => replies.error("ERR", "DB index is out of range; there is 0 alone"),
            (Word::Client, _) => self.client.client(args, replies),
            (Word::Command, _) => greeting::command(args, replies),
            (Word::Config, _) => greeting::config(args, replies),
            (Word::Info, _) => greeting::info(&self.resp, replies),
            _ => replies.error("ERR", "wrong number of arguments"),
        }
    }

    /// `RK.RESERVE rule key … [COST n] [TIER t]`.
    async fn reserve(&self, command: &Command<'_>, replies: &mut Replies<'_>) -> Result<(), Wrong> {
        let app = &self.resp.app;
        let rule = text(command[1], "rule")?;
        let parts = app.limiter.key_parts(rule).map_err(|unknown| unknown.to_string())?;
        let (keys, options) = split(command, parts)?;
        let options = Options::read(options, Some(1))?;
        let keys = keys.iter().map(|own| key(own)).collect::<Result<Vec<_>, _>>()?;
        let cost = options.cost.unwrap_or(1);
        let prepared = app.limiter.prepare_rule(rule, &keys, options.tier, cost);
        let prepared = prepared.map_err(|error| error.to_string())?;
        let reserved = through(Door::Resp, prepared.reserve()).await;
        let reserved = reserved.map_err(|full| full.to_string())?;
        check::reply(replies, &reserved, Some(reserved.hold()));
        let asked =
            || Asked { key: keys.iter().map(|&own| own.to_owned()).collect(), ..Asked::default() };
        let _ = app.refusals.note(app.limiter.now(), Door::Resp.name(), &reserved, asked);
        Ok(())
    }

    /// `RK.SETTLE hold cost`, and `RK.CANCEL hold`, which settles at nothing.
    async fn settle(&self, args: &[&[u8]], replies: &mut Replies<'_>) -> Result<(), Wrong> {
        let hold = name(args[0], "hold")?;
        let actual = args.get(1).map_or(Ok(0), |arg| cost(arg, 0))?;
        replies.integer(i64::from(self.resp.app.limiter.settle(hold, actual).await));
        Ok(())
    }

    /// `RK.RELEASE permit`.
    async fn release(&self, args: &[&[u8]], replies: &mut Replies<'_>) -> Result<(), Wrong> {
        let permit = name(args[0], "permit")?;
        replies.integer(i64::from(self.resp.app.limiter.release(permit).await));
        Ok(())
    }

    /// `RK.RESET rule key …`.
    async fn reset(&self, command: &Command<'_>, replies: &mut Replies<'_>) -> Result<(), Wrong> {
        let app = &self.resp.app;
        let rule = text(command[1], "rule")?;
        let keys =
            command[CHECK_KEY..].iter().map(|own| key(own)).collect::<Result<Vec<_>, _>>()?;
        match admin::forget(&app.limiter, rule, &keys).await? {
            true => replies.ok(),
            false => replies.error("ERR", "the store is away, so nothing was reset; try again"),
        }
        Ok(())
    }
}
