//! TLS to the store: rustls, with the certificates that were given or those of the system.
//!
//! Invariant: there is no way to leave out the check of certificate and name.

use super::config::{Address, RedisConfig};
use super::connect::Stream;
use super::error::{Class, StoreError};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

/// How long a server may take to answer our greeting: within what an attempt to connect may take.
const GREETING: Duration = Duration::from_millis(700);

/// The same stream, encrypted.
pub(super) async fn wrap(
    config: &RedisConfig,
    address: &Address,
    stream: Stream,
) -> Result<TlsStream<Stream>, StoreError> {
    let place = config.at(address);
    let wrong = |fault: String| StoreError::config(&place, &fault);
    let provider = Arc::new(ring::default_provider());
    let options =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let options = options.map_err(|error| wrong(error.to_string()))?;
    let options =
        options.with_root_certificates(roots(config).map_err(wrong)?).with_no_client_auth();
    let name = ServerName::try_from(address.host.clone());
    let name = name.map_err(|_| {
        wrong("has a host that is no name for TLS; write a name or an address".into())
    })?;
    let lost = |fault: String| StoreError::new(&place, Class::Connection, fault);
    let greeted = TlsConnector::from(Arc::new(options)).connect(name, stream);
    match timeout(GREETING, greeted).await {
        Ok(connected) => connected.map_err(|error| lost(format!("TLS: {error}{}", repair(&error)))),
        // What speaks plain text waits for the end of a line.
        Err(_) => Err(lost("TLS: no answer to our greeting; does this port speak TLS?".into())),
    }
}

/// What to do about a greeting that failed.
fn repair(error: &io::Error) -> &'static str {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "; write the name that the certificate is for",
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "; renew the server's certificate",
        Some(rustls::Error::InvalidCertificate(_)) => {
            "; give the certificate of who signed the server's"
        }
        _ => "; does this port speak TLS?",
    }
}

/// The certificates by which the server's is known.
pub(super) fn roots(config: &RedisConfig) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &config.ca {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let added = certificate.map_err(|error| error.to_string());
                let added = added.and_then(|own| roots.add(own).map_err(|error| error.to_string()));
                added
                    .map_err(|error| format!("has a CA that cannot be read: {error}; give PEM"))?;
            }
        }
        None => {
            let (_, _) =
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("has no certificate to know the server by; give the CA as PEM".into());
    }
    Ok(roots)
}
