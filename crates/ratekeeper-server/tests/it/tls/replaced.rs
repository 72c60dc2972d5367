//! A certificate that is replaced while clients come and go.

use super::{Authority, Client, Signed, folder, listen, open};
use crate::folder::Folder;
use crate::wire::DEADLINE;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tracing::subscriber::{DefaultGuard, set_default};

/// What is told of a key that is not the certificate's, and of a change.
const STRANGERS: &str = "the key is not the certificate's; name the one that belongs to it";
const CHANGED: &str = "the certificate has changed";

/// The certificates that were shown, each where it differs from the one before.
type Shown = Arc<Mutex<Vec<CertificateDer<'static>>>>;

/// Clients without a pause; the first handshake that fails ends them.
struct Crowd {
    shown: Shown,
    tasks: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// One for each version of TLS.
    fn start(authority: &Authority, address: SocketAddr) -> Crowd {
        let shown = Shown::default();
        let greet = |client: Client| {
            let shown = Arc::clone(&shown);
            tokio::spawn(async move {
                loop {
                    let seen = client.greet(address, "api.example").await;
                    let seen = seen.expect("every handshake succeeds").certificate;
                    let mut shown = shown.lock().expect("nobody panics with it");
                    // The two may see a change one after the other, so the older one is no news.
                    if !shown.contains(&seen) {
                        shown.push(seen);
                    }
                }
            })
        };
        let tasks =
            [&TLS12, &TLS13].map(|version| greet(authority.client(&["h2"], version))).into();
        Crowd { shown, tasks }
    }

    /// Waits until they have been shown exactly these, in this order.
    async fn see(&self, expected: &[&Signed]) {
        let seen = async {
            loop {
                for task in &self.tasks {
                    assert!(!task.is_finished(), "a handshake has failed");
                }
                let shown = self.shown.lock().expect("nobody panics with it").clone();
                let known = expected.iter().map(|signed| &signed.der).take(shown.len());
                assert!(shown.iter().eq(known), "another certificate was shown");
                if shown.len() == expected.len() {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, seen).await.expect("the certificate is shown before the deadline");
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// What is told in the log of this thread, on which a test's tasks are.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> (Log, DefaultGuard) {
        let log = Log::default();
        let own = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || own.clone());
        (log, set_default(subscriber.finish()))
    }

    /// Waits until this has been told, and forgets what was before.
    async fn tells(&self, text: &str) {
        let told = async {
            while !self.has(text) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, told).await.expect("it is told before the deadline");
    }

    fn has(&self, text: &str) -> bool {
        let mut lines = self.0.lock().expect("nobody panics with it");
        let has = String::from_utf8_lossy(&lines).contains(text);
        if has {
            lines.clear();
        }
        has
    }
}

/// Three certificates for one name.
fn three(authority: &Authority) -> [Signed; 3] {
    [(); 3].map(|()| authority.sign("api.example"))
}

/// Shows and follows the certificate of these files.
async fn show(authority: &Authority, files: &Folder) -> Crowd {
    let certificate = open(files);
    let address = listen(&certificate).await;
    tokio::spawn(certificate.follow());
    Crowd::start(authority, address)
}

/// Goal: files that are replaced one after the other, in either order, are taken up when they fit, and no
/// handshake fails.
/// Method: clients without a pause; first the certificate, later its key; then the other way round.
#[tokio::test]
async fn files_may_be_replaced_one_after_the_other() {
    let (log, _guard) = Log::start();
    let authority = Authority::new();
    let [a, b, c] = three(&authority);
    let files = folder(&a);
    let crowd = show(&authority, &files).await;
    crowd.see(&[&a]).await;
    files.write("cert.pem", &b.cert);
    log.tells(STRANGERS).await;
    crowd.see(&[&a]).await;
    files.write("key.pem", &b.key);
    crowd.see(&[&a, &b]).await;
    log.tells(CHANGED).await;
    files.write("key.pem", &c.key);
    log.tells(STRANGERS).await;
    crowd.see(&[&a, &b]).await;
    files.write("cert.pem", &c.cert);
    crowd.see(&[&a, &b, &c]).await;
}

/// Goal: a swap of the link that both files are behind is taken up, and no handshake fails.
/// Method: a link to a folder, as those who mount secrets use it, which is replaced by a rename; then links to
/// each file.
#[tokio::test]
async fn files_may_be_replaced_by_links() {
    let authority = Authority::new();
    let [a, b, c] = three(&authority);
    let files = Folder::of(&[
        ("1/cert.pem", &a.cert),
        ("1/key.pem", &a.key),
        ("2/cert.pem", &b.cert),
        ("2/key.pem", &b.key),
        ("3/cert.pem", &c.cert),
        ("3/key.pem", &c.key),
    ]);
    let link = |target: &str, name: &str| {
        symlink(target, files.path("new")).expect("a link is made");
        fs::rename(files.path("new"), files.path(name)).expect("it takes the other's place");
    };
    link("1", "data");
    link("data/cert.pem", "cert.pem");
    link("data/key.pem", "key.pem");
    let crowd = show(&authority, &files).await;
    crowd.see(&[&a]).await;
    link("2", "data");
    crowd.see(&[&a, &b]).await;
    link("3/cert.pem", "cert.pem");
    link("3/key.pem", "key.pem");
    crowd.see(&[&a, &b, &c]).await;
}

/// Goal: files that are half written, empty, gone, or of different pairs change nothing; the next good pair is
/// taken up.
/// Method: each state until it is told, with clients without a pause; then a pair that makes sense.
#[tokio::test]
async fn files_that_make_no_sense_change_nothing() {
    let (log, _guard) = Log::start();
    let authority = Authority::new();
    let [a, b, c] = three(&authority);
    let files = folder(&a);
    let crowd = show(&authority, &files).await;
    crowd.see(&[&a]).await;
    let half = &b.cert[..b.cert.len() / 2];
    for (cert, key, fault) in [
        (half, &b.key[..], "it is not whole or not PEM"),
        ("", "", "there is no certificate in it"),
        (&b.cert, &c.key, STRANGERS),
    ] {
        files.write("cert.pem", cert);
        files.write("key.pem", key);
        log.tells(fault).await;
        crowd.see(&[&a]).await;
    }
    fs::remove_file(files.path("cert.pem")).unwrap();
    log.tells("there is no such file").await;
    crowd.see(&[&a]).await;
    files.write("cert.pem", &c.cert);
    crowd.see(&[&a, &c]).await;
}
