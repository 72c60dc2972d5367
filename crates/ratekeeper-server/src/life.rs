//! How far a server is on its way from its start to its end.
//!
//! Invariant: it only goes forward. Whoever waits for a phase is told of it, also if it is past.

use tokio::sync::watch;

/// Where a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It answers.
    Serving,
    /// It still answers, and tells whoever sends it traffic to look elsewhere.
    Leaving,
    /// It takes no more connections, and finishes what is under way.
    Stopping,
    /// It ends now.
    Cut,
}

/// A handle on the phase of a server; clones are of the same server.
#[derive(Clone, Debug)]
pub struct Life(watch::Sender<Phase>);

impl Default for Life {
    fn default() -> Life {
        Life(watch::Sender::new(Phase::Serving))
    }
}

impl Life {
    /// Where it is.
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Goes on to a phase, unless it is past.
    pub fn go(&self, phase: Phase) {
        self.0.send_if_modified(|own| {
            let later = phase > *own;
            *own = phase.max(*own);
            later
        });
    }

    /// Waits until the server is at least there.
    pub async fn reaches(&self, phase: Phase) {
        // The sender is here, so it is not gone.
        let _ = self.0.subscribe().wait_for(|own| *own >= phase).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: phases only go forward, and whoever comes late is told all the same.
    /// Method: forward, back, and waiting for what is past and what is to come.
    #[tokio::test]
    async fn it_only_goes_forward() {
        let life = Life::default();
        let other = life.clone();
        let waits = tokio::spawn(async move { other.reaches(Phase::Stopping).await });
        life.go(Phase::Stopping);
        life.go(Phase::Leaving);
        assert_eq!(life.phase(), Phase::Stopping);
        life.reaches(Phase::Leaving).await;
        waits.await.unwrap();
    }
}
