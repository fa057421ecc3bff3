//! Reads of items whose keys are known.

use super::request::Request;
use crate::keys::Key;

/// DynamoDB's limit of keys per `TransactGetItems`. `BatchGetItem` has the same limit.
pub const KEYS_MAX: usize = 100;

/// One item.
#[must_use]
pub fn item(key: &Key) -> Request {
    Request::GetItem(key.clone())
}

/// Items, each once, with at most 100 per request.
#[must_use]
pub fn items(keys: &[Key]) -> Vec<Request> {
    let mut keys = keys.to_vec();
    keys.sort();
    keys.dedup();
    keys.chunks(KEYS_MAX).map(|keys| Request::BatchGetItem(keys.to_vec())).collect()
}

/// Items as of one instant, in the order of the keys; `None` unless there are 1 to 100 distinct keys.
#[must_use]
pub fn snapshot(keys: &[Key]) -> Option<Request> {
    let mut distinct = keys.to_vec();
    distinct.sort();
    distinct.dedup();
    let fits = !keys.is_empty() && keys.len() <= KEYS_MAX && distinct.len() == keys.len();
    fits.then(|| Request::TransactGetItems(keys.to_vec()))
}
