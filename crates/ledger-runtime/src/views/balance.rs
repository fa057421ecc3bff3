//! Balances and a customer's aggregates as the faces show them.

use ledger_core::dynamo::{Item, ItemError, read};
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
        let asset =
            read::parsed(item, attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))?;
        let quantity = |attribute: &str| -> Result<String, ItemError> {
            Balance::from_stored(asset.clone(), read::number(item, attribute)?)
                .map(|balance| balance.text())
                .map_err(|_| ItemError::invalid(attribute))
        };
        let optional = |attribute: &str| item.contains_key(attribute).then(|| quantity(attribute)).transpose();
        let (reserved, owed) = (optional(attr::RESERVED)?, optional(attr::OWED)?);
        Ok(Self {
            balance: quantity(attr::BALANCE)?,
            held: quantity(attr::HELD)?,
            reserved: reserved.filter(|reserved| reserved != "0"),
            owed: owed.filter(|owed| owed != "0"),
            frozen: item.contains_key(attr::FROZEN),
            updated_at: read::text(item, attr::UPDATED_AT)?.to_owned(),
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
        let number = |attribute: &str| {
            let stored = item.map_or(Ok(None), |item| read::opt_number(item, attribute))?;
            stored_text(stored.unwrap_or("0")).map_err(|_| ItemError::invalid(attribute))
        };
        Ok(Self {
            co2_kg: number("co2_total")?,
            payments: number("payments")?,
            paid_total: number("paid_total")?,
            refunds: number("refunds")?,
            refunded_total: number("refunded_total")?,
        })
    }
}
