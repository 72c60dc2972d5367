//! Reservations by name in a shared store, so that any server can settle them.
//!
//! A record holds the rules by name, who is counted, and where each charge went. Invariant: a record is
//! used once, by who takes it out of the store; one that cannot be read settles nothing.

use super::{Backing, Permits, Shared, asks};
use crate::decision::Decisions;
use crate::limiter::holds::Kept;
use crate::limiter::{Asked, Compiled, Inner};
use crate::name::HoldId;
use crate::store::redis::{Ask, Held, Record};
use crate::store::{Receipt, Stamp};
use std::sync::Arc;

/// The first byte of a record.
const FORM: u8 = b'1';

impl Inner {
    /// Reserves, and notes it under a new name; what was reserved without the store is handed back.
    pub(in crate::limiter) async fn reserve_by_name(
        self: &Arc<Self>,
        shared: &Shared,
        rules: Vec<Asked>,
    ) -> (Decisions, Option<Result<HoldId, Kept>>) {
        let admitted = self.admit_shared(shared, &rules, u64::MAX, Permits::Reserved).await;
        let decisions = self.by_rule(&rules, &admitted.decisions);
        let receipts = admitted.receipts;
        if decisions.is_refused() {
            return (decisions, None);
        }
        let permit = match admitted.backing {
            Backing::Memory(rules) => return (decisions, Some(Err(Kept { rules, receipts }))),
            Backing::Shared(permit) => permit,
        };
        let Some(first) = asks(&rules, 0).first().map(Ask::tag) else {
            return (decisions, Some(Err(Kept { rules, receipts })));
        };
        let id = shared.id(first, Permits::ByName);
        let (text, ticks) =
            (write(&rules, &receipts, permit), self.holds.ticks(&rules, &decisions));
        let record = Record { what: Held::Hold, id: id.get(), ticks, text: &text };
        match shared.redis.keep(record, self.clock.now()).await {
            Ok(()) => (decisions, Some(Ok(HoldId(id)))),
            Err(error) => {
                self.tell(&error);
                (decisions, None)
            }
        }
    }

    /// Settles what any server has noted under this name.
    pub(in crate::limiter) async fn settle_by_name(
        self: &Arc<Self>,
        shared: &Shared,
        hold: HoldId,
        actual: u64,
    ) -> bool {
        let text = match shared.redis.take(Held::Hold, hold.0.get(), self.clock.now()).await {
            Ok(text) => text,
            Err(error) => {
                self.tell(&error);
                return false;
            }
        };
        let Some((kept, permit)) = text.and_then(|text| self.read(&mut &text[..])) else {
            return false;
        };
        self.settle_shared(shared, &kept.rules, &kept.receipts, actual).await;
        self.free_shared(shared, permit, &kept.rules).await;
        true
    }

    fn read(&self, text: &mut &[u8]) -> Option<(Kept, u64)> {
        let (form, rest) = text.split_first()?;
        *text = rest;
        let permit = u64::from_be_bytes(take(text)?);
        let release = self.rules.load();
        let (mut rules, mut receipts) = (Vec::new(), Vec::new());
        while !text.is_empty() {
            let [length] = take(text)?;
            let (name, rest) = text.split_at_checked(length.into())?;
            *text = rest;
            let who = self.secret.who_is(u128::from_be_bytes(take(text)?));
            let count = u16::from_be_bytes(take(text)?);
            (*form == FORM).then_some(())?;
            let noted: Option<Vec<[u64; 4]>> = (0..count).map(|_| numbers(text)).collect();
            let noted = noted?;
            // What was charged to limits that the rule has no more is not given to those that it has.
            let same = |rule: &&Arc<Compiled>| {
                let marks = rule.charges(who.local, 0).map(|charge| charge.mark());
                marks.eq(noted.iter().map(|[mark, ..]| *mark))
            };
            let entry = release.find(std::str::from_utf8(name).ok()?);
            if let Some(rule) = entry.and_then(|entry| entry.all().find(same)) {
                receipts.extend(rule.charges(who.local, 0).zip(&noted).map(|(charge, noted)| {
                    let [_, tick, part, held] = *noted;
                    Receipt::noted(&charge, Stamp::new(tick, part), held)
                }));
                rules.push(Asked { rule: Arc::clone(rule), who, cost: 0 });
            }
        }
        Some((Kept { rules, receipts }, permit))
    }
}

fn write(rules: &[Asked], receipts: &[Receipt], permit: u64) -> Vec<u8> {
    let mut text = vec![FORM];
    text.extend(permit.to_be_bytes());
    let mut receipts = receipts.iter();
    for Asked { rule, who, .. } in rules {
        // Names are short, and so are lists of limits: see the builder.
        text.push(rule.id().len() as u8);
        text.extend(rule.id().as_bytes());
        text.extend(who.shared.to_be_bytes());
        text.extend((rule.meters.len() as u16).to_be_bytes());
        for (charge, receipt) in rule.charges(who.local, 0).zip(receipts.by_ref()) {
            let (tick, part) = receipt.stamp().parts();
            let numbers = [charge.mark(), tick, part, receipt.units()];
            text.extend(numbers.into_iter().flat_map(u64::to_be_bytes));
        }
    }
    text
}

fn take<const N: usize>(text: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = text.split_first_chunk()?;
    *text = rest;
    Some(*taken)
}

fn numbers<const N: usize>(text: &mut &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = u64::from_be_bytes(take(text)?);
    }
    Some(numbers)
}
