//! Items under keys that are known.

use super::request::Request;
use crate::keys::Key;

/// DynamoDB's bound for one `BatchGetItem` or `TransactGetItems`.
pub const KEYS_MAX: usize = 100;

/// One item.
#[must_use]
pub fn item(key: &Key) -> Request {
    Request::GetItem(key.clone())
}

/// Items, each once: a request for each 100 of them.
#[must_use]
pub fn items(keys: &[Key]) -> Vec<Request> {
    let mut keys = keys.to_vec();
    keys.sort();
    keys.dedup();
    keys.chunks(KEYS_MAX).map(|keys| Request::BatchGetItem(keys.to_vec())).collect()
}

/// Items as of one instant, in the order of the keys; `None` unless they are 1 to 100 distinct ones.
#[must_use]
pub fn snapshot(keys: &[Key]) -> Option<Request> {
    let mut distinct = keys.to_vec();
    distinct.sort();
    distinct.dedup();
    let fits = !keys.is_empty() && keys.len() <= KEYS_MAX && distinct.len() == keys.len();
    fits.then(|| Request::TransactGetItems(keys.to_vec()))
}
