//! Settlements as the merchant and the operator see them.

use super::words;
use ledger_core::money::{Amount, Balance};
use ledger_core::ops::settlement::{AssetTotals, Settlement};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A settlement of a merchant's period.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SettlementView {
    /// Its id.
    pub settlement_id: String,
    /// Whose.
    pub merchant_id: String,
    /// `collecting`, `held`, `verified`, `released`, `charged`, `paying`, `paid`, `carried` (nothing was to be
    /// paid: the rest goes into the next one), `undone` (it turned back: the next one takes its records) or
    /// `returned` (it was paid, and the money came back: the next one pays it).
    #[schema(value_type = words::SettlementStatus)]
    pub status: String,
    /// Why it turns back, if it does: `kyc_refused`, `kyc_unanswered`, `payout_refused` or `step_failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::TurnedBack>)]
    pub turned_back: Option<&'static str>,
    /// Since when it waits for a person, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_since: Option<String>,
    /// How many payments and refunds it has.
    pub records: u32,
    /// What they add up to, by asset.
    pub totals: BTreeMap<String, AssetTotalsView>,
    /// What all of it is in yen, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
    /// Yen of fee per yen, as it was agreed when the period was closed.
    pub fee_rate: String,
    /// Yen of tax per yen of fee.
    pub tax_rate: String,
    /// The fee, rounded down to the yen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee: Option<String>,
    /// The tax on the fee, rounded down to the yen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<String>,
    /// What is paid out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payable: Option<String>,
    /// Where it is paid: bank, branch, and the end of the account's number; or Stripe's id of the account.
    pub destination: String,
    /// On which day.
    pub pay_on: String,
    /// When it was paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<String>,
    /// What the payout is called outside: the bank file's name, or Stripe's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_reference: Option<String>,
    /// When it was known that the money had come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_at: Option<String>,
    /// The approved request by which its bank file is being sent again, while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resending: Option<String>,
    /// When its bank file was put for the bank again, the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resent_at: Option<String>,
    /// When the period was closed.
    pub created_at: String,
}

/// What an asset adds to a settlement.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AssetTotalsView {
    /// What payments brought.
    pub taken: String,
    /// What refunds took.
    pub refunded: String,
    /// What was paid before and came back, if anything was: no fee is taken on it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_back: Option<String>,
    /// What the settlement before left, with its sign.
    pub carried_in: String,
}

impl From<&Settlement> for SettlementView {
    fn from(settlement: &Settlement) -> Self {
        let yen = |amount: &Option<Amount>| amount.as_ref().map(Amount::text);
        let totals = settlement.totals.iter().map(|(asset, totals)| (asset.to_string(), totals.into()));
        Self {
            settlement_id: settlement.id.to_string(),
            merchant_id: settlement.merchant.to_string(),
            status: settlement.state.name().to_owned(),
            turned_back: settlement.turned_back.map(|why| why.name()),
            stuck_since: settlement.stuck_at.map(|at| at.to_string()),
            records: settlement.records,
            totals: totals.collect(),
            net: yen(&settlement.net),
            fee_rate: settlement.terms.fee_rate.text(),
            tax_rate: settlement.terms.tax_rate.text(),
            fee: yen(&settlement.fee),
            tax: yen(&settlement.tax),
            payable: yen(&settlement.payable),
            destination: settlement.destination.shown(),
            pay_on: settlement.pay_on.to_string(),
            paid_at: settlement.paid_at.map(|at| at.to_string()),
            payout_reference: settlement.payout_reference.clone(),
            returned_at: settlement.returned_at.map(|at| at.to_string()),
            resending: settlement.resend.map(|id| id.to_string()),
            resent_at: settlement.resent_at.map(|at| at.to_string()),
            created_at: settlement.created_at.to_string(),
        }
    }
}

impl From<&AssetTotals> for AssetTotalsView {
    fn from(totals: &AssetTotals) -> Self {
        let [taken, refunded, carried_in] = [&totals.taken, &totals.refunded, &totals.carried_in].map(Balance::text);
        let came_back = totals.came_back.as_delta().map(|_| totals.came_back.text());
        Self { taken, refunded, came_back, carried_in }
    }
}
