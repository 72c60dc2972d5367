//! The files of a certificate: what is written there counts, also after the start.
//!
//! Invariant: a change is taken up only when two readings agree and make sense together; files that make no
//! sense change nothing, and are told once.

use super::Certificate;
use super::pair::Files;
use crate::config::shown;
use crate::observe::logs::plain;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long they have to be as they are before they are believed.
const QUIET: Duration = Duration::from_millis(100);

impl Certificate {
    /// Follows the files for as long as the runtime lives.
    pub async fn follow(self) {
        self.follow_by(LOOK, signal(SignalKind::hangup()).ok()).await;
    }

    /// Looks so often, and at each signal.
    async fn follow_by(self, look: Duration, mut hangup: Option<Signal>) {
        let (mut live, mut seen) = (self.opened, self.opened);
        loop {
            let asked = tokio::select! {
                Some(()) = async { hangup.as_mut()?.recv().await }, if hangup.is_some() => true,
                () = sleep(look) => false,
            };
            let Some(found) = self.reading(|files, _| files.digests()).await else { continue };
            if found == seen && !asked {
                continue;
            }
            sleep(QUIET).await;
            let both = |files: &Files, own: &Certificate| {
                (files.digests(), files.pair(&own.cert, &own.key))
            };
            let Some((again, pair)) = self.reading(both).await else { continue };
            if again != found {
                // They are being written; the next look finds them whole.
                continue;
            }
            match pair {
                Ok(pair) if found != live => {
                    self.live.0.store(Arc::new(pair));
                    live = found;
                    let file = plain(&shown(&self.cert));
                    tracing::info!(file, "the certificate has changed");
                }
                Ok(_) => {}
                Err(fault) => {
                    let fault = plain(&fault.to_string());
                    tracing::warn!(fault, "the certificate is as it was");
                }
            }
            seen = found;
        }
    }

    /// What is told of the files as they are now. A disk may be slow: it keeps nobody else waiting.
    async fn reading<T: Send + 'static>(
        &self,
        tell: impl FnOnce(&Files, &Certificate) -> T + Send + 'static,
    ) -> Option<T> {
        let own = self.clone();
        spawn_blocking(move || tell(&Files::read(&own.cert, &own.key), &own)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertifiedKey as Made, generate_simple_self_signed};
    use std::fs;
    use std::io::{self, Write};
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::Mutex;
    use tokio::time::Instant;

    /// A folder of one test, gone with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("ratekeeper-tls-{}-{name}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            fs::create_dir(&folder.0).expect("the folder is new");
            folder
        }

        /// Writes a certificate that is new, and its key, and tells what handshakes will show of it.
        fn renew(&self) -> Vec<u8> {
            let made = generate_simple_self_signed(["api.example".to_owned()]);
            let Made { cert, signing_key } = made.expect("there is a certificate");
            self.write("cert", &cert.pem());
            self.write("key", &signing_key.serialize_pem());
            cert.der().to_vec()
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).expect("a file is written");
        }

        fn open(&self) -> Certificate {
            Certificate::open(&self.0.join("cert"), &self.0.join("key")).expect("they are a pair")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn shown(certificate: &Certificate) -> Vec<u8> {
        certificate.live.0.load().cert[0].to_vec()
    }

    /// Goal: a change counts within a look and a short quiet, and not while files are still being written.
    /// Method: with time held still: another change between the two readings; what is live right before and
    /// right after the moments at which it may change.
    #[tokio::test(start_paused = true)]
    async fn a_change_counts_when_two_readings_agree() {
        let folder = Folder::new("agree");
        let first = folder.renew();
        let certificate = folder.open();
        tokio::spawn(certificate.clone().follow_by(LOOK, None));
        folder.renew();
        sleep(LOOK + QUIET / 2).await;
        let second = folder.renew();
        sleep(LOOK + QUIET).await;
        assert!(shown(&certificate) == first, "it was believed too early");
        sleep(QUIET).await;
        assert!(shown(&certificate) == second, "it was not believed");
    }

    /// Goal: what the files held when they were opened is where a change is seen from, even if nobody followed
    /// yet; what comes back to what is live is no change.
    /// Method: a change between opening and following; then files that make no sense, and the same pair again.
    #[tokio::test(start_paused = true)]
    async fn what_changed_before_anyone_followed_is_found() {
        let folder = Folder::new("before");
        folder.renew();
        let certificate = folder.open();
        let second = folder.renew();
        tokio::spawn(certificate.clone().follow_by(LOOK, None));
        sleep(LOOK + 2 * QUIET).await;
        assert!(shown(&certificate) == second, "the change was not found");
        let live = certificate.live.0.load_full();
        let cert = fs::read_to_string(folder.0.join("cert")).unwrap();
        for text in ["", &cert] {
            folder.write("cert", text);
            sleep(2 * LOOK).await;
            assert!(Arc::ptr_eq(&live, &certificate.live.0.load()));
        }
    }

    /// What is told in the log of this thread.
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
        fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.lock().expect("nobody panics with it")).into_owned()
        }
    }

    /// Goal: files that make no sense are told once, with place and repair and nothing of what is in them,
    /// and told again when they make no sense in another way; a change is told once.
    /// Method: with time held still, ten looks at each state of the files; every line of the log.
    #[tokio::test(start_paused = true)]
    async fn each_state_of_the_files_is_told_once() {
        let log = Log::default();
        let own = log.clone();
        let subscriber = tracing_subscriber::fmt().without_time().with_ansi(false);
        let subscriber = subscriber.with_target(false).with_writer(move || own.clone()).finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let folder = Folder::new("told");
        folder.renew();
        let certificate = folder.open();
        tokio::spawn(certificate.follow_by(LOOK, None));
        for key in ["secret", "-----BEGIN secret\n"] {
            folder.write("key", key);
            sleep(10 * LOOK).await;
        }
        folder.renew();
        sleep(10 * LOOK).await;
        let place = folder.0.display();
        let repair = "write the certificate's key as PEM";
        let expected = [
            format!(
                " WARN the certificate is as it was \
                 fault=\"{place}/key:1:1: there is no private key in it; {repair}\""
            ),
            format!(
                " WARN the certificate is as it was \
                 fault=\"{place}/key:1:1: it is not whole or not PEM; {repair}\""
            ),
            format!(" INFO the certificate has changed file=\"{place}/cert\""),
        ];
        assert_eq!(log.text().lines().collect::<Vec<_>>(), expected);
    }

    /// Goal: SIGHUP is a look at once.
    /// Method: a look that would take an hour, and the signal, to this process, until the change counts.
    #[tokio::test]
    async fn a_hangup_is_a_look() {
        let folder = Folder::new("hangup");
        folder.renew();
        let certificate = folder.open();
        // From here on the signal does not end this process. The other tests do not listen to it.
        let hangup = signal(SignalKind::hangup()).unwrap();
        let hour = Duration::from_secs(3600);
        tokio::spawn(certificate.clone().follow_by(hour, Some(hangup)));
        let second = folder.renew();
        let deadline = Instant::now() + Duration::from_secs(30);
        while shown(&certificate) != second {
            assert!(Instant::now() < deadline, "nobody looked");
            let id = std::process::id().to_string();
            assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
            sleep(2 * QUIET).await;
        }
    }
}
