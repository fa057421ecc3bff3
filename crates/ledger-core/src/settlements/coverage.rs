//! Which cash of a merchant its paid settlements have covered. Cash that is covered earns its bonus.
//!
//! `SETTLING` counts the settlements that were paid, and each settlement has the count at its opening. A settlement is covered
//! if one was paid since it was opened: itself, or one that carries it on. No clock and no order of ids decides.

use super::record::Settlement;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant, TransactionId};
use crate::keys::{self, Work, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

/// The attribute of `SETTLING` with the number of the merchant's settlements that were paid.
const PAID: &str = "paid_settlements";
/// The attribute with the time at which the last one was.
const COVERED_AT: &str = "covered_at";
/// The attribute with the entry from which on bonuses may be due.
const BONUSES_FROM: &str = "bonuses_from";

/// How far a merchant's cash is covered, by its `SETTLING` item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many of its settlements were paid.
    pub paid: u32,
    /// When the last one was.
    pub covered_at: Option<Timestamp>,
    /// Each bonus of an earlier entry is granted or reversed.
    pub bonuses_from: Option<TransactionId>,
    /// Whether bonuses on the cash that it covered may still be due.
    pub is_due: bool,
}

impl Coverage {
    /// Reads the item; without one nothing is covered.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(settling: Option<&Item>) -> Result<Self, ItemError> {
        let Some(item) = settling else { return Ok(Self::default()) };
        Ok(Self {
            paid: item.opt_int(PAID)?.unwrap_or(0),
            covered_at: item.opt_timestamp(COVERED_AT)?,
            bonuses_from: item.opt_parsed(BONUSES_FROM, TransactionId::parse)?,
            is_due: item.opt_text(attr::DUE_PK)?.is_some(),
        })
    }

    /// Whether the cash in a settlement of the merchant is covered.
    #[must_use]
    pub fn covers(&self, settlement: &Settlement) -> bool {
        settlement.paid_before < self.paid
    }

    /// Records that all bonuses on the cash that was covered are granted, and that each bonus of an entry before `from` is
    /// granted or reversed. Fails with `StalePlan` if another settlement was paid since.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn granted(
        &self,
        (tenant, merchant): (&Tenant, MerchantId),
        from: TransactionId,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let update = Update::new()
            .remove(attr::DUE_PK)
            .remove(attr::DUE_SK)
            .set(BONUSES_FROM, "from", Value::s(from))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        let as_read = Clause { condition: paid_as_seen(self.paid), failure: Failure::StalePlan };
        let settling = keys::settling(tenant, merchant);
        Transaction::unkeyed(vec![TransactItem::update(Role::Settlement, settling, update, vec![as_read])])
    }
}

/// Requires that no settlement was paid since `SETTLING` was read.
pub(super) fn paid_as_seen(paid: u32) -> Condition {
    match paid {
        0 => Condition::absent(PAID),
        _ => Condition::compare(PAID, Cmp::Eq, "seen_paid", Value::int(paid.into())),
    }
}

/// Counts a settlement that is paid, in `SETTLING`. The merchant's bonuses are due to be looked at.
pub(super) fn counted(settling: Update, of: (&Tenant, MerchantId), before: u32, now: Timestamp) -> Update {
    let (tenant, merchant) = of;
    let paid = Value::int(before.saturating_add(1).into());
    Work::CoveredCash.due(tenant, 0, now, merchant).set(settling.set(PAID, PAID, paid).set(
        COVERED_AT,
        "ua",
        Value::s(now),
    ))
}
