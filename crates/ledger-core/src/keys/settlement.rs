//! The keys of a merchant's settlements, all in the merchant's partition, and of cash rooms.

use super::{Key, Partition, sk};
use crate::ids::{CashCollectionId, MerchantId, SettlementId, Tenant, TerminalId, TransactionId};

/// The prefix of the sort keys of collections, in the partition of the counter whose cash was collected.
pub(crate) const CASH_COLLECTION: &str = "COLLECTION#";
/// The prefix of the sort keys of the marks of deposits that were taken back.
pub(crate) const DEPOSIT_REVERSED: &str = "DEPOSIT_REVERSED#";

/// A settlement.
#[must_use]
pub fn settlement(tenant: &Tenant, merchant: MerchantId, id: SettlementId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{id}", sk::SETTLEMENT))
}

/// The merchant's open settlement, and what the last one carried over to the next.
#[must_use]
pub fn settling(tenant: &Tenant, merchant: MerchantId) -> Key {
    Partition::merchant(tenant, merchant).item("SETTLING")
}

impl Partition {
    /// The cash rooms of a merchant, or in the tenant's partition of the operator: the ceiling, and what each terminal was
    /// allotted.
    #[must_use]
    pub fn cash_rooms(&self) -> Key {
        self.item("CASH_ROOM")
    }

    /// A merchant's refund room.
    #[must_use]
    pub fn refund_room(&self) -> Key {
        self.item("REFUND_ROOM")
    }
}

/// The mark of a cash deposit that was taken back, by the deposit's entry.
#[must_use]
pub fn cash_deposit_reversed(tenant: &Tenant, merchant: MerchantId, deposit: TransactionId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{DEPOSIT_REVERSED}{deposit}"))
}

/// The bonus of a top-up with cash that the merchant owes, by the top-up's entry.
#[must_use]
pub fn cash_bonus(tenant: &Tenant, merchant: MerchantId, topup: TransactionId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{topup}", sk::CASH_BONUS))
}

/// A collection of the cash that a counter took.
#[must_use]
pub fn cash_collection(tenant: &Tenant, terminal: TerminalId, id: CashCollectionId) -> Key {
    Partition::terminal(tenant, terminal).item(format!("{CASH_COLLECTION}{id}"))
}

/// The list of the records and periods that one transaction took into a settlement; `batch` counts from 1.
#[must_use]
pub fn settled(tenant: &Tenant, merchant: MerchantId, id: SettlementId, batch: u32) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{id}#{batch:06}", sk::SETTLED))
}

/// Money of a paid settlement that was returned; the merchant's next settlement takes it.
#[must_use]
pub fn returned(tenant: &Tenant, merchant: MerchantId, id: SettlementId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{id}", sk::RETURNED))
}

/// A closed period of a merchant, by its part of the sort key.
pub(crate) fn period(tenant: &Tenant, merchant: MerchantId, period: &str) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{period}", sk::PERIOD))
}

/// A closed period of a merchant that a settlement gave back, by its part of the sort key.
pub(crate) fn period_back(tenant: &Tenant, merchant: MerchantId, period: &str) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{period}", sk::PERIOD_BACK))
}

/// What a merchant is credited with in a lane of the audit trail since its last settlement.
#[must_use]
pub fn credited_in_lane(tenant: &Tenant, merchant: MerchantId, lane: u32) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{lane:02}", sk::CREDITED))
}
