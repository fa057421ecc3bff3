//! The parts of a vector's command: the claim on its key, the stored response, ids and randomness, amounts.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A claim on a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimJson {
    /// The operation's name.
    pub operation: String,
    /// The owner of the key, such as `customer:<id>`.
    pub principal: String,
    /// The actor, such as `staff:<id>`.
    pub actor: String,
    /// The key.
    pub key: String,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The typed body: text, `{asset, amount}`, a list, or `null` for a cleared field.
    pub fields: BTreeMap<String, Json>,
}

/// A stored response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerJson {
    /// The HTTP status, as text.
    pub status: String,
    /// `Content-Type`.
    pub content_type: String,
    /// `Location`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The body.
    pub body: String,
}

/// Ids and randomness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextJson {
    /// The id of the journal entry.
    pub transaction_id: String,
    /// The id of what is created.
    pub resource_id: String,
    /// The id of the audit record.
    pub audit_id: String,
    /// 16 bytes, hexadecimal.
    pub secret: String,
    /// 16 bytes, hexadecimal.
    pub salt: String,
}

/// An amount of an asset, signed where it is a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// The decimal amount.
    pub amount: String,
    /// The asset.
    pub asset: String,
}
