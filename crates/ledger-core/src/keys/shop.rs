//! The keys of a merchant's shops.

use super::{Key, Partition, sk};
use crate::ids::{MerchantId, ShopId, Tenant};

/// A shop, in the partition of its merchant.
#[must_use]
pub fn shop(tenant: &Tenant, merchant: MerchantId, id: ShopId) -> Key {
    Partition::merchant(tenant, merchant).item(format!("{}{id}", sk::SHOP))
}
