//! What is escaped within one segment, and how.
//!
//! Invariant: each character has one spelling in what is written: unreserved ones are never escaped,
//! those that a path may not have always are, in upper case; delimiters are as they were sent.

use super::error::{At, PathFault};
use super::output::Output;

/// What an escape begins with, its two digits included.
const ESCAPE: usize = 3;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Letters, digits and the four signs that mean the same escaped or not.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Characters that a segment has unescaped beside those: an escape of one may mean something else.
const fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'!' | b'$' | b'&'..=b',' | b':' | b';' | b'=' | b'@')
}

/// The byte that an escape at the beginning of this text stands for.
fn decoded(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// The segment without its parameters; also where a server would see them only after decoding.
pub(crate) fn name_of(segment: &str) -> &str {
    let begins = |at: &usize| match segment.as_bytes()[*at] {
        b'%' => segment[*at..].starts_with("%3B"),
        byte => byte == b';',
    };
    (0..segment.len()).find(begins).map_or(segment, |end| &segment[..end])
}

/// Whether a path is canonical at first sight: most are, and need no closer look.
pub(super) fn is_plain(path: &str) -> bool {
    let mut last = b'/';
    let plain = |byte: u8| {
        let before = std::mem::replace(&mut last, byte);
        match byte {
            b'/' => before != b'/',
            b'.' => !matches!(before, b'/' | b'.'),
            _ => PLAIN[usize::from(byte)],
        }
    };
    path.strip_prefix('/').is_some_and(|rest| rest.bytes().all(plain))
}

/// Characters that are in a segment as they are, and mean nothing there but themselves.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        plain[byte as usize] = (is_unreserved(byte) || is_delimiter(byte)) && byte != b';';
        byte += 1;
    }
    plain
};

/// Writes a segment, which begins at byte `at` of its path, in canonical form.
pub(super) fn write(raw: &str, at: usize, out: &mut Output<'_>) -> Result<(), At> {
    let mut done = 0;
    while let Some(next) = raw[done..].chars().next() {
        let rest = &raw[done..];
        let plain = rest.bytes().take_while(|byte| is_unreserved(*byte) || is_delimiter(*byte));
        let plain = plain.count();
        if plain > 0 {
            out.push(&rest[..plain]);
            done += plain;
            continue;
        }
        let fault = match next {
            '%' => match escaped(rest, out) {
                Ok(length) => {
                    done += length;
                    continue;
                }
                Err(fault) => fault,
            },
            '\\' => PathFault::Backslash,
            ' ' => PathFault::Space,
            _ if next.is_control() => PathFault::Control,
            _ => {
                next.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape(byte, out));
                done += next.len_utf8();
                continue;
            }
        };
        return Err(At(fault, at + done));
    }
    Ok(())
}

fn escape(byte: u8, out: &mut Output<'_>) {
    out.push_char('%');
    out.push_char(char::from(HEX[usize::from(byte >> 4)]));
    out.push_char(char::from(HEX[usize::from(byte & 15)]));
}

/// Writes the character that is escaped at the beginning of this text, and says how long it was.
fn escaped(text: &str, out: &mut Output<'_>) -> Result<usize, PathFault> {
    let first = decoded(text.as_bytes()).ok_or(PathFault::BadEscape)?;
    match first {
        b'/' => Err(PathFault::EncodedSlash),
        b'\\' => Err(PathFault::Backslash),
        _ if first.is_ascii_control() => Err(PathFault::Control),
        _ if is_unreserved(first) => {
            out.push_char(char::from(first));
            Ok(ESCAPE)
        }
        _ if first.is_ascii() => {
            escape(first, out);
            Ok(ESCAPE)
        }
        _ => {
            let char = beyond_ascii(text.as_bytes(), first).ok_or(PathFault::NotUtf8)?;
            if char.is_control() {
                return Err(PathFault::Control);
            }
            char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape(byte, out));
            Ok(char.len_utf8() * ESCAPE)
        }
    }
}

/// The character whose bytes are escaped at the beginning of this text, in its only valid form.
fn beyond_ascii(text: &[u8], first: u8) -> Option<char> {
    let mut bytes = [first, 0, 0, 0];
    let length = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return None,
    };
    for (byte, escape) in bytes[..length].iter_mut().zip(text.chunks(ESCAPE)) {
        *byte = decoded(escape)?;
    }
    std::str::from_utf8(&bytes[..length]).ok()?.chars().next()
}

/// Looks at a segment in canonical form for what another server could take for something else.
pub(super) fn check(written: &str) -> Result<(), PathFault> {
    let name = name_of(written);
    if matches!(name, "." | "..") {
        return Err(PathFault::DotParameters);
    }
    if name.ends_with("..") || written.ends_with("..") {
        return Err(PathFault::TrailingDots);
    }
    let twice =
        |five: &[u8]| five.starts_with(b"%25") && five[ESCAPE..].iter().all(u8::is_ascii_hexdigit);
    match written.as_bytes().windows(ESCAPE + 2).any(twice) {
        true => Err(PathFault::DoubleEncoding),
        false => Ok(()),
    }
}

/// The character that an escape of a delimiter stands for.
pub(crate) fn delimiter(text: &[u8]) -> Option<char> {
    decoded(text).filter(|byte| is_delimiter(*byte)).map(char::from)
}
