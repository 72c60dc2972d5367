//! A certificate and its key, from two files in PEM.
//!
//! Invariant: what is made of them can answer a handshake; no text about a fault holds anything of a file.

use super::provider;
use crate::config::{Fault, NAME_ANOTHER, SECRET_MAX, bytes, digest};
use std::io::{self, ErrorKind};
use std::path::Path;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, InconsistentKeys};

/// Most certificates of a chain; a public one has two or three. More would be sent in each handshake.
const CHAIN_MAX: usize = 16;

const WRITE_CHAIN: &str = "write the certificate and its chain as PEM";
const WRITE_KEY: &str = "write the certificate's key as PEM";

/// Digests of what the two files hold.
pub(super) type Digests = [[u8; 32]; 2];

/// What the two files hold.
pub(super) struct Files {
    cert: io::Result<Vec<u8>>,
    key: io::Result<Vec<u8>>,
}

impl Files {
    pub(super) fn read(cert: &Path, key: &Path) -> Files {
        Files { cert: bytes(cert, SECRET_MAX), key: bytes(key, SECRET_MAX) }
    }

    pub(super) fn digests(&self) -> Digests {
        [digest(&self.cert), digest(&self.key)]
    }

    /// What they make together. The paths are for what is told of a fault.
    pub(super) fn pair(&self, cert: &Path, key: &Path) -> Result<CertifiedKey, Fault> {
        let chain = certificates(cert, &self.cert, WRITE_CHAIN)?;
        if chain.len() > CHAIN_MAX {
            let fault = format!("there are more than {CHAIN_MAX} certificates in it");
            return Err(Fault::of(cert, fault, "write the certificate and its chain only"));
        }
        let given = private(key, &self.key)?;
        let signing = provider().key_provider.load_private_key(given).map_err(|_| {
            let repair = "use one of RSA with 2048 to 4096 bits, of ECDSA with P-256 or P-384, or of Ed25519";
            Fault::of(key, "TLS does not take such a key", repair)
        })?;
        let pair = CertifiedKey::new(chain, signing);
        match pair.keys_match() {
            // Every kind of key that the provider takes tells its public half.
            Ok(()) => Ok(pair),
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                Err(strangers(pair, cert, key))
            }
            Err(error) => {
                let fault = format!("the certificate cannot be used: {}", cause(&error));
                Err(Fault::of(cert, fault, "have it issued again, as X.509 version 3"))
            }
        }
    }
}

/// What is wrong with a key that is not of the first certificate.
fn strangers(pair: CertifiedKey, cert: &Path, key: &Path) -> Fault {
    let signing = pair.key;
    let fits = |own| CertifiedKey::new(vec![own], signing.clone()).keys_match().is_ok();
    if pair.cert.into_iter().skip(1).any(fits) {
        let fault = "the key is of a later certificate than the first";
        return Fault::of(cert, fault, "write the certificate first, then its chain");
    }
    Fault::of(key, "the key is not the certificate's", "name the one that belongs to it")
}

/// Why a certificate cannot be used; rustls takes every one for a peer's.
pub(super) fn cause(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(cause) => cause.to_string(),
        _ => error.to_string(),
    }
}

/// The certificates in a file; at least one.
pub(super) fn certificates(
    path: &Path,
    read: &io::Result<Vec<u8>>,
    repair: &str,
) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let pem = read.as_ref().map_err(|error| unreadable(path, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(Fault::of(path, "there is no certificate in it", repair))
        }
        Ok(found) => Ok(found),
        // What the error holds is from the file.
        Err(_) => Err(Fault::of(path, "it is not whole or not PEM", repair)),
    }
}

/// The first key in a file.
fn private(path: &Path, read: &io::Result<Vec<u8>>) -> Result<PrivateKeyDer<'static>, Fault> {
    let pem = read.as_ref().map_err(|error| unreadable(path, error))?;
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        _ if is_locked(pem) => {
            Fault::of(path, "the key is locked by a password", "write it without one")
        }
        PemError::NoItemsFound => Fault::of(path, "there is no private key in it", WRITE_KEY),
        _ => Fault::of(path, "it is not whole or not PEM", WRITE_KEY),
    })
}

/// Whether a key is there that is encrypted, in the one way or the other to say so.
fn is_locked(pem: &[u8]) -> bool {
    pem.split(|byte| *byte == b'\n').any(|line| {
        line.starts_with(b"-----BEGIN ENCRYPTED") || line.starts_with(b"Proc-Type: 4,ENCRYPTED")
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let (fault, repair) = match error.kind() {
        ErrorKind::NotFound => ("there is no such file".into(), "write its path"),
        ErrorKind::FileTooLarge => {
            (format!("it is larger than {} MiB", SECRET_MAX >> 20), "write no more than is needed")
        }
        ErrorKind::InvalidInput => ("it is not a regular file".into(), "name a file"),
        ErrorKind::PermissionDenied => {
            ("this process may not read it".into(), "let it, or run as another user")
        }
        _ => (format!("it cannot be read: {error}"), NAME_ANOTHER),
    };
    Fault::of(path, fault, repair)
}
