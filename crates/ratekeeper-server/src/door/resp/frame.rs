//! Commands as bytes: an array of bulk strings, or a line of words.
//!
//! Invariants: nothing is kept for what a peer only announces, and nothing is nested. A command is read from its first
//! byte each time more has come; that takes a look at each argument's length and no more, of which there are
//! [`ARGS_MAX`] at most, so that a peer that sends byte by byte pays more than we do.

use std::fmt;
use std::ops::Deref;

/// Arguments of a command, its name included. Beyond it the connection ends.
pub const ARGS_MAX: usize = 16;

/// Bytes of an argument. Beyond it the connection ends.
pub const BULK_MAX: usize = 4 * 1024;

/// Bytes of a command that is a line. Beyond it the connection ends.
pub const LINE_MAX: usize = 4 * 1024;

/// Bytes of a command. Beyond it the connection ends.
pub const COMMAND_MAX: usize = 64 * 1024;

/// Characters of a number that says how much follows.
const DIGITS_MAX: usize = 20;

/// How much one command may have.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Arguments, the name included.
    pub args: usize,
    /// Bytes of each.
    pub bulk: usize,
}

impl Bounds {
    /// Of whoever may ask.
    pub const FULL: Bounds = Bounds { args: ARGS_MAX, bulk: BULK_MAX };

    /// Of whoever has still to say who it is: `HELLO 3 AUTH user password SETNAME name` fits.
    pub const STRANGER: Bounds = Bounds { args: 7, bulk: 256 };
}

/// A command, where it stands in the input. Empty ones are not answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Command<'b> {
    args: [&'b [u8]; ARGS_MAX],
    count: usize,
    /// Whether it was a line.
    pub is_line: bool,
}

impl<'b> Command<'b> {
    fn push(&mut self, arg: &'b [u8], most: usize) -> Result<(), Fault> {
        let place = self.args.get_mut(self.count).filter(|_| self.count < most);
        *place.ok_or(Fault::Arguments(most))? = arg;
        self.count += 1;
        Ok(())
    }
}

impl<'b> Deref for Command<'b> {
    type Target = [&'b [u8]];

    fn deref(&self) -> &[&'b [u8]] {
        &self.args[..self.count]
    }
}

/// Why a peer cannot be understood; what follows could be anything, so the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More arguments than these.
    Arguments(usize),
    /// What says how many arguments follow is no number, or too long.
    Count,
    /// An argument is announced longer than these bytes, or what says so is no length.
    Length(usize),
    /// An argument does not begin with `$`.
    Kind(u8),
    /// An argument is longer than it said.
    End,
    /// A line is too long.
    Line,
    /// Quotes of a line do not match.
    Quotes,
    /// A command is too long.
    Whole,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Arguments(most) => write!(f, "more than {most} arguments"),
            Fault::Count => f.write_str("invalid multibulk length"),
            Fault::Length(most) => write!(f, "invalid bulk length, it is 0 to {most}"),
            Fault::Kind(byte) => write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Fault::End => f.write_str("a bulk string does not end where it should"),
            Fault::Line => write!(f, "too big inline request, more than {LINE_MAX} bytes"),
            Fault::Quotes => f.write_str("unbalanced quotes in request"),
            Fault::Whole => write!(f, "a command of more than {COMMAND_MAX} bytes"),
        }
    }
}

/// Reads the first command of the input, and says how many bytes it takes; `None` if it has not come as a whole.
pub fn parse<'b>(
    input: &'b [u8],
    bounds: Bounds,
    command: &mut Command<'b>,
) -> Result<Option<usize>, Fault> {
    command.count = 0;
    command.is_line = false;
    let parsed = match input.first() {
        None => return Ok(None),
        Some(b'*') => array(input, bounds, command)?,
        Some(_) => line(input, bounds, command)?,
    };
    if parsed.is_none() && input.len() >= COMMAND_MAX {
        return Err(Fault::Whole);
    }
    Ok(parsed)
}

fn array<'b>(
    input: &'b [u8],
    bounds: Bounds,
    command: &mut Command<'b>,
) -> Result<Option<usize>, Fault> {
    let Some((count, mut at)) = number(input, 1, Fault::Count)? else { return Ok(None) };
    // A negative count is an array that is not there: nothing is asked.
    let count = usize::try_from(count).unwrap_or(0);
    if count > bounds.args {
        return Err(Fault::Arguments(bounds.args));
    }
    for _ in 0..count {
        match input.get(at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(Fault::Kind(*other)),
        }
        let wrong = Fault::Length(bounds.bulk);
        let Some((length, from)) = number(input, at + 1, wrong)? else { return Ok(None) };
        let length = usize::try_from(length).ok().filter(|length| *length <= bounds.bulk);
        let to = from + length.ok_or(wrong)?;
        match input.get(to..to + 2) {
            None => return Ok(None),
            Some(b"\r\n") => command.push(&input[from..to], bounds.args)?,
            Some(_) => return Err(Fault::End),
        }
        at = to + 2;
    }
    Ok(Some(at))
}

/// The number at a place, and what follows its line; `None` if it has not come as a whole.
fn number(input: &[u8], at: usize, wrong: Fault) -> Result<Option<(i64, usize)>, Fault> {
    let rest = &input[at.min(input.len())..];
    let (negative, digits) = match rest.first() {
        Some(b'-') => (true, &rest[1..]),
        _ => (false, rest),
    };
    let mut value: i64 = 0;
    for (count, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if count < DIGITS_MAX => {
                let digit = i64::from(byte - b'0');
                value = value
                    .checked_mul(10)
                    .and_then(|value| value.checked_add(digit))
                    .ok_or(wrong)?;
            }
            b'\r' if count > 0 => {
                let after = at + usize::from(negative) + count + 2;
                return match digits.get(count + 1) {
                    None => Ok(None),
                    Some(b'\n') => Ok(Some((if negative { -value } else { value }, after))),
                    Some(_) => Err(wrong),
                };
            }
            _ => return Err(wrong),
        }
    }
    Ok(None)
}

/// Words, which may be in quotes. There are no escapes: who has need of them sends an array.
fn line<'b>(
    input: &'b [u8],
    bounds: Bounds,
    command: &mut Command<'b>,
) -> Result<Option<usize>, Fault> {
    let most = LINE_MAX.min(bounds.args * (bounds.bulk + 3));
    let seen = &input[..input.len().min(most + 1)];
    let Some(end) = seen.iter().position(|byte| *byte == b'\n') else {
        return if input.len() > most { Err(Fault::Line) } else { Ok(None) };
    };
    let mut rest = input[..end].trim_ascii();
    command.is_line = true;
    while let Some(first) = rest.first() {
        let (word, tail) = match first {
            quote @ (b'"' | b'\'') => {
                let close = rest[1..].iter().position(|byte| byte == quote);
                let close = close.ok_or(Fault::Quotes)? + 1;
                let tail = &rest[close + 1..];
                if tail.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    return Err(Fault::Quotes);
                }
                (&rest[1..close], tail)
            }
            _ => {
                let close = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                rest.split_at(close)
            }
        };
        if word.len() > bounds.bulk {
            return Err(Fault::Length(bounds.bulk));
        }
        command.push(word, bounds.args)?;
        rest = tail.trim_ascii_start();
    }
    Ok(Some(end + 1))
}
