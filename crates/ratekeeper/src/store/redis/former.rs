//! What keys have used under a rate that their limit had before, brought over to their own name.
//!
//! Invariant: it is under one name at any time; of several servers one brings it.

use super::request::Left;
use super::script::Part;
use super::{Ask, Redis, StoreError, ask};
use tokio::time::Instant;

impl<'a> Ask<'a> {
    /// The same key under rates that the limit had before.
    pub(crate) fn formers(&self, now: u64) -> impl Iterator<Item = Ask<'a>> {
        let ask = *self;
        self.charge.formers(now).map(move |charge| Ask { charge, ..ask })
    }
}

impl Redis {
    /// Puts what a key has used under a former rate to its own name, unless another server has.
    pub(super) async fn bring_over(
        &self,
        left: &Left<'_>,
        given: u64,
        deadline: Instant,
    ) -> Result<(), StoreError> {
        let Left { ask, former, held, now } = left;
        let Some(arrival) = ask.charge.carried(&former.charge, *held, *now) else { return Ok(()) };
        let mut call = self.call(false, ask.tag(), given, deadline);
        call.add(Part::Former, self.name(ask), ask::brought(arrival));
        call.add(Part::Plain, self.name(former), ask::forget());
        self.topology.ask(call).await.map(|_| ())
    }
}
