//! The limiter as programs use it: rules, keys and calls.
//!
//! Invariant: only the public interface is used, with a clock moved by hand.

mod against_oracle;
mod calls;
mod keys;
mod many;
#[cfg(feature = "yaml")]
mod observed;
mod observer;
mod rules;
mod several;
mod together;

pub(crate) use against_oracle::{figures, limit_of, shapes};

use proptest::prelude::*;
use ratekeeper::Decision;
use ratekeeper_testing::oracle::{Answer, Retry};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Awaits a call of the memory store, which is ready at once.
pub(crate) fn block_on<F: IntoFuture>(call: F) -> F::Output {
    let mut future = pin!(call.into_future());
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("memory answers at once"),
    }
}

/// Whether a decision is the oracle's answer, in every figure.
pub(crate) fn same(decision: &Decision, expected: Answer) -> Result<(), TestCaseError> {
    let wait = match expected.retry_after {
        Retry::After(ticks) => Some(Duration::from_micros(ticks)),
        Retry::Now | Retry::Never => None,
    };
    prop_assert_eq!(decision.is_allowed(), expected.retry_after == Retry::Now);
    prop_assert_eq!(decision.is_never(), expected.retry_after == Retry::Never);
    prop_assert_eq!(decision.retry_after(), wait);
    prop_assert_eq!(decision.limit(), expected.limit);
    prop_assert_eq!(decision.remaining(), expected.remaining);
    prop_assert_eq!(decision.reset_after(), Some(Duration::from_micros(expected.reset_after)));
    Ok(())
}
