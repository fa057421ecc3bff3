//! Journal history in both formats.
//!
//! The split format is a journal entry or a reference to one. A legacy item has the sort key
//! `history#<epoch ms>#<operation>`.

use super::plan::Stage;
use super::record::REGIONAL;
use super::snapshot::Change;
use crate::account::Account;
use crate::dynamo::{AttributeKind, Attributes, Item, ItemError, Value};
use crate::ids::TransactionId;
use crate::journal::{CREDITED_BY, HistoryLine, LEGACY, StoredLine, expand_under, expanded};
use crate::keys::{Key, attr, sk};
use crate::memo;
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{Action, Role, TransactItem, changes};
use std::collections::BTreeSet;

/// The attribute of an entry or reference that names the legacy item of the same movement.
pub const LEGACY_SK: &str = "legacy_sk";

/// Places a journal item for a stage: the item, and the legacy item to write beside it, if any.
///
/// The entry or reference is written in every stage, because no value moves without one. While the legacy format is
/// written too, the entry carries the sort key of the legacy item.
pub(super) fn in_both(item: &TransactItem, stage: Stage) -> (TransactItem, Option<TransactItem>) {
    let is_entry = matches!(item.role(), Role::Journal | Role::JournalReference);
    match &item.action {
        Action::Put(entry) if is_entry && stage.writes_legacy() => {
            let Some(legacy) = written(item.key(), entry) else { return (item.clone(), None) };
            let mut entry = entry.clone();
            entry.insert(LEGACY_SK.to_owned(), Value::s(legacy.key().sk()));
            (TransactItem::put(item.role(), item.key().clone(), entry, item.clauses().to_vec()), Some(legacy))
        }
        Action::Put(_) | Action::Update(_) | Action::Check => (item.clone(), None),
    }
}

/// Builds the legacy item of an entry. Its sort key ends with the entry's id, because two operations of one kind may
/// happen in the same millisecond; readers of the format use the beginning of the key.
fn written(key: &Key, entry: &Item) -> Option<TransactItem> {
    let party = Account::Customer(key.customer()?);
    let entry = expand_under(key, entry).ok()?;
    let line = HistoryLine::read(&entry, Some(party)).ok()?;
    let millis = line.created_at.millis();
    let name = format!("{}{millis}#{}#{}", sk::HISTORY, line.operation, line.id);
    let mut legacy = entry;
    for ours in [attr::DUE_PK, attr::DUE_SK, CREDITED_BY, "postings", "principal", "actor", "idempotency_key", "home"] {
        legacy.remove(ours);
    }
    legacy.insert("timestamp".to_owned(), Value::int(millis));
    legacy.insert("changes".to_owned(), changes(&line.changes));
    Some(TransactItem::put(Role::GodRecord, key.partition().history(&name), legacy, Vec::new()))
}

/// Builds the reference that replaces a legacy item which the ledger did not write.
///
/// The same item always makes the same reference. `None` if the ledger wrote the item, or if its sort key has no
/// instant.
#[must_use]
pub fn reference(item: &Item) -> Option<(Key, Item)> {
    let key = key_of(item)?;
    let legacy_sk = key.sk();
    let customer = key.customer()?;
    let (_, operation) = legacy_sk.strip_prefix(sk::HISTORY)?.split_once('#')?;
    let at = Timestamp::from_millis(millis_of(legacy_sk)?);
    if is_ours(item, legacy_sk) {
        return None;
    }
    let id = TransactionId::of_step(customer.uuid(), legacy_sk, at);
    let reference = key.partition().entry_reference(id);
    let mut made = Item::from([
        ("transaction_id".to_owned(), Value::s(id)),
        ("operation".to_owned(), Value::s(operation)),
        (attr::CREATED_AT.to_owned(), Value::s(at)),
        (LEGACY_SK.to_owned(), Value::s(legacy_sk)),
    ]);
    made.extend(legacy_text(item, "memo").map(memo::of_legacy));
    for kept in ["merchant_id", "payment_id", "topup_id"] {
        if let Some(text) = legacy_text(item, kept) {
            made.insert(kept.to_owned(), Value::s(text));
        }
    }
    let ours = [attr::PK, attr::SK, attr::TX, attr::OF];
    // The memo is in one place, so that it can be erased.
    let is_memo = |name: &str| name == "memo" && legacy_text(item, name).is_some();
    let rest = item.iter().filter(|(name, _)| !ours.contains(&name.as_str()) && !is_memo(name));
    made.insert(LEGACY.to_owned(), Value::M(rest.map(|(name, value)| (name.clone(), value.clone())).collect()));
    let mut made = StoredLine::under(&reference, made)?.with_changes(&moved(item));
    made.insert(attr::PK.to_owned(), Value::s(reference.pk()));
    made.insert(attr::SK.to_owned(), Value::s(reference.sk()));
    Some((reference, made))
}

