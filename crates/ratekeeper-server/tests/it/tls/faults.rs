//! Files that are no certificate, no key, or not of each other.

use super::Authority;
use crate::folder::Folder;
use ratekeeper_server::tls::{Certificate, client, is_open_to_others};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// On a curve that TLS here does not take.
const P521: &str = "-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAvFY3Ga77K12Ed5Yq
uxaa/peD1Bfe8Fd4HpnXIs6LP8/xXYzreQQGDi/14/J6RrRfg1oyCz2yL5NbjW13
i9iaQoihgYkDgYYABAB+TAaMAVXofQ5BLryXLqQGVZ6Rhgaeq4NiRCrjZk6YuSE4
91iSpibU1bvoYtdm4F47WyQg7q0RJdUi2PkXVV9t4AD2Vsx4Hnla4l3ZOz/xygw9
hM9E5ABn9xfEDuUGTFw8LMbK49LN6rlEK0wcudR6V1rMes7TCaIkBzvHWGMqJ9v9
Ew==
-----END PRIVATE KEY-----
";

const LARGEST: usize = 1024 * 1024;

/// What is said of these files, without the folder.
fn fault(folder: &Folder, cert: &str, key: &str) -> String {
    let (cert, key) = (folder.path(cert), folder.path(key));
    let opened = Certificate::open(Path::new(&cert), Path::new(&key));
    folder.shown(&opened.expect_err("they make no pair").to_string())
}

fn pipe(folder: &Folder, name: &str) {
    let made = Command::new("mkfifo").arg(folder.path(name)).status().expect("mkfifo runs");
    assert!(made.success());
}

/// Goal: files that cannot be read, or are too large, are told with place and repair, and hold nothing up.
/// Method: whole texts, for either file; a file of the largest size is read.
#[test]
fn what_cannot_be_read_is_told() {
    let signed = Authority::new().sign("api.example");
    let padded = |size: usize| format!("{}{}", signed.cert, "\n".repeat(size - signed.cert.len()));
    let files = Folder::of(&[
        ("cert", &signed.cert),
        ("key", &signed.key),
        ("largest", &padded(LARGEST)),
        ("larger", &padded(LARGEST + 1)),
    ]);
    pipe(&files, "pipe");
    for (cert, key, own) in
        [("none", "key", "none"), ("cert", "none", "none"), ("none", "absent", "none")]
    {
        let expected = format!("{own}:1:1: there is no such file; write its path");
        assert_eq!(fault(&files, cert, key), expected);
    }
    for (cert, key) in [("pipe", "key"), ("cert", "pipe")] {
        let expected = "pipe:1:1: it is not a regular file; name a file";
        assert_eq!(fault(&files, cert, key), expected);
    }
    for (cert, key) in [("larger", "key"), ("cert", "larger")] {
        let expected = "larger:1:1: it is larger than 1 MiB; write no more than is needed";
        assert_eq!(fault(&files, cert, key), expected);
    }
    let (largest, key) = (files.path("largest"), files.path("key"));
    assert!(Certificate::open(Path::new(&largest), Path::new(&key)).is_ok());
}

