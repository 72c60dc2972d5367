//! Numbers as bytes, as the `struct` library of Redis packs them for scripts.
//!
//! Invariant: what is not one of the forms that our scripts use is an error, not a guess.

use mlua::{Error, Lua, MultiValue, Result, String, Table, Value, Variadic};

/// One number of a form: how many bytes, and whether the last one counts least.
#[derive(Clone, Copy)]
struct Field {
    width: usize,
    big_endian: bool,
}

/// Reads a form such as `>I7I6`.
fn fields(form: &str) -> Result<Vec<Field>> {
    let wrong = || Error::runtime(format!("a form that no script of ours uses: {form}"));
    let (mut big_endian, mut found) = (false, Vec::new());
    let mut letters = form.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '<' => big_endian = false,
            '>' => big_endian = true,
            'I' => {
                let width =
                    letters.next().and_then(|digit| digit.to_digit(10)).ok_or_else(wrong)?;
                if !(1..=8).contains(&width) {
                    return Err(wrong());
                }
                found.push(Field { width: width as usize, big_endian });
            }
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

fn pack(lua: &Lua, (form, numbers): (std::string::String, Variadic<f64>)) -> Result<String> {
    let mut bytes = Vec::new();
    let fields = fields(&form)?;
    if fields.len() != numbers.len() {
        return Err(Error::runtime("as many numbers as the form has"));
    }
    for (field, number) in fields.into_iter().zip(numbers.iter()) {
        // Numbers of scripts are whole and within 2^53.
        if *number < 0.0 || number.fract() != 0.0 || *number > 9_007_199_254_740_992.0 {
            return Err(Error::runtime(format!("not a whole number: {number}")));
        }
        let all = (*number as u64).to_be_bytes();
        let mut own = all[8 - field.width..].to_vec();
        if !field.big_endian {
            own.reverse();
        }
        bytes.extend(own);
    }
    lua.create_string(bytes)
}

fn unpack(
    _: &Lua,
    (form, text, from): (std::string::String, String, Option<f64>),
) -> Result<MultiValue> {
    let text = text.as_bytes();
    let mut at = from.map_or(0, |from| from as usize - 1);
    let mut values = Vec::new();
    for field in fields(&form)? {
        let own = text.get(at..at + field.width);
        let own = own.ok_or_else(|| Error::runtime("data string too short"))?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        let number = match field.big_endian {
            true => own.iter().fold(0, add),
            false => own.iter().rev().fold(0, add),
        };
        values.push(Value::Number(number as f64));
        at += field.width;
    }
    // The library also tells where it stopped.
    values.push(Value::Number((at + 1) as f64));
    Ok(MultiValue::from_vec(values))
}

/// The library, for scripts.
pub(super) fn library(lua: &Lua) -> Result<Table> {
    let library = lua.create_table()?;
    library.set("pack", lua.create_function(pack)?)?;
    library.set("unpack", lua.create_function(unpack)?)?;
    Ok(library)
}
