//! Prints journal entries of the AWS CLI in the expanded form: what `aws dynamodb query` and `get-item` answer, with each
//! entry and reference expanded.

use crate::item_json::{json_of, value};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::journal::expand;
use ledger_core::keys::{attr, sk};
use serde_json::{Map, Value as Json};

/// Why the text cannot be expanded.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// It is no JSON.
    #[error("not JSON: {0}. Send what `aws dynamodb query --output json` prints")]
    NotJson(#[from] serde_json::Error),
    /// An entry or reference cannot be read.
    #[error("{key}: {error}")]
    Item {
        /// Its sort key.
        key: String,
        /// What is wrong with it.
        error: ItemError,
    },
}

/// Returns the same JSON with each entry and reference expanded. Everything else stays as it is.
///
/// # Errors
/// [`ExpandError`] if the text is no JSON, or an entry or reference in it cannot be read.
pub fn expanded(text: &str) -> Result<String, ExpandError> {
    let mut json: Json = serde_json::from_str(text)?;
    expand_all(&mut json)?;
    Ok(serde_json::to_string_pretty(&json)?)
}

fn expand_all(json: &mut Json) -> Result<(), ExpandError> {
    match json {
        Json::Array(all) => all.iter_mut().try_for_each(expand_all),
        Json::Object(object) => {
            if let Some(key) = line_key(object) {
                *object = expanded_item(object).map_err(|error| ExpandError::Item { key, error })?;
                return Ok(());
            }
            object.values_mut().try_for_each(expand_all)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
    }
}

/// The sort key, if the object is an entry or a reference.
fn line_key(object: &Map<String, Json>) -> Option<String> {
    let key = |name: &str| object.get(name)?.get("S")?.as_str();
    let (_, sort) = (key(attr::PK)?, key(attr::SK)?);
    [sk::TXN, sk::TXNREF].iter().any(|prefix| sort.starts_with(prefix)).then(|| sort.to_owned())
}

fn expanded_item(object: &Map<String, Json>) -> Result<Map<String, Json>, ItemError> {
    let mut item = Item::new();
    // A type that the ledger does not store stays as it is.
    let mut unknown = Map::new();
    for (name, json) in object {
        match value(json) {
            Some(value) => drop(item.insert(name.clone(), value)),
            None => drop(unknown.insert(name.clone(), json.clone())),
        }
    }
    let full = expand(&item)?;
    Ok(full.iter().map(|(name, value)| (name.clone(), json_of(value))).chain(unknown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "019a0000-0000-7000-8000-00000000000a";
    const OTHER: &str = "019a0000-0000-7000-8000-0000000000e1";

    fn entry() -> Json {
        json!({
            "uuid": {"S": format!("demo#customer#{ID}")}, "type": {"S": format!("TXN#{ID}")},
            "ca": {"N": "1795230000000"}, "op": {"S": "pay"}, "kt": {"S": "k-1"}, "memo": {"S": "tea"},
            "mi": {"B": "AZoAAAAAcACAAAAAAAAA4Q=="}, "po": {"S": "h-5 m+5"}, "odd": {"NULL": true},
        })
    }

    #[test]
    fn entries_of_a_page_are_expanded_and_everything_else_stays() {
        let other = json!({"uuid": {"S": "demo#tenant#root"}, "type": {"S": "CONFIG"}, "v": {"N": "2"}});
        let page = json!({ "Items": [entry(), other], "Count": 2 });
        let full: Json = serde_json::from_str(&expanded(&page.to_string()).unwrap()).unwrap();
        assert_eq!((&full["Count"], &full["Items"][1]), (&json!(2), &other));
        let full = &full["Items"][0];
        assert_eq!(full["merchant_id"], json!({ "S": OTHER }));
        assert_eq!(full["principal"], json!({ "S": format!("customer:{ID}") }));
        assert_eq!(full["created_at"], json!({ "S": "2026-11-21T03:00:00.000Z" }));
        assert_eq!(full["postings"]["L"][1]["M"]["delta"], json!({ "N": "5" }));
        assert_eq!((&full["memo"], &full["odd"]), (&json!({ "S": "tea" }), &json!({ "NULL": true })));
        assert!(full.get("po").is_none());
        // The expanded form stays as it is.
        let again: Json = serde_json::from_str(&expanded(&full.to_string()).unwrap()).unwrap();
        assert_eq!(again, *full);
    }

    #[test]
    fn unreadable_entry_is_named() {
        let mut wrong = entry();
        wrong["po"] = json!({ "S": "h" });
        let error = expanded(&wrong.to_string()).unwrap_err().to_string();
        assert_eq!(error, format!("TXN#{ID}: a stored item's `po` has a value that is not valid there"));
        assert!(expanded("{").unwrap_err().to_string().starts_with("not JSON: "));
    }
}
