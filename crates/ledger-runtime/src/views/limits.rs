//! The limits of an account and what it has used of them, as the APIs show them.

use super::words;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::limits::{Holder, LimitStanding, standings};
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The limits of a customer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LimitsView {
    /// One per asset, kind of operation and period that has a limit; empty if there is none.
    pub limits: Vec<LimitView>,
}

/// One limit, and what is used of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LimitView {
    /// The asset.
    pub asset: String,
    /// The kind of operation: payments and authorizations, transfers to other customers, or top-ups.
    #[schema(value_type = words::LimitKind)]
    pub kind: &'static str,
    /// What the limit is for: one operation, or all of a day or a month in Japan.
    #[schema(value_type = words::LimitPeriod)]
    pub period: &'static str,
    /// The most that is allowed.
    pub limit: String,
    /// What is used in the present period. Refunds and released holds give nothing back.
    pub used: String,
    /// What is left in the present period.
    pub remaining: String,
    /// The end of the present period; absent for a limit of one operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<String>,
}

impl LimitsView {
    /// Computes them from a customer's balance items.
    ///
    /// # Errors
    /// [`ItemError`] if an item is malformed.
    pub fn of_customer(terms: &TenantTerms, balances: &[Item], now: Timestamp) -> Result<Self, ItemError> {
        let limits = match &terms.limits {
            Some(limits) => standings(limits, Holder::Customer, balances, now)?,
            None => Vec::new(),
        };
        Ok(Self { limits: limits.iter().map(LimitView::from).collect() })
    }
}

impl From<&LimitStanding> for LimitView {
    fn from(standing: &LimitStanding) -> Self {
        Self {
            asset: standing.asset.to_string(),
            kind: standing.rule.kind.name(),
            period: standing.rule.period.name(),
            limit: standing.limit.text(),
            used: standing.used.text(),
            remaining: standing.remaining.text(),
            resets_at: standing.resets_at.map(Timestamp::rfc3339),
        }
    }
}
