//! The atomics and locks of the concurrent core, in one place, so that loom can stand in for them.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use std::sync::PoisonError;

/// Takes a lock. A panic of another holder does not matter: every write leaves the data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries after which a waiting thread lets others run: the holder may have been put to sleep.
#[cfg(not(loom))]
const TRIES: u32 = 64;

/// Waits before the `tried`-th try of a lock that is held for some ten nanoseconds only. The waits
/// are longer than that, so that under contention one thread goes on for a while, instead of both
/// passing the line to and fro.
#[cold]
pub(crate) fn pause(tried: u32) {
    #[cfg(not(loom))]
    if tried < TRIES {
        (0..8).for_each(|_| std::hint::spin_loop());
    } else {
        std::thread::yield_now();
    }
    #[cfg(loom)]
    {
        let _ = tried;
        loom::thread::yield_now();
    }
}
