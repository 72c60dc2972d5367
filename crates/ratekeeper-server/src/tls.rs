//! TLS: the certificate that listeners show, and the ones by which upstreams are known.
//!
//! Invariant: a handshake takes one certificate with the key that belongs to it, the one that is live at that
//! moment; there is no way to leave out the check of an upstream's certificate and name.

mod follow;
mod pair;
mod roots;

pub use roots::client;

use crate::admin::Tokens;
use crate::config::Fault;
use arc_swap::ArcSwap;
use pair::{Digests, Files};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};

/// How long a handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(5);

/// What we speak over TLS, the best first.
pub(crate) const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate with its key, and where they are. Clones share what is live.
#[derive(Clone)]
pub struct Certificate {
    live: Arc<Live>,
    /// What the files held when they were opened.
    opened: Digests,
    cert: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// Reads both files, and makes sure that the key is the certificate's.
    pub fn open(cert: &Path, key: &Path) -> Result<Certificate, Fault> {
        let files = Files::read(cert, key);
        let live = Arc::new(Live(ArcSwap::from_pointee(files.pair(cert, key)?)));
        let opened = files.digests();
        Ok(Certificate { live, opened, cert: cert.to_owned(), key: key.to_owned() })
    }

    /// For a listener of HTTP.
    pub fn acceptor(&self) -> Result<TlsAcceptor, Fault> {
        self.acceptor_of(&PROTOCOLS)
    }

    /// For a listener of these protocols, the best first. Sessions are not resumed: each handshake shows the
    /// certificate that is live.
    pub fn acceptor_of(&self, protocols: &[&[u8]]) -> Result<TlsAcceptor, Fault> {
        let options =
            ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let options = options.map_err(|error| no_tls(&self.cert, &error))?;
        let resolver = Arc::clone(&self.live);
        let mut options = options.with_no_client_auth().with_cert_resolver(resolver);
        options.alpn_protocols = protocols.iter().map(|own| own.to_vec()).collect();
        options.session_storage = Arc::new(NoServerSessionStorage {});
        options.send_tls13_tickets = 0;
        Ok(TlsAcceptor::from(Arc::new(options)))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the certificate {} with {}", self.cert.display(), self.key.display())
    }
}

/// Whether anyone on this machine can read the key.
pub fn is_open_to_others(key: &Path) -> bool {
    Tokens::is_open_to_others(key)
}

/// What handshakes take, whatever name the client asks for.
struct Live(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Live {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a certificate")
    }
}

/// The one provider of ciphers, the library's; given, so that it does not depend on what else is linked.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn protocols() -> Vec<Vec<u8>> {
    PROTOCOLS.map(<[u8]>::to_vec).into()
}

fn no_tls(place: &Path, error: &rustls::Error) -> Fault {
    Fault::of(place, format!("this program cannot speak TLS: {error}"), "report this as a bug")
}
