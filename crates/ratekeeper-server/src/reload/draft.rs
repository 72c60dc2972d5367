//! What is to become a release: read, and judged as a whole, before anything changes.
//!
//! Invariant: reading changes nothing; a text that came by a call names only files within the operator's folder.

use super::release::{Origin, Release};
use super::{overrides, text};
use crate::config::{Fault, Faults, Named, bytes, digest};
use crate::hex::hex;
use ratekeeper::rule::file::{BYTES_MAX, RuleFile, Settings, Source};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::cell::RefCell;

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// What somebody wants the rules to be.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) source: Origin,
    pub(crate) by: Option<String>,
    pub(crate) change: String,
    pub(crate) sources: Vec<Source>,
    pub(crate) overrides: Vec<Value>,
    pub(crate) trusted: bool,
    /// Whether the last of the overrides is what was asked for, and has to fit.
    pub(crate) needs_last: bool,
}

impl Draft {
    /// A release as it is.
    pub(crate) fn of(release: &Release) -> Draft {
        Draft {
            source: release.source,
            by: release.by.clone(),
            change: release.change.clone(),
            sources: release.sources(),
            overrides: release.overrides.clone(),
            trusted: release.trusted,
            needs_last: false,
        }
    }
}

/// A draft that makes sense.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) file: RuleFile,
    /// The overrides that fit.
    pub(crate) overrides: Vec<Value>,
    /// The rules of those that do not.
    pub(crate) left_out: Vec<String>,
    /// The files that were named, as they were read.
    pub(crate) named: Named,
    /// What the operator's file is, and what it says about the server, if it is read from there.
    pub(crate) digest: Option<String>,
    pub(crate) server: Option<String>,
}

/// Where the server stands: what it started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ground {
    /// The operator's file or folder.
    pub(crate) path: Option<PathBuf>,
    /// The folder that names of files start from.
    pub(crate) folder: Option<PathBuf>,
    /// What was said about the server when it started.
    pub(crate) settings: Settings,
}

impl Ground {
    /// Reads a draft; every fault of it, if it has some, with the files that it names.
    pub(crate) fn read(&self, draft: &Draft) -> Result<Read, (Faults, Named)> {
        let (mut own, mut left_out) = (draft.overrides.clone(), Vec::new());
        loop {
            let named = RefCell::new(Named::new());
            let open = |name: &str| {
                let read = self.open(name, draft.trusted);
                named.borrow_mut().insert(name.to_owned(), digest(&read));
                read
            };
            let mut sources = draft.sources.clone();
            sources.extend(overrides::source(&own));
            let mut read = RuleFile::read(&sources, &open).map_err(Faults::from);
            // A server's region is its own, whoever wrote the rules.
            if let (Ok(file), Some(region)) = (&read, &self.settings.region)
                && file.settings.region.is_none()
            {
                let text = json!({ "region": region }).to_string();
                sources.push(Source { name: "region".into(), text });
                read = RuleFile::read(&sources, &open).map_err(Faults::from);
            }
            let faults = match read {
                Ok(file) => {
                    let of_file = draft.source == Origin::File;
                    let digest = of_file.then(|| of(&draft.sources));
                    let stored = of_file && self.settings.state_dir.is_some();
                    let server = stored.then(|| text::server(&draft.sources, &file.settings));
                    let named = named.into_inner();
                    return Ok(Read { file, overrides: own, left_out, named, digest, server });
                }
                Err(faults) => faults,
            };
            let Some(faulty) = overrides::faulty(&faults, own.len()).filter(|own| !own.is_empty())
            else {
                return Err((overrides::elsewhere(faults), named.into_inner()));
            };
            let last = own.len().saturating_sub(1);
            if draft.needs_last && faulty.contains(&last) {
                return Err((overrides::only(faults, last), named.into_inner()));
            }
            for index in faulty.into_iter().rev() {
                left_out.push(overrides::told(&own.remove(index)));
            }
        }
    }

    fn open(&self, name: &str, trusted: bool) -> io::Result<Vec<u8>> {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        match &self.folder {
            Some(folder) if trusted || inside => bytes(&folder.join(name), BYTES_MAX),
            Some(_) => {
                let fault =
                    "rules that are sent may only name files beside the server's own rule file";
                Err(io::Error::new(ErrorKind::PermissionDenied, fault))
            }
            None => {
                let fault = "this server has no rule file, so there are no files beside it";
                Err(io::Error::new(ErrorKind::NotFound, fault))
            }
        }
    }

    /// What files of these names hold now.
    pub(crate) fn named(&self, known: &Named) -> Named {
        known.keys().map(|name| (name.clone(), digest(&self.open(name, true)))).collect()
    }

    /// What these settings say that only a start can do. A call need not repeat what the file says.
    pub(crate) fn needs_restart(&self, new: &Settings, by_call: bool) -> Vec<&'static str> {
        let old = &self.settings;
        let unsaid = Settings::default();
        let gateway = |settings: &Settings| format!("{:?}", settings.gateway);
        let fields = [
            ("store", new.store != old.store, new.store == unsaid.store),
            ("memory", new.memory_keys != old.memory_keys, new.memory_keys.is_none()),
            ("listen", new.listen != old.listen, new.listen == unsaid.listen),
            ("admin", new.admin_token_file != old.admin_token_file, new.admin_token_file.is_none()),
            ("grpc", new.grpc != old.grpc, new.grpc == unsaid.grpc),
            ("resp", new.resp != old.resp, new.resp == unsaid.resp),
            ("state_dir", new.state_dir != old.state_dir, new.state_dir.is_none()),
            ("nodes", new.nodes != old.nodes, new.nodes.is_none()),
            ("rules_from", new.rules_from_redis != old.rules_from_redis, !new.rules_from_redis),
            ("switch_file", new.switch_file != old.switch_file, new.switch_file.is_none()),
            ("gateway", gateway(new) != gateway(old), new.gateway.is_none()),
        ];
        let told =
            fields.into_iter().filter(|(_, differs, unsaid)| *differs && !(by_call && *unsaid));
        told.map(|(name, ..)| name).collect()
    }
}

/// What these texts are: the same for the same bytes, for years. What the files hold that they name is another
/// matter: they are read again by whoever names them.
pub(crate) fn of(sources: &[Source]) -> String {
    let mut hash = Sha256::new();
    for source in sources {
        // By its name alone: `rules.yaml` and `./rules.yaml` are the same file.
        let name = source.name.rsplit('/').next().unwrap_or_default();
        for part in [name, &source.text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize())
}

/// A fault of what was sent as a whole.
pub(crate) fn fault(name: &str, fault: &str, repair: &str) -> Faults {
    Fault::of(Path::new(name), fault, repair).into()
}
