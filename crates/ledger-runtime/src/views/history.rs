//! Histories, pages of lists, and what became of a key.

use super::words;
use ledger_core::ops::journal::HistoryLine;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A transaction as one party sees it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HistoryView {
    /// The journal entry's id.
    pub transaction_id: String,
    /// What was done.
    #[schema(example = "pay")]
    pub operation: String,
    /// How this party's balances changed, by asset; a minus is what left.
    pub changes: BTreeMap<String, String>,
    /// The merchant concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The payment concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
    /// Where the payment stood after it, if money is or was held for it: `authorized`, `captured`,
    /// `canceled` or `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::PaymentStatus>)]
    pub payment_status: Option<String>,
    /// The top-up concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topup_id: Option<String>,
    /// What was written with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// When.
    pub created_at: String,
}

/// One page of a list, newest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The page's items.
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What became of a key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OperationView {
    /// `done`, `in_flight`, `parked` (a person has to look at it), `reversed`, `expired`, or
    /// `not_known_yet`: the original may still arrive.
    #[schema(value_type = words::KeyState)]
    pub state: &'static str,
    /// The key that was looked up.
    pub key: String,
    /// The stored answer's HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The stored answer's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub answer: Option<Box<serde_json::value::RawValue>>,
    /// When the answer was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
}

impl From<HistoryLine> for HistoryView {
    fn from(line: HistoryLine) -> Self {
        Self {
            transaction_id: line.id.to_string(),
            operation: line.operation,
            changes: line.changes.iter().map(|delta| (delta.asset().to_string(), delta.text())).collect(),
            merchant_id: line.merchant_id,
            payment_id: line.payment_id,
            payment_status: line.payment_status,
            topup_id: line.topup_id,
            memo: line.memo,
            created_at: line.created_at.to_string(),
        }
    }
}
