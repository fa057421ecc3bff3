//! The keys of the versions of a tenant's terms, and of the budgets of its assets.

use super::{Key, Partition};
use crate::ids::Tenant;
use crate::money::Asset;
use crate::terms_version::TermsVersion;

/// The prefix of versions.
pub const TERMS: &str = "TERMS#";

/// A version of a tenant's terms. Versions sort by their numbers.
#[must_use]
pub fn terms(tenant: &Tenant, version: TermsVersion) -> Key {
    Partition::tenant(tenant).item(format!("{TERMS}{:010}", version.number()))
}

/// The prefix of the budgets of assets.
pub const ASSET_BUDGET: &str = "BUDGET#";

/// The budget of an asset of the tenant.
#[must_use]
pub fn asset_budget(tenant: &Tenant, asset: &Asset) -> Key {
    Partition::tenant(tenant).item(format!("{ASSET_BUDGET}{asset}"))
}
