//! A certificate for loopback, by an authority of its own.
//!
//! Invariant: it exists for one test.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// Texts as PEM.
pub(crate) struct Certificate {
    pub(crate) authority: String,
    pub(crate) own: String,
    pub(crate) key: String,
}

impl Certificate {
    pub(crate) fn new() -> Certificate {
        let mut authority = CertificateParams::new([]).unwrap();
        // OpenSSL takes a certificate whose issuer has its own name for one that signed itself.
        authority.distinguished_name.push(DnType::CommonName, "an authority of tests");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(["127.0.0.1".into(), "localhost".into()]).unwrap();
        let own = names.signed_by(&key, &authority).unwrap();
        Certificate { authority: authority.pem(), own: own.pem(), key: key.serialize_pem() }
    }
}
