//! The scripts of the library, run as Redis runs them.
//!
//! Invariant: a script sees the keys and the time of the server, and nothing of this machine.

use super::keys::Keys;
use super::packing;
use super::wire::Reply;
use mlua::{Error, Function, Lua, Result, Table, Value, Variadic};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// An interpreter, and the scripts that it knows by their hash.
#[derive(Debug)]
pub(super) struct Scripts {
    lua: Lua,
    known: HashMap<String, Function>,
}

impl Scripts {
    /// Scripts over these keys.
    pub(super) fn new(keys: &Rc<RefCell<Keys>>) -> Result<Scripts> {
        let lua = Lua::new();
        let redis = lua.create_table()?;
        let own = Rc::clone(keys);
        let call = move |lua: &Lua, args: Variadic<Value>| command(lua, &own, &args);
        redis.set("call", lua.create_function(call.clone())?)?;
        redis.set("pcall", lua.create_function(call)?)?;
        lua.globals().set("redis", redis)?;
        lua.globals().set("struct", packing::library(&lua)?)?;
        Ok(Scripts { lua, known: HashMap::new() })
    }

    /// Forgets all of them.
    pub(super) fn flush(&mut self) {
        self.known.clear();
    }

    /// Runs the script of a hash.
    pub(super) fn run_known(&self, hash: &[u8], texts: &Texts<'_>) -> Reply {
        match self.known.get(&*String::from_utf8_lossy(hash)) {
            Some(script) => self.run(script, texts),
            None => Reply::Error("NOSCRIPT No matching script. Please use EVAL.".into()),
        }
    }

    /// Runs a script that comes whole, and knows it from then on.
    pub(super) fn run_whole(&mut self, text: &[u8], texts: &Texts<'_>) -> Reply {
        let script = match self.lua.load(text).into_function() {
            Ok(script) => script,
            Err(error) => {
                return Reply::Error(format!("ERR Error compiling script: {}", line(&error)));
            }
        };
        let hash = redis::Script::new(&String::from_utf8_lossy(text)).get_hash().to_owned();
        self.known.insert(hash, script.clone());
        self.run(&script, texts)
    }

    fn run(&self, script: &Function, (keys, args): &Texts<'_>) -> Reply {
        let answer = self.list(keys).and_then(|keys| {
            let globals = self.lua.globals();
            globals.set("KEYS", keys)?;
            globals.set("ARGV", self.list(args)?)?;
            script.call::<Value>(())
        });
        match answer.and_then(|value| reply(&value)) {
            Ok(reply) => reply,
            Err(error) => Reply::Error(format!("ERR {}", line(&error))),
        }
    }

    fn list(&self, texts: &[Vec<u8>]) -> Result<Table> {
        let each = texts.iter().map(|text| self.lua.create_string(text));
        self.lua.create_sequence_from(each.collect::<Result<Vec<_>>>()?)
    }
}

/// Keys and arguments of a call.
pub(super) type Texts<'a> = (&'a [Vec<u8>], &'a [Vec<u8>]);

/// An error in one line, as replies have to be.
fn line(error: &Error) -> String {
    error.to_string().replace(['\r', '\n'], " ")
}

/// What a script asks of the server.
fn command(lua: &Lua, keys: &RefCell<Keys>, args: &[Value]) -> Result<Value> {
    let texts = args.iter().map(text).collect::<Result<Vec<_>>>()?;
    let mut keys = keys.borrow_mut();
    match &texts.iter().map(|text| &text[..]).collect::<Vec<_>>()[..] {
        [b"TIME"] => {
            let now = keys.now();
            let parts = [(now / 1_000_000).to_string(), (now % 1_000_000).to_string()];
            Ok(Value::Table(lua.create_sequence_from(parts)?))
        }
        [b"GET", key] => match keys.get(key) {
            Some(value) => Ok(Value::String(lua.create_string(value)?)),
            None => Ok(Value::Boolean(false)),
        },
        [b"MGET", names @ ..] => {
            let table = lua.create_table()?;
            for name in names {
                table.push(match keys.get(name) {
                    Some(value) => Value::String(lua.create_string(value)?),
                    None => Value::Boolean(false),
                })?;
            }
            Ok(Value::Table(table))
        }
        [b"SET", key, value, b"PXAT", end] => {
            let end = std::str::from_utf8(end).ok().and_then(|end| end.parse().ok());
            let end = end.ok_or_else(|| Error::runtime("an end is a whole number"))?;
            keys.set(key, value.to_vec(), Some(end));
            status(lua)
        }
        [b"SET", key, value] => {
            keys.set(key, value.to_vec(), None);
            status(lua)
        }
        [b"DEL", key] => Ok(Value::Number(f64::from(u8::from(keys.delete(key))))),
        _ => {
            Err(Error::runtime(format!("a command that the simulation lacks: {:?}", texts.first())))
        }
    }
}

fn status(lua: &Lua) -> Result<Value> {
    let answer = lua.create_table()?;
    answer.set("ok", "OK")?;
    Ok(Value::Table(answer))
}

/// An argument as the server reads it.
fn text(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Number(number) if number.fract() == 0.0 => Ok(format!("{number:.0}").into_bytes()),
        _ => Err(Error::runtime("arguments are texts and whole numbers")),
    }
}

/// What a script returns, as the server answers it.
fn reply(value: &Value) -> Result<Reply> {
    Ok(match value {
        Value::Nil | Value::Boolean(false) => Reply::Nothing,
        Value::Boolean(true) => Reply::Number(1),
        Value::Integer(number) => Reply::Number(*number),
        Value::Number(number) => Reply::Number(*number as i64),
        Value::String(text) => Reply::Bytes(text.as_bytes().to_vec()),
        Value::Table(table) => {
            let mut each = Vec::new();
            for place in 1.. {
                match table.raw_get::<Value>(place)? {
                    Value::Nil => break,
                    value => each.push(reply(&value)?),
                }
            }
            Reply::Several(each)
        }
        _ => return Err(Error::runtime("an answer that Redis has no form for")),
    })
}
