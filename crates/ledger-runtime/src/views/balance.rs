//! Balances and a customer's aggregates as the faces show them.

use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::keys::{attr, sk};
use ledger_core::money::{Asset, Balance, stored_text};
use serde::Serialize;
use utoipa::ToSchema;

/// A balance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BalanceView {
    /// Which asset.
    pub asset: String,
    /// What may be spent.
    #[schema(example = "10000")]
    pub balance: String,
    /// What is put aside and will leave, unless it comes back.
    pub held: String,
    /// Room under the cap that a top-up has reserved; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// What a dispute took and the wallet could not give: value that comes back pays it first. Absent if it is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owed: Option<String>,
    /// Whether it may not be debited.
    pub frozen: bool,
    /// When it last changed.
    pub updated_at: String,
}

/// A customer's aggregates. Estimates: the CO2 is never converted into credits.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct MetricsView {
    /// Kg of CO2.
    pub co2_kg: String,
    /// How many payments.
    pub payments: String,
    /// How much was paid.
    pub paid_total: String,
    /// How many refunds.
    pub refunds: String,
    /// How much was refunded.
    pub refunded_total: String,
}

impl BalanceView {
    /// From a `BALANCE#...` item.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
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
    /// From the `METRICS` item, if there is one yet.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: Option<&Item>) -> Result<Self, ItemError> {
        let nothing = Item::new();
        let item = item.unwrap_or(&nothing);
        Ok(Self {
            co2_kg: text_or_zero(item, "co2_total")?,
            payments: text_or_zero(item, "payments")?,
            paid_total: text_or_zero(item, "paid_total")?,
            refunds: text_or_zero(item, "refunds")?,
            refunded_total: text_or_zero(item, "refunded_total")?,
        })
    }
}

fn not_zero(balance: Option<Balance>) -> Option<String> {
    balance.map(|balance| balance.text()).filter(|text| text != "0")
}

fn text_or_zero(item: &Item, name: &str) -> Result<String, ItemError> {
    Ok(item.opt_parsed_number(name, stored_text)?.unwrap_or_else(|| "0".to_owned()))
}
