//! The locks of the concurrent core, in one place, so that loom can stand in for them.

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

use std::sync::PoisonError;

/// Tries before a thread goes to sleep. A shard is held for some hundred nanoseconds: waking a
/// sleeper would cost both sides several times that.
#[cfg(not(loom))]
const PAUSE: u32 = 16;
#[cfg(not(loom))]
const TRIES: u32 = 20;

/// Takes the lock. A panic of another holder does not matter: every write to a shard leaves it
/// whole.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(not(loom))]
    for _ in 0..TRIES {
        if let Ok(guard) = mutex.try_lock() {
            return guard;
        }
        for _ in 0..PAUSE {
            std::hint::spin_loop();
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