/// The instant in a legacy item's sort key, in milliseconds since 1970; `None` if it has none.
pub(super) fn millis_of(legacy_sk: &str) -> Option<i64> {
    legacy_sk.strip_prefix(sk::HISTORY)?.split_once('#')?.0.parse().ok()
}

/// Whether the ledger wrote a legacy item: its sort key ends with the id of the item's entry. Items of the legacy
/// system may carry transaction ids too.
fn is_ours(item: &Item, legacy_sk: &str) -> bool {
    let id = legacy_text(item, "transaction_id");
    id.is_some_and(|id| TransactionId::parse(id).is_ok() && legacy_sk.ends_with(&format!("#{id}")))
}

/// Whether a reference was made from a legacy item that the ledger did not write. It has no journal entry.
#[must_use]
pub fn is_of_legacy(reference: &Item) -> bool {
    reference.contains_key(LEGACY) && reference.contains_key(LEGACY_SK) && !reference.contains_key("home")
}

/// The amounts that a legacy item moved: signed numbers under the attribute names of the God Record.
fn moved(item: &Item) -> Vec<Delta> {
    amounts(item).into_iter().filter_map(|(_, delta)| delta?.ok()).collect()
}

/// The attributes of a legacy history item that should be amounts but cannot be read as such.
///
/// A reference keeps them unchanged, and its line is shown without them.
#[must_use]
pub fn unread_amounts(item: &Item) -> Vec<String> {
    amounts(item).into_iter().filter(|(_, delta)| matches!(delta, Some(Err(_)))).map(|(name, _)| name).collect()
}

/// Each attribute that should be an amount, with the amount; the amount is `None` if the number is zero.
fn amounts(item: &Item) -> Vec<(String, Option<Result<Delta, ItemError>>)> {
    let amount = |asset: Asset, name: &str, value: &Value| match value {
        Value::N(number) if crate::money::stored_text(number).as_deref() == Ok("0") => None,
        Value::N(number) => Some(Delta::from_stored(asset, number).map_err(|_| ItemError::invalid(name))),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => {
            Some(Err(ItemError::wrong_type(name, AttributeKind::Number)))
        }
    };
    let mut amounts = Vec::new();
    for (name, asset) in [("amount", Asset::Ecopay), ("point", Asset::Point), ("jcredit", Asset::Jcredit)] {
        if let Some(value) = item.get(name) {
            amounts.push((name.to_owned(), amount(asset, name, value)));
        }
    }
    match item.opt_map(REGIONAL) {
        Ok(currencies) => {
            for (currency, value) in currencies.into_iter().flatten() {
                let name = format!("{REGIONAL}.{currency}");
                let delta = match Asset::parse(&format!("REGIONAL#{currency}")) {
                    Ok(asset) => amount(asset, &name, value),
                    Err(_) => Some(Err(ItemError::invalid(&name))),
                };
                amounts.push((name, delta));
            }
        }
        Err(error) => amounts.push((REGIONAL.to_owned(), Some(Err(error)))),
    }
    amounts
}

/// A text attribute of a legacy item; `None` if it has another type. The legacy system may have used any type, and the
/// reference keeps the value unchanged.
fn legacy_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name)? {
        Value::S(text) => Some(text),
        Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    }
}

/// The key of a tenant's item; `None` if its key attributes are missing or invalid.
pub(super) fn key_of(item: &Item) -> Option<Key> {
    let (pk, sk) = (item.key_text(attr::PK)?, item.key_text(attr::SK)?);
    Key::stored(&crate::keys::tenant_of(pk)?, pk, sk)
}

/// Merges history items of both formats so that each movement appears once, in no order.
///
/// An entry or reference replaces the legacy item that it names. A legacy item without one becomes a reference, which is
/// expanded, as those in `items` are. A legacy item without an instant in its sort key has no place in a history and is left
/// out; the comparison of both formats reports it.
///
/// # Errors
/// [`ItemError`] if an entry or a reference does not have the expected format.
pub fn merged(items: Vec<Item>) -> Result<Vec<Item>, ItemError> {
    let is_legacy = |item: &Item| item.key_text(attr::SK).is_some_and(|sk| sk.starts_with(sk::HISTORY));
    let (legacy, mut merged): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_legacy);
    let mut with_entries = BTreeSet::new();
    for item in &merged {
        if let Some(named) = item.opt_string(LEGACY_SK)? {
            with_entries.insert((item.string(attr::PK)?, named));
        }
    }
    let text = |item: &Item, key: &str| item.key_text(key).unwrap_or_default().to_owned();
    let has_entry = |item: &Item| with_entries.contains(&(text(item, attr::PK), text(item, attr::SK)));
    let without_entry = legacy.into_iter().filter(|item| !has_entry(item));
    let is_ours = |item: &Item| item.key_text(attr::SK).is_some_and(|name| is_ours(item, name));
    for item in without_entry {
        match reference(&item) {
            Some((_, reference)) => merged.push(expanded(reference)?),
            // The ledger wrote this item; its entry was written after the entries were read.
            None if is_ours(&item) => merged.push(item),
            None => {}
        }
    }
    Ok(merged)
}

