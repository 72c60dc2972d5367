//! Requests of a connection that has many at a time, each in a task of its own, if it takes a while.
//!
//! On such a connection a peer can take nothing of one answer, and of the others all that it likes, so that the
//! connection itself never stands still. Invariant: an answer of which nobody has taken a piece for so long is
//! given up, and with it what it holds.

use std::cell::Cell;
use std::future::poll_fn;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::time::sleep;

tokio::task_local! {
    static TAKEN: Taken;
}

/// How an answer is taken.
#[derive(Default)]
struct Taken {
    /// Whether a piece was handed over, or the header, and the next has not been asked for.
    waits: Cell<bool>,
    pieces: Cell<u64>,
}

/// Something of an answer was handed over.
pub(super) fn handed() {
    let _ = TAKEN.try_with(|taken| {
        taken.waits.set(true);
        taken.pieces.set(taken.pieces.get() + 1);
    });
}

/// The next piece of an answer is asked for.
pub(super) fn asked() {
    let _ = TAKEN.try_with(|taken| taken.waits.set(false));
}

/// A request that was not asked yet.
type New = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs requests.
#[derive(Clone)]
pub(super) struct Streams {
    /// For the peer to make room for more of an answer, and at most as much again.
    write: Duration,
    /// Those that have just come, where most are over when they are first asked: those need no task of their own, nor
    /// do they wake the connection's.
    new: Option<Arc<Mutex<Vec<New>>>>,
}

impl Streams {
    pub(super) fn new(write: Duration, at_once: bool) -> Streams {
        Streams { write, new: at_once.then(Arc::default) }
    }

    /// Drives a connection. Requests that came together are asked together, and their answers sent together.
    pub(super) async fn drive<T>(&self, mut connection: Pin<&mut impl Future<Output = T>>) -> T {
        let Some(new) = &self.new else { return connection.await };
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        poll_fn(|context| {
            bell.wakes(context.waker());
            loop {
                let mut context = Context::from_waker(&waker);
                let over = connection.as_mut().poll(&mut context);
                let new = take(&mut *lock(new));
                if over.is_ready() || new.is_empty() {
                    // Whoever asked and has gone is decided all the same.
                    new.into_iter().for_each(ask);
                    return over;
                }
                // Whatever answers do to the connection is seen by the look at it that follows.
                bell.is_muted.store(true, Ordering::SeqCst);
                new.into_iter().for_each(ask);
                bell.is_muted.store(false, Ordering::SeqCst);
                fence(Ordering::SeqCst);
            }
        })
        .await
    }
}

/// Wakes the task of a connection, unless that is about to look at it anyway.
#[derive(Default)]
struct Bell {
    task: Mutex<Option<Waker>>,
    is_muted: AtomicBool,
}

impl Bell {
    fn wakes(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !task.as_ref().is_some_and(|own| own.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In one order with what is woken for: who finds it muted has written before the look that follows.
        fence(Ordering::SeqCst);
        if self.is_muted.load(Ordering::SeqCst) {
            return;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.iter().for_each(Waker::wake_by_ref);
    }
}

fn lock(new: &Mutex<Vec<New>>) -> MutexGuard<'_, Vec<New>> {
    new.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks a request; one that is not over gets a task.
fn ask(mut request: New) {
    let mut context = Context::from_waker(Waker::noop());
    // One that panics is over, too, as it would be in a task of its own.
    let first = AssertUnwindSafe(|| request.as_mut().poll(&mut context).is_ready());
    if !catch_unwind(first).unwrap_or(true) {
        tokio::spawn(request);
    }
}

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, request: F) {
        let request = TAKEN.scope(Taken::default(), bounded(request, self.write));
        match &self.new {
            Some(new) => lock(new).push(Box::pin(request)),
            None => _ = tokio::spawn(request),
        }
    }
}

async fn bounded(request: impl Future, write: Duration) {
    let mut request = pin!(request);
    let mut before = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut request => return,
            () = sleep(write) => {}
        }
        let (waits, pieces) = TAKEN.with(|taken| (taken.waits.get(), taken.pieces.get()));
        if waits && pieces == before {
            return;
        }
        before = pieces;
    }
}
