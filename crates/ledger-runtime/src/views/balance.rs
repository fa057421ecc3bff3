//! Balances and a customer's aggregates, as the APIs show them.

use ledger_core::aggregates::{Aggregate, CustomerMetrics};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::keys::{attr, sk};
use ledger_core::money::{Asset, Balance};
use serde::Serialize;
use utoipa::ToSchema;

/// A balance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BalanceView {
    /// The asset.
    pub asset: String,
    /// The amount that may be spent.
    #[schema(example = "10000")]
    pub balance: String,
    /// The amount that is held; it leaves the account unless it is released.
    pub held: String,
    /// Room under the cap that a pending top-up has reserved; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// The disputed amount that the wallet could not cover. Incoming value pays it first. Absent if it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owed: Option<String>,
    /// Whether debits are refused.
    pub frozen: bool,
    /// The time of the last change.
    pub updated_at: String,
}

/// A customer's aggregates. The CO2 is an estimate and is never converted into credits.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct MetricsView {
    /// CO2 in kg.
    pub co2_kg: String,
    /// The number of payments.
    pub payments: String,
    /// The total paid.
    pub paid_total: String,
    /// The number of refunds.
    pub refunds: String,
    /// The total refunded.
    pub refunded_total: String,
}

impl BalanceView {
    /// Reads a `BALANCE#...` item.
    ///
    /// # Errors
    /// [`ItemError`] if the item is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let asset = item.parsed(attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))?;
        Ok(Self {
            balance: item.balance(attr::BALANCE, asset.clone())?.text(),
            held: item.balance(attr::HELD, asset.clone())?.text(),
            reserved: not_zero(item.opt_balance(attr::RESERVED, asset.clone())?),
            owed: not_zero(item.opt_balance(attr::OWED, asset.clone())?),
            frozen: item.contains_key(attr::FROZEN),
            updated_at: item.string(attr::UPDATED_AT)?,
            asset: asset.to_string(),
        })
    }
}

impl MetricsView {
    /// Sums the `METRICS` item and what all balance items have beside their balances; a value that none has is 0.
    ///
    /// # Errors
    /// [`ItemError`] if an item is malformed.
    pub fn read(metrics: Option<&Item>, balances: &[Item]) -> Result<Self, ItemError> {
        let sums = CustomerMetrics::read(metrics, balances)?;
        Ok(Self {
            co2_kg: sums.text(Aggregate::Co2Total),
            payments: sums.text(Aggregate::Payments),
            paid_total: sums.text(Aggregate::PaidTotal),
            refunds: sums.text(Aggregate::Refunds),
            refunded_total: sums.text(Aggregate::RefundedTotal),
        })
    }
}

fn not_zero(balance: Option<Balance>) -> Option<String> {
    balance.map(|balance| balance.text()).filter(|text| text != "0")
}
