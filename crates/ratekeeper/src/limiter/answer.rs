//! The answer to a call: there at once from memory, later from a store that is shared.
//!
//! Invariant: memory answers without a box and without a wait.

use super::Inner;
use std::fmt;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

impl Inner {
    /// Says no where answers take a while.
    #[inline]
    pub(super) fn not_shared(&self) -> Result<(), NeedsAwait> {
        #[cfg(feature = "redis")]
        if self.shared.is_some() {
            return Err(NeedsAwait);
        }
        Ok(())
    }
}

/// Awaiting any call runs it: at once in memory, or where it is decided near it, else by the shared store.
macro_rules! awaitable {
    ([$lifetime:lifetime $($own:lifetime)?] $call:ty, $output:ty $(, $near:ident)?) => {
        impl<$($own)?> IntoFuture for $call {
            type Output = $output;
            type IntoFuture = Answer<$lifetime, $output>;

            fn into_future(self) -> Answer<$lifetime, $output> {
                #[cfg(feature = "redis")]
                if let Some(_shared) = &self.limiter().shared {
                    $(if let Some(answer) = self.$near(_shared) {
                        return Answer::new(answer);
                    })?
                    let limiter = Arc::clone(self.limiter());
                    return Answer::later(async move {
                        match &limiter.shared {
                            Some(shared) => self.run_shared(shared).await,
                            None => self.run(),
                        }
                    });
                }
                Answer::new(self.run())
            }
        }
    };
}
pub(super) use awaitable;

/// The answer to a call that is under way.
#[must_use = "futures do nothing unless awaited"]
pub struct Answer<'a, T>(Way<'a, T>);

enum Way<'a, T> {
    /// Memory has answered.
    Now(Ready<T>, PhantomData<&'a ()>),
    /// The shared store will. The box is what gives its future a name; beside the way to the store
    /// and back it takes no time.
    #[cfg(feature = "redis")]
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Answer<'a, T> {
    pub(super) fn new(answer: T) -> Answer<'a, T> {
        Answer(Way::Now(ready(answer), PhantomData))
    }

    #[cfg(feature = "redis")]
    pub(super) fn later(answer: impl Future<Output = T> + Send + 'a) -> Answer<'a, T> {
        Answer(Way::Later(Box::pin(answer)))
    }
}

impl<T> Future for Answer<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Way::Now(answer, _) => Pin::new(answer).poll(context),
            #[cfg(feature = "redis")]
            Way::Later(answer) => answer.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

/// The store is shared by many servers: its answers have to be awaited. Memory never says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsAwait;

impl fmt::Display for NeedsAwait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store is shared, so its answer takes a while; use `.await`")
    }
}

impl std::error::Error for NeedsAwait {}
