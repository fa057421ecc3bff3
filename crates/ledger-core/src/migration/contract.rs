//! Contraction: removing from the God Record what the split records hold. Attributes unknown to the ledger stay.

use super::plan::Concern;
use super::record::{self, BalanceLocation, FENCE, REGIONAL};
use super::setting::Migration;
use super::snapshot::{Change, CustomerRef, Snapshot};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value, at};
use crate::keys::{Key, attr, sk};
use crate::money::Asset;
use crate::time::Timestamp;
use crate::transaction::{Role, TransactItem};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long DynamoDB keeps the items of a contracted legacy history.
pub const HISTORY_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What contracting one customer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contraction {
    /// Nothing: there is no God Record, or it is empty.
    Done,
    /// The legacy model alone holds this concern: copy it first.
    NotCopied(Concern),
    /// Another writer has used a later setting: read the setting again.
    Fenced,
    /// Write these actions.
    Change(Change),
}

/// Plans emptying a customer's God Record.
///
/// Guarded on no concern being held there alone, and stamped with the fence, so that a writer with an earlier setting
/// is rejected.
///
/// # Errors
/// [`ItemError`] if the God Record does not say where a concern is in the expected format.
pub fn contract(migration: &Migration, customer_ref: &CustomerRef, seen: &Snapshot) -> Result<Contraction, ItemError> {
    let Some(god) = seen.record(customer_ref) else { return Ok(Contraction::Done) };
    let Some(fence) = god.opt_int::<i64>(FENCE)? else { return Ok(Contraction::NotCopied(Concern::Profile)) };
    if fence > migration.fence.number() {
        return Ok(Contraction::Fenced);
    }
    for concern in Concern::ALL {
        match BalanceLocation::read(god, concern)? {
            Some(BalanceLocation::Legacy) => return Ok(Contraction::NotCopied(concern)),
            Some(BalanceLocation::Both | BalanceLocation::Split) | None => {}
        }
    }
    let mut removed: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
    for counterpart in migration.counterparts(customer_ref) {
        let key = counterpart.legacy(migration.phase.model());
        // A concern that was in split records from the beginning has nothing to remove.
        if migration.begins_split(counterpart.concern()) {
            continue;
        }
        let item = seen.get(&key);
        let varying = item.map(|item| counterpart.varying(item, &Item::new())).unwrap_or_default();
        let attributes = counterpart.attributes().iter().map(|(attribute, _)| *attribute);
        let names = attributes.chain(varying.keys().map(String::as_str)).filter_map(|name| counterpart.name(name));
        let there = names.filter(|name| item.is_some_and(|item| at(item, name).is_some()));
        removed.entry(key).or_default().extend(there);
    }
    let record = removed.entry(customer_ref.record()).or_default();
    record.extend(Concern::ALL.map(record::attribute).into_iter().filter(|name| god.contains_key(name)));
    let mut clauses = vec![record::not_fenced(migration.fence)];
    clauses.extend(whole_map(migration, god, record));
    if record.is_empty() && fence == migration.fence.number() && removed.values().all(BTreeSet::is_empty) {
        return Ok(Contraction::Done);
    }
    for concern in Concern::ALL {
        let not = Condition::is_not(
            record::attribute(concern),
            format!("not_{}", concern.name()),
            BalanceLocation::Legacy.value(),
        );
        clauses.push(record::stale(not));
    }
    let mut clauses = Some(clauses);
    let mut items = Vec::new();
    for (key, names) in removed {
        let is_record = key == customer_ref.record();
        let update = if is_record { Update::new().set(FENCE, "fence", migration.fence.value()) } else { Update::new() };
        let update = names.into_iter().fold(update, Update::remove);
        if !update.is_empty() {
            let clauses = if is_record { clauses.take().unwrap_or_default() } else { Vec::new() };
            items.push(TransactItem::update(Role::GodRecord, key, update, clauses));
        }
    }
    Ok(Contraction::Change(Change(items)))
}

/// Removes the whole map of regional currencies if the tenant's terms have all of them, else only the known ones.
fn whole_map(migration: &Migration, god: &Item, removed: &mut BTreeSet<String>) -> Option<crate::transaction::Clause> {
    let map = god.get(REGIONAL)?;
    let known = |name: &String| {
        migration.assets.iter().any(|spec| matches!(spec.asset(), Asset::Regional(key) if key.as_str() == name))
    };
    let Value::M(currencies) = map else { return None };
    if !currencies.keys().all(known) {
        return None;
    }
    removed.retain(|name| !name.starts_with(REGIONAL) || !name.contains(crate::dynamo::STEP));
    removed.insert(REGIONAL.to_owned());
    Some(record::stale(Condition::compare(REGIONAL, Cmp::Eq, "regional", map.clone())))
}

/// Sets the TTL of legacy history items to [`HISTORY_KEPT`] from now. Each must still exist. `None` if there is nothing
/// to set.
#[must_use]
pub fn expire_history(items: &[Item], now: Timestamp) -> Option<Change> {
    let ttl = Value::int(now.plus(HISTORY_KEPT).seconds());
    let expire = |item: &Item| {
        let key = super::history::key_of(item)?;
        let due = key.sk().starts_with(sk::HISTORY) && !item.contains_key(attr::TTL);
        let update = Update::new().set(attr::TTL, "ttl", ttl.clone());
        let there = record::stale(Condition::exists(attr::PK));
        due.then(|| TransactItem::update(Role::GodRecord, key, update, vec![there]))
    };
    let items: Vec<TransactItem> = items.iter().filter_map(expire).collect();
    (!items.is_empty()).then_some(Change(items))
}
