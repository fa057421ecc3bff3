//! A merchant's open period, which a settlement closes.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{Key, Partition};
use crate::transaction::{Clause, FIRST_PERIOD, PERIOD, PeriodSums, Role, TransactItem, is_open};

/// A merchant's open period, as it was read from its `CREDITING` item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPeriod {
    /// Its number.
    pub number: u32,
    /// The sums of its records.
    pub sums: PeriodSums,
    /// How often the merchant had been credited.
    version: i64,
}

impl OpenPeriod {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let number = item.opt_int(PERIOD)?.unwrap_or(FIRST_PERIOD);
        Ok(Self { number, sums: PeriodSums::read(item)?, version: item.int("version")? })
    }

    /// Closes the period and opens the next one, which is empty. Fails with `StalePlan` if the merchant was credited
    /// since, or another settlement has closed the period.
    ///
    /// It needs no lease: a worker that credits the merchant meanwhile fails on the number of the period.
    pub(crate) fn closed(&self, tenant: &Tenant, merchant: MerchantId) -> TransactItem {
        let next = self.number.saturating_add(1);
        let update = self.sums.remove_from(Update::new().set(PERIOD, "next_period", Value::int(next.into())));
        // INVARIANT: while `version` is unchanged, so are the sums.
        let as_read = Condition::compare("version", Cmp::Eq, "seen_version", Value::int(self.version));
        let clauses =
            vec![is_open(self.number, Failure::StalePlan), Clause { condition: as_read, failure: Failure::StalePlan }];
        TransactItem::update(Role::Crediting, crediting(tenant, merchant), update, clauses)
    }
}

fn crediting(tenant: &Tenant, merchant: MerchantId) -> Key {
    Partition::merchant(tenant, merchant).crediting()
}
