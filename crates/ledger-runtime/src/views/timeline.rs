//! The timeline of a customer, as the operator's staff sees it.

use super::{HistoryView, TopupView, words};
use ledger_core::dynamo::{Attributes, Item, ItemError, Value};
use ledger_core::keys::attr;
use ledger_core::memo;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// One line of a customer's timeline: a transaction, a top-up or an act of the staff.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineView {
    /// `transaction`, `topup` or `act`. The member of this name is present.
    #[schema(value_type = words::TimelineKind)]
    pub kind: &'static str,
    /// The time of the request, by which the timeline is sorted. A top-up's transaction is posted later.
    pub at: String,
    /// A payment, hold, refund, grant, transfer or any other transaction, with the changes of the customer's balances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<HistoryView>,
    /// A top-up, with its present status at the payment provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topup: Option<TopupView>,
    /// An act about the customer: for example a freeze, a change of limits, a grant or an adjustment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<ActView>,
}

/// An act about a customer, as the audit trail has it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ActView {
    /// The act's id.
    pub audit_id: String,
    /// The operation, for example `customer_patch`.
    #[schema(example = "customer_patch")]
    pub action: String,
    /// The actor, for example `staff:<id>` or `system`.
    pub actor: String,
    /// The reason; absent if none was given, or if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Amounts, or values before and after, as text by name: for example `status`.
    pub details: BTreeMap<String, String>,
    /// The time of the act.
    pub created_at: String,
}

impl TimelineView {
    /// A line of a kind, without its content.
    pub(crate) fn of(kind: &'static str, at: String) -> Self {
        Self { kind, at, transaction: None, topup: None, act: None }
    }
}

impl ActView {
    /// Reads an audit record of an act.
    ///
    /// # Errors
    /// [`ItemError`] if the item is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            audit_id: item.string("audit_id")?,
            action: item.string("action")?,
            actor: item.string("actor")?,
            reason: memo::text_of(item)?,
            details: item.opt_map("details")?.map(texts).unwrap_or_default(),
            created_at: item.string(attr::CREATED_AT)?,
        })
    }
}

/// The text and number attributes of a map.
pub fn texts(map: &Item) -> BTreeMap<String, String> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::S(text) | Value::N(text) => Some((name.clone(), text.clone())),
        Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    };
    map.iter().filter_map(text).collect()
}
