//! One action on each item.

use super::item::TransactItem;
use crate::keys::Key;
use std::collections::BTreeMap;

/// Merges actions on one item, such as two checks of one person's record; `None` if two of them conflict.
pub(crate) fn merged(items: impl Iterator<Item = TransactItem>) -> Option<Vec<TransactItem>> {
    let (mut order, mut by_key) = (Vec::<Key>::new(), BTreeMap::<Key, TransactItem>::new());
    for item in items {
        let key = item.key().clone();
        let whole = match by_key.remove(&key) {
            Some(other) => other.and(item)?,
            None => {
                order.push(key.clone());
                item
            }
        };
        by_key.insert(key, whole);
    }
    Some(order.into_iter().filter_map(|key| by_key.remove(&key)).collect())
}
