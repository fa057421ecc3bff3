//! Changes of a balance item: postings, and reservations of headroom. Nothing else changes one.

use super::{Clause, Role, TransactItem};
use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr};
use crate::money::{Balance, Delta};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The attributes of a balance item that are sums of postings and reservations.
pub(super) const SUMS: [&str; 4] = [attr::BALANCE, attr::HELD, attr::RESERVED, attr::EXPOSURE];

/// A change of one balance item, with its parts in the order in which the expression names the sums.
///
/// The golden vectors fix the order and the placeholders.
// INVARIANT: what is added to each sum follows from the postings and the reservation: `exposure` of a customer changes
// by the sum of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BalanceChange {
    account: Account,
    parts: Vec<(Part, &'static str)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Posted(Posting),
    Reserved(Delta),
    /// The place at which the expression names `exposure`.
    Exposure,
}

impl BalanceChange {
    /// An empty change of an account's balance.
    pub(crate) fn of(account: Account) -> Self {
        Self { account, parts: Vec::new() }
    }

    /// Posts to the available part.
    pub(crate) fn available(self, placeholder: &'static str, delta: Delta) -> Self {
        let posting = Posting::new(self.account, delta);
        self.with(Part::Posted(posting), placeholder)
    }

    /// Posts to the held part.
    pub(crate) fn held(self, placeholder: &'static str, delta: Delta) -> Self {
        let posting = Posting::held(self.account, delta);
        self.with(Part::Posted(posting), placeholder)
    }

    /// Reserves headroom under a cap, or releases it.
    pub(crate) fn reserved(self, placeholder: &'static str, delta: Delta) -> Self {
        self.with(Part::Reserved(delta), placeholder)
    }

    /// Names `exposure` at this place in the expression. Its change follows from the other parts.
    pub(crate) fn exposure(self, placeholder: &'static str) -> Self {
        self.with(Part::Exposure, placeholder)
    }

    fn with(mut self, part: Part, placeholder: &'static str) -> Self {
        self.parts.push((part, placeholder));
        self
    }

    /// The postings, in order.
    pub(super) fn postings(&self) -> impl Iterator<Item = &Posting> {
        self.parts.iter().filter_map(|(part, _)| match part {
            Part::Posted(posting) => Some(posting),
            Part::Reserved(_) | Part::Exposure => None,
        })
    }

    /// The change of each sum; `None` if that of `exposure` is out of range.
    pub(super) fn sums(&self) -> Option<BTreeMap<&'static str, Delta>> {
        let (mut sums, mut exposure) = (BTreeMap::new(), None::<Delta>);
        for (part, _) in &self.parts {
            let (attribute, delta) = match part {
                Part::Posted(posting) => (sum_of(posting.bucket), &posting.delta),
                Part::Reserved(delta) => (attr::RESERVED, delta),
                Part::Exposure => continue,
            };
            let _ = sums.insert(attribute, delta.clone());
            exposure = match exposure {
                Some(so_far) => so_far.checked_add(delta).ok()?,
                None => Some(delta.clone()),
            };
        }
        if let (Account::Customer(_), Some(exposure)) = (self.account, exposure) {
            let _ = sums.insert(attr::EXPOSURE, exposure);
        }
        Some(sums)
    }

    /// The update that adds the change of each sum.
    fn update(&self) -> Option<Update> {
        let mut sums = self.sums()?;
        let mut update = Update::new();
        for (part, placeholder) in &self.parts {
            let attribute = match part {
                Part::Posted(posting) => sum_of(posting.bucket),
                Part::Reserved(_) => attr::RESERVED,
                Part::Exposure => attr::EXPOSURE,
            };
            if let Some(delta) = sums.remove(attribute) {
                update = update.add(attribute, *placeholder, Value::N(delta.text()));
            }
        }
        Some(
            sums.into_iter()
                .fold(update, |update, (attribute, delta)| update.add(attribute, attribute, Value::N(delta.text()))),
        )
    }
}

fn sum_of(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Available => attr::BALANCE,
        Bucket::Held => attr::HELD,
    }
}

impl TransactItem {
    /// Builds the action that changes a balance; `None` if the change of `exposure` is out of range.
    pub(crate) fn balance(
        role: Role,
        key: Key,
        change: BalanceChange,
        clauses: Vec<Clause>,
        now: Timestamp,
    ) -> Option<Self> {
        let update = change.update()?.set(attr::UPDATED_AT, "ua", Value::s(now));
        Some(Self::update(role, key, update, clauses).carrying_out(change))
    }

    /// Removes the balance item of an account that is closed. What was seen as available is posted from it, and a change of any
    /// sum since then makes the plan stale.
    // INVARIANT: what the removed item had is what is posted, because every sum is guarded: `held`, `reserved` and the debt
    // are zero, and `balance` and `exposure` are what is posted.
    pub(crate) fn close_balance(role: Role, key: Key, account: Account, seen: &Balance) -> Self {
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let as_seen = |sum| stale(Condition::compare(sum, Cmp::Eq, "seen", Value::N(seen.text())));
        let zero = |sum| {
            let zero = Condition::compare(sum, Cmp::Eq, "nothing", Value::int(0));
            stale(Condition::absent(sum).or(zero))
        };
        let mut clauses = vec![stale(Condition::exists(attr::PK)), as_seen(attr::BALANCE), as_seen(attr::EXPOSURE)];
        clauses.extend([attr::HELD, attr::RESERVED, attr::OWED].map(zero));
        let removed = Self::delete(role, key, clauses);
        match seen.as_amount() {
            Some(amount) => removed.carrying_out(BalanceChange::of(account).available("delta", amount.debit())),
            None => removed,
        }
    }
}