/// Goal: what is not PEM, or holds the wrong thing, is told, and nothing of it is repeated.
/// Method: whole texts, for each kind of file.
#[test]
fn what_makes_no_sense_is_told() {
    let signed = Authority::new().sign("api.example");
    let half = |text: &str| text[..text.len() / 2].to_owned();
    let junk = |kind: &str| format!("-----BEGIN {kind}-----\nc2VjcmV0\n-----END {kind}-----\n");
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nc2VjcmV0\n\
               -----END RSA PRIVATE KEY-----\n";
    let files = Folder::of(&[
        ("cert", &signed.cert),
        ("key", &signed.key),
        ("empty", ""),
        ("text", "secret"),
        ("half-cert", &half(&signed.cert)),
        ("half-key", &half(&signed.key)),
        ("start", "-----BEGIN secret\n"),
        ("junk-cert", &junk("CERTIFICATE")),
        ("junk-key", &junk("PRIVATE KEY")),
        ("locked", &junk("ENCRYPTED PRIVATE KEY")),
        ("old-locked", old),
        ("p521", P521),
        ("long", &signed.cert.repeat(17)),
    ]);
    let chain = "write the certificate and its chain as PEM";
    let own = "write the certificate's key as PEM";
    let kinds =
        "use one of RSA with 2048 to 4096 bits, of ECDSA with P-256 or P-384, or of Ed25519";
    for (cert, key, expected) in [
        ("empty", "key", format!("empty:1:1: there is no certificate in it; {chain}")),
        ("text", "key", format!("text:1:1: there is no certificate in it; {chain}")),
        ("key", "key", format!("key:1:1: there is no certificate in it; {chain}")),
        ("half-cert", "key", format!("half-cert:1:1: it is not whole or not PEM; {chain}")),
        ("start", "key", format!("start:1:1: it is not whole or not PEM; {chain}")),
        (
            "long",
            "key",
            "long:1:1: there are more than 16 certificates in it; \
             write the certificate and its chain only"
                .into(),
        ),
        (
            "junk-cert",
            "key",
            "junk-cert:1:1: the certificate cannot be used: BadEncoding; \
             have it issued again, as X.509 version 3"
                .into(),
        ),
        ("cert", "empty", format!("empty:1:1: there is no private key in it; {own}")),
        ("cert", "text", format!("text:1:1: there is no private key in it; {own}")),
        ("cert", "cert", format!("cert:1:1: there is no private key in it; {own}")),
        ("cert", "half-key", format!("half-key:1:1: it is not whole or not PEM; {own}")),
        ("cert", "start", format!("start:1:1: it is not whole or not PEM; {own}")),
        ("cert", "junk-key", format!("junk-key:1:1: TLS does not take such a key; {kinds}")),
        ("cert", "p521", format!("p521:1:1: TLS does not take such a key; {kinds}")),
        (
            "cert",
            "locked",
            "locked:1:1: the key is locked by a password; write it without one".into(),
        ),
        (
            "cert",
            "old-locked",
            "old-locked:1:1: the key is locked by a password; write it without one".into(),
        ),
    ] {
        assert_eq!(fault(&files, cert, key), expected);
    }
}

/// Goal: a key of another certificate is refused, and one of a chain in the wrong order is told as that.
/// Method: two certificates and their keys, apart and together; both in one file do.
#[test]
fn a_key_belongs_to_its_certificate() {
    let authority = Authority::new();
    let (one, two) = (authority.sign("api.example"), authority.sign("api.example"));
    let files = Folder::of(&[
        ("one", &one.cert),
        ("one-key", &one.key),
        ("two-key", &two.key),
        ("two-one", &format!("{}{}", two.cert, one.cert)),
        ("all", &format!("{}{}", one.key, one.cert)),
    ]);
    assert_eq!(
        fault(&files, "one", "two-key"),
        "two-key:1:1: the key is not the certificate's; name the one that belongs to it"
    );
    assert_eq!(
        fault(&files, "two-one", "one-key"),
        "two-one:1:1: the key is of a later certificate than the first; \
         write the certificate first, then its chain"
    );
    let all = files.path("all");
    assert!(Certificate::open(Path::new(&all), Path::new(&all)).is_ok());
}

/// Goal: certificates to know upstreams by that cannot be read are told, and there is always one.
/// Method: whole texts; then a file with two, and those of the system, which has some or is told to have none.
#[test]
fn roots_that_make_no_sense_are_told() {
    let (one, two) = (Authority::new().0.pem(), Authority::new().0.pem());
    let files = Folder::of(&[
        ("empty", ""),
        ("half", &one[..one.len() / 2]),
        ("junk", "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n"),
        ("both", &format!("{one}{two}")),
    ]);
    let with = |name: &str| client(Some(Path::new(&files.path(name))));
    let wrong = |name: &str| files.shown(&with(name).unwrap_err().to_string());
    let repair = "write the certificates of who signs the upstreams' as PEM";
    assert_eq!(wrong("none"), "none:1:1: there is no such file; write its path");
    assert_eq!(wrong("empty"), format!("empty:1:1: there is no certificate in it; {repair}"));
    assert_eq!(wrong("half"), format!("half:1:1: it is not whole or not PEM; {repair}"));
    let unusable = "a certificate in it cannot be used: BadEncoding";
    assert_eq!(wrong("junk"), format!("junk:1:1: {unusable}; {repair}"));
    assert!(with("both").is_ok());
    if let Err(fault) = client(None) {
        let none = "gateway.ca:1:1: this system has no certificates to know upstreams by; \
                    name a file of them, as PEM";
        assert_eq!(fault.to_string(), none);
    }
}

/// Goal: a key that anyone can read is noticed, and no other.
/// Method: a file with several permissions, and one that is not there.
#[test]
fn a_key_that_anyone_can_read_is_noticed() {
    let files = Folder::of(&[("key", "")]);
    let key = files.path("key");
    for (mode, is_open) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
        fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        assert_eq!(is_open_to_others(Path::new(&key)), is_open, "{mode:o}");
    }
    assert!(!is_open_to_others(Path::new(&files.path("none"))));
}
