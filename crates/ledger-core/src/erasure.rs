//! The erasure of text that a person typed.

use crate::dynamo::Update;
use crate::keys::Key;
use crate::memo::MEMO;
use crate::transaction::{Role, TransactItem, exists};

/// The action that erases the text of an entry, a reference or an act, which is stored. Its hash stays.
#[must_use]
pub fn erase_memo(record: &Key) -> TransactItem {
    TransactItem::update(Role::Erased, record.clone(), Update::new().remove(MEMO), vec![exists()])
}
