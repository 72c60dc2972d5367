//! Reading: regular files only, and never more than is asked for.
//!
//! Invariant: a pipe, a device or a file that grows without end does not hold a start up.

use super::{ENDINGS, Fault, Faults};
use ratekeeper::rule::file::FILES_MAX;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

pub(super) use ratekeeper::rule::file::BYTES_MAX;

/// Most bytes of a file that holds a password or certificates.
pub const SECRET_MAX: usize = 1024 * 1024;

/// What to do about a file that cannot be read.
pub(crate) const NAME_ANOTHER: &str = "name a file that can";

/// The rule files that a path leads to, in order of name, and the folder that they are in.
pub(crate) fn listed(path: &Path) -> Result<(Vec<PathBuf>, PathBuf), Faults> {
    let found = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !found.is_dir() {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        return Ok((vec![path.to_owned()], folder));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let entry = entry.map_err(|error| unreadable(path, &error))?;
        if is_rule_file(&entry.path()) {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            let fault = format!("there are more than {FILES_MAX} rule files in this folder");
            return Err(Fault::of(path, fault, "put rules together into fewer files").into());
        }
    }
    if files.is_empty() {
        let fault = "there is no rule file in this folder";
        let repair = "add one with a name that ends in `.yaml`, `.yml` or `.json`";
        return Err(Fault::of(path, fault, repair).into());
    }
    files.sort();
    Ok((files, path.to_owned()))
}

/// By its name. Hidden files are those of editors and of what mounts the folder; folders inside are for
/// files that rule files name.
fn is_rule_file(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    !hidden && ENDINGS.contains(&ending) && !path.is_dir()
}

/// The text of a rule file of at most so many bytes.
pub(super) fn text(path: &Path, most: usize) -> Result<String, Fault> {
    let bytes = bytes(path, most).map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
        let fault = Fault::of(path, "this is not text in UTF-8", "save the file as UTF-8");
        Fault { line, column, ..fault }
    })
}

/// What is in a regular file of at most so many bytes.
pub(crate) fn bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Looked at before it is opened, since opening a pipe waits for who writes into it.
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let file = File::open(path)?;
    // With room for one more it need not grow, and take twice as much, before it has seen the end.
    let mut bytes = Vec::with_capacity(most.min(found.len() as usize).saturating_add(1));
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let fault = format!("with it there are more than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, fault));
    }
    Ok(bytes)
}

/// What files hold that rule files name: a digest of each, by its name.
pub(crate) type Named = BTreeMap<String, [u8; 32]>;

/// The digest of what was read. One that cannot be read is different from any that can.
pub(crate) fn digest(read: &io::Result<Vec<u8>>) -> [u8; 32] {
    let hash = match read {
        Ok(bytes) => Sha256::new_with_prefix([0]).chain_update(bytes),
        Err(error) => Sha256::new_with_prefix([1]).chain_update(error.to_string()),
    };
    hash.finalize().into()
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let (fault, repair) = match error.kind() {
        ErrorKind::NotFound => (
            "there is no such file or folder".into(),
            "write its path, or make one with `ratekeeper init`",
        ),
        ErrorKind::FileTooLarge => (
            format!("rule files are larger than {} MiB", BYTES_MAX >> 20),
            "use fewer rules, with patterns and tiers",
        ),
        ErrorKind::InvalidInput => ("this is not a regular file".into(), "name a file or a folder"),
        ErrorKind::PermissionDenied => {
            ("this process may not read it".into(), "let it, or run as another user")
        }
        _ => (format!("it cannot be read: {error}"), NAME_ANOTHER),
    };
    Fault::of(path, fault, repair)
}
