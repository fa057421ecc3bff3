//! Histories, pages of lists, and the states of idempotency keys.

use super::words;
use ledger_core::journal::HistoryLine;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A transaction as one party sees it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HistoryView {
    /// The journal entry's id.
    pub transaction_id: String,
    /// The operation.
    #[schema(example = "pay")]
    pub operation: String,
    /// The changes of this party's balances, by asset; negative for a debit.
    pub changes: BTreeMap<String, String>,
    /// The merchant of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The payment of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
    /// The status of the payment after it, if money is or was held for it: `authorized`, `captured`, `canceled` or
    /// `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::PaymentStatus>)]
    pub payment_status: Option<String>,
    /// The top-up of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topup_id: Option<String>,
    /// The memo; absent if there is none, or if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// The version of the operator's terms that it was planned under; absent for version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_version: Option<u32>,
    /// The time of the transaction.
    pub created_at: String,
}

impl HistoryView {
    /// What a list of transactions says of itself.
    pub const OF_LISTS: &str =
        "With a filter, a page may have fewer items than `limit`, or none, and still a `next_cursor`.";
}

/// One page of a list, newest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The page's items.
    pub items: Vec<T>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The state of an idempotency key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OperationView {
    /// `done`, `in_flight`, `parked` (needs review), `reversed`, `expired`, or `not_known_yet`: the original request
    /// may still arrive.
    #[schema(value_type = words::KeyState)]
    pub state: &'static str,
    /// The key that was looked up.
    pub key: String,
    /// The HTTP status of the stored response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The body of the stored response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub answer: Option<Box<serde_json::value::RawValue>>,
    /// The time at which the response was stored.
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
            terms_version: Some(line.terms_version.number()).filter(|number| *number > 1),
            created_at: line.created_at.to_string(),
        }
    }
}
