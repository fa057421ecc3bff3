//! How a vector's query is limited.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A query's direction and limits, unless it reads everything, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The sort key after which the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether the order is descending.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest_first: bool,
    /// The maximum number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The last key of the previous page: the request is for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Json>,
}
