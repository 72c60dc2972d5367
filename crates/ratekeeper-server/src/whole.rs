//! Files that are whole or not there.
//!
//! Invariant: a file is written beside its place and then moved there, so that who reads it, also after a
//! crash, finds the one before or the new one. Only its owner can read it.

use crate::config::shown;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder for such files, and those above it, if they are not there.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file with what `fill` puts into it.
pub(crate) fn write<T>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let beside = path.with_extension("new");
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
    let mut out = BufWriter::new(file?);
    let done = fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    Ok(done)
}

/// Sets a file that cannot be used aside, and says where it is then.
pub(crate) fn set_aside(path: &Path) -> String {
    let aside = path.with_extension("damaged");
    match fs::rename(path, &aside) {
        Ok(()) => format!("set aside as {}", shown(&aside)),
        Err(error) => format!("it could not be set aside: {error}"),
    }
}
