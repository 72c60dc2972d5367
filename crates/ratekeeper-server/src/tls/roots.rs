//! Connections to upstreams: by which certificates theirs are known.
//!
//! Invariant: certificate and name are always checked, and there is something to check them by.

use super::pair::{cause, certificates};
use super::{no_tls, protocols, provider};
use crate::config::{Fault, SECRET_MAX, bytes};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What is named where the certificates of the system are.
const SYSTEM: &str = "gateway.ca";

const WRITE_ROOTS: &str = "write the certificates of who signs the upstreams' as PEM";

/// For connections to upstreams: known by the certificates of `ca`, or else by those of the system.
pub fn client(ca: Option<&Path>) -> Result<Arc<ClientConfig>, Fault> {
    let roots = match ca {
        Some(path) => named(path)?,
        None => system()?,
    };
    let options =
        ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let options = options.map_err(|error| no_tls(ca.unwrap_or(Path::new(SYSTEM)), &error))?;
    let mut options = options.with_root_certificates(roots).with_no_client_auth();
    options.alpn_protocols = protocols();
    Ok(Arc::new(options))
}

fn named(path: &Path) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    for root in certificates(path, &bytes(path, SECRET_MAX), WRITE_ROOTS)? {
        roots.add(root).map_err(|error| {
            let fault = format!("a certificate in it cannot be used: {}", cause(&error));
            Fault::of(path, fault, WRITE_ROOTS)
        })?;
    }
    Ok(roots)
}

fn system() -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    // Systems have certificates that rustls does not take; the others are enough.
    let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let fault = "this system has no certificates to know upstreams by";
        return Err(Fault::of(Path::new(SYSTEM), fault, "name a file of them, as PEM"));
    }
    Ok(roots)
}
