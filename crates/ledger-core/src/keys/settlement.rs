//! The keys of a merchant's settlements, all in the merchant's partition.

use super::{Key, Partition, sk};
use crate::ids::{MerchantId, ResendId, SettlementId, Tenant};

/// A settlement.
#[must_use]
pub fn settlement(tenant: &Tenant, merchant: MerchantId, id: SettlementId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{id}", sk::SETTLEMENT))
}

/// Which settlement of a merchant is open, and what the last one left to the next.
#[must_use]
pub fn settling(tenant: &Tenant, merchant: MerchantId) -> Key {
    Partition::merchant(tenant, merchant).item("SETTLING")
}

/// The records that one transaction took into a settlement, by its number from 1 on.
#[must_use]
pub fn settled(tenant: &Tenant, merchant: MerchantId, id: SettlementId, batch: u32) -> Key {
    Partition::merchant(tenant, merchant).item(format!("SETTLED#{id}#{batch:06}"))
}

/// A request to send the bank file of a settlement again.
#[must_use]
pub fn payout_file_resend(tenant: &Tenant, merchant: MerchantId, id: ResendId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("RESEND#{id}"))
}