/// Puts references for the legacy items that the ledger did not write; `None` if there are none.
///
/// It may be repeated, because the same items always make the same references.
#[must_use]
pub fn refer(items: &[Item]) -> Option<Change> {
    let put = |(key, mut reference): (Key, Item)| {
        reference.retain(|name, _| ![attr::PK, attr::SK].contains(&name.as_str()));
        TransactItem::put(Role::JournalReference, key, reference, Vec::new())
    };
    let puts: Vec<TransactItem> = items.iter().filter_map(reference).map(put).collect();
    (!puts.is_empty()).then_some(Change(puts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CustomerId, Tenant};
    use crate::keys::Partition;
    use crate::migration::{reference_keys, refers_to};

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
    const OTHER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

    fn item(customer: &str, name: &str, more: &[(&str, &str)]) -> Item {
        let customer = CustomerId::parse(customer).unwrap();
        let partition = Partition::customer(&Tenant::parse("demo").unwrap(), customer);
        let own = [(attr::PK, partition.as_str()), (attr::SK, name)];
        own.iter().chain(more).map(|(name, text)| ((*name).to_owned(), Value::s(text))).collect()
    }

    #[test]
    fn legacy_item_makes_one_reference_that_keeps_all_attributes_and_its_memo_once() {
        let mut legacy = item(ID, "history#1700000000000#pay#2", &[("memo", "tea"), ("transaction_id", "A-17")]);
        legacy.insert("amount".to_owned(), Value::int(-500));
        let (key, made) = reference(&legacy).unwrap();
        assert_eq!(reference(&legacy), Some((key.clone(), made.clone())));
        let line = HistoryLine::read(&made, None).unwrap();
        assert_eq!((line.operation.as_str(), line.memo.as_deref()), ("pay#2", Some("tea")));
        assert_eq!(line.created_at.millis(), 1_700_000_000_000);
        assert_eq!(line.changes.iter().map(Delta::text).collect::<Vec<_>>(), ["-500"]);
        assert_eq!(key.sk(), format!("TXNREF#{}", line.id));
        // The legacy system may have ids of any form.
        let kept = made.map("legacy").unwrap();
        assert_eq!((&kept["transaction_id"], kept.get("memo")), (&Value::s("A-17"), None));
        assert!(is_of_legacy(&made) && reference_keys(&legacy) == [key] && refers_to(&made, &legacy));
        let uuid = item(ID, "history#1700000000000#pay", &[("transaction_id", OTHER)]);
        assert!(reference(&uuid).is_some());
    }

    #[test]
    fn legacy_item_written_by_ledger_makes_no_reference() {
        let ours = item(ID, &format!("history#1700000000000#pay#{OTHER}"), &[("transaction_id", OTHER)]);
        let unsupported = ["history#pay", "history#soon#pay", "TXN#1", "customer"].map(|name| item(ID, name, &[]));
        assert!(unsupported.iter().chain([&ours]).all(|item| reference(item).is_none()));
    }

    #[test]
    fn movement_in_both_formats_is_merged_into_one_line() {
        let legacy_sk = format!("history#1700000000000#pay#{OTHER}");
        let legacy = |customer| item(customer, &legacy_sk, &[("transaction_id", OTHER)]);
        let entry = item(ID, &format!("TXN#{OTHER}"), &[("transaction_id", OTHER), (LEGACY_SK, &legacy_sk)]);
        let text = |item: &Item, name: &str| item.text(name).unwrap().to_owned();
        let of = |items: &[Item]| {
            let merged = merged(items.to_vec()).unwrap();
            merged.iter().map(|item| (text(item, attr::PK), text(item, attr::SK))).collect::<BTreeSet<_>>()
        };
        let only = |item: &Item| BTreeSet::from([(text(item, attr::PK), text(item, attr::SK))]);
        assert_eq!(of(&[legacy(ID), entry.clone()]), only(&entry));
        assert_eq!(of(&[legacy(ID)]), only(&legacy(ID)), "a legacy row without an entry is kept");
        // Another customer's item with the same sort key is a different item.
        assert_eq!(of(&[legacy(OTHER), entry.clone()]).len(), 2);
        let foreign = item(ID, "history#1700000000000#pay", &[]);
        let (_, made) = reference(&foreign).unwrap();
        assert_eq!(of(std::slice::from_ref(&foreign)), only(&made));
        assert_eq!(of(&[foreign, made.clone()]), only(&made));
    }
}
