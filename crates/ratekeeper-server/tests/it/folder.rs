//! Folders of files for one test.
//!
//! Invariant: each has a name of its own, and is gone with its value.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that nobody else uses.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// With these files, each a path inside and what is in it.
    pub(crate) fn of(files: &[(&str, &str)]) -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ratekeeper-it-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir(&folder.0).expect("the folder is new");
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("it is inside")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }

    /// The path of a file inside; of the folder itself, if there is no name.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = if name.is_empty() { self.0.clone() } else { self.0.join(name) };
        path.to_str().expect("names are text").to_owned()
    }

    /// The text without the path of this folder.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.path("")), "").replace(&self.path(""), "FOLDER")
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
