//! Changes of a balance item: postings, and reservations of headroom. Nothing else changes one.

use super::{Action, Clause, Role, TransactItem};
use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr, sk};
use crate::money::Delta;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The attributes of a balance item that are sums of postings and reservations.
pub(super) const SUMS: [&str; 4] = [attr::BALANCE, attr::HELD, attr::RESERVED, attr::EXPOSURE];

/// A change of one balance item, with its parts in the order in which the expression names the sums.
///
/// The golden vectors fix the order and the placeholders.
// INVARIANT: what is added to each sum follows from the postings and the reservation: `exposure` of a customer changes
// by the sum of all of them. A correction of `exposure` adds to that what it differs by from its parts; only an adjustment
// for a break may have one: `BuildError::ExposureCorrected`.
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
    /// The same, and what is added to `exposure` beyond the sum of the other parts.
    ExposureCorrection(Delta),
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

    /// Names `exposure` at this place, and adds to its change what it is below the sum of its parts, or above it.
    pub(crate) fn corrected_exposure(self, placeholder: &'static str, difference: Delta) -> Self {
        self.with(Part::ExposureCorrection(difference), placeholder)
    }

    fn with(mut self, part: Part, placeholder: &'static str) -> Self {
        self.parts.push((part, placeholder));
        self
    }

    /// The postings, in order.
    pub(super) fn postings(&self) -> impl Iterator<Item = &Posting> {
        self.parts.iter().filter_map(|(part, _)| match part {
            Part::Posted(posting) => Some(posting),
            Part::Reserved(_) | Part::Exposure | Part::ExposureCorrection(_) => None,
        })
    }

    /// Whether it changes `exposure` otherwise than by the sum of the parts.
    pub(super) fn corrects_exposure(&self) -> bool {
        self.parts.iter().any(|(part, _)| match part {
            Part::ExposureCorrection(_) => true,
            Part::Posted(_) | Part::Reserved(_) | Part::Exposure => false,
        })
    }

    /// Whether it changes more than the available part, or credits that.
    fn is_more_than_debit(&self) -> bool {
        self.parts.iter().any(|(part, _)| match part {
            Part::Posted(posting) => match posting.bucket {
                Bucket::Available => !posting.delta.is_debit(),
                Bucket::Held => true,
            },
            Part::Reserved(_) => true,
            Part::Exposure | Part::ExposureCorrection(_) => false,
        })
    }

    /// The change of each sum; `None` if that of `exposure` is out of range.
    pub(super) fn sums(&self) -> Option<BTreeMap<&'static str, Delta>> {
        let (mut sums, mut exposure) = (BTreeMap::new(), None::<Delta>);
        for (part, _) in &self.parts {
            let (attribute, delta) = match part {
                Part::Posted(posting) => (Some(sum_of(posting.bucket)), &posting.delta),
                Part::Reserved(delta) => (Some(attr::RESERVED), delta),
                Part::ExposureCorrection(difference) => (None, difference),
                Part::Exposure => continue,
            };
            sums.extend(attribute.map(|attribute| (attribute, delta.clone())));
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
                Part::Exposure | Part::ExposureCorrection(_) => attr::EXPOSURE,
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

/// Requires that the wallet of a customer's balance is not closed.
// INVARIANT: a transaction that credits, reserves on or settles a customer's balance without this is not built:
// `BuildError::OpenWalletNotRequired`.
pub(crate) fn open_wallet(failure: Failure) -> Clause {
    Clause { condition: Condition::absent(attr::CLOSED_AT), failure }
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

    /// Whether it must require that the wallet is not closed: it credits, reserves on, or settles a balance of a customer that
    /// exists, or adds to its debt. A debit is stopped by the freeze of a closed wallet, and a close by its own guards.
    pub(super) fn needs_open_wallet(&self) -> bool {
        let Action::Update(update) = &self.action else { return false };
        let is_customers = self.key().customer().is_some() && self.key().sk().starts_with(sk::BALANCE);
        is_customers
            && (self.changes().iter().any(BalanceChange::is_more_than_debit) || update.added(attr::OWED).0.is_some())
    }

    /// Whether it requires that the wallet is not closed.
    pub(super) fn requires_open_wallet(&self) -> bool {
        let open = Condition::absent(attr::CLOSED_AT);
        self.clauses().iter().any(|clause| clause.condition == open)
    }
}
