//! Records: what is held by name, so that any server that shares the store can give it back.
//!
//! Invariant: a record ends with what it stands for, and is taken out once.

use super::ask::{self, Seen};
use super::error::StoreError;
use super::name::{self, Held, Tag};
use super::script::Part;
use super::{Ask, Call, Redis};

/// What is held by name, to be noted with the charge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) what: Held,
    pub(crate) id: u64,
    pub(crate) ticks: u64,
    pub(crate) text: &'a [u8],
}

impl Redis {
    /// Notes the bucket of a permit, so that who knows the record can give it back.
    pub(crate) fn note(&self, ask: &Ask<'_>, text: &mut Vec<u8>) {
        text.extend(self.name(ask));
        text.push(b'\n');
    }

    /// Gives back a permit by name; `false` if there is none, or no longer.
    pub(crate) async fn release(&self, id: u64, given: u64) -> Result<bool, StoreError> {
        let Some(text) = self.take(Held::Permit, id, given).await? else { return Ok(false) };
        let deadline = self.deadline();
        let mut released = false;
        // Permits of one record may be in several slots.
        for key in text.split(|byte| *byte == b'\n').filter(|key| !key.is_empty()) {
            let tag = name::tag_of(key).ok_or_else(|| self.unreadable())?;
            let mut call = self.call(false, tag, given, deadline);
            call.add(Part::Permits, key.to_vec(), ask::release(id));
            let rows = self.topology.ask(call).await?.rows;
            released |= rows.first().is_some_and(|did| *did != Seen::Alien);
        }
        Ok(released)
    }

    /// Keeps a record by name.
    pub(crate) async fn keep(&self, record: Record<'_>, given: u64) -> Result<(), StoreError> {
        let mut call = self.call(true, Tag::of_id(record.id), given, self.deadline());
        self.add_record(&mut call, record);
        self.topology.ask(call).await.map(|_| ())
    }

    /// Adds a record to what a call charges.
    pub(super) fn add_record(&self, call: &mut Call, record: Record<'_>) {
        let key = name::record(&self.config.prefix, record.what, record.id);
        call.add(Part::Plain, key, ask::record(record.ticks, record.text));
    }

    /// Takes a record out; `None` if there is none.
    pub(crate) async fn take(
        &self,
        what: Held,
        id: u64,
        given: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut call = self.call(false, Tag::of_id(id), given, self.deadline());
        let key = name::record(&self.config.prefix, what, id);
        call.add(Part::Plain, key, vec![Part::Plain.letter(false)]);
        let rows = self.topology.ask(call).await?.rows;
        Ok(match rows.into_iter().nth(1) {
            Some(Seen::Text(text)) => Some(text),
            _ => None,
        })
    }
}
