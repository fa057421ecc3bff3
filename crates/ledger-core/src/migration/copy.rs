//! Copying one concern of one customer between the models, while requests go on.
//!
//! First the God Record is stamped with our fence, which rejects every writer with an earlier setting. A writer with
//! our setting adds the same to both models or is rejected, so the difference between the two does not change, however
//! often it is read. It is added once, under a marker.

use super::counterpart::{Counterpart, Nature};
use super::plan::{Concern, Stage};
use super::record::{self, BalanceLocation, FENCE};
use super::setting::Migration;
use super::snapshot::{Change, CustomerRef, Snapshot};
use crate::dynamo::{AttributeKind, Cmp, Condition, Item, ItemError, Update, Value, at};
use crate::idempotency::{Answer, LedgerKey};
use crate::ids::{Actor, Principal};
use crate::money::difference;
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{Provenance, Role, TransactItem};

/// What copying one concern needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Nothing: the concern is in the models that the phase needs.
    Done,
    /// The ledger must adopt the customer first.
    NotAdopted,
    /// Another writer has used a later setting: read the setting again.
    Fenced,
    /// Write this to reject writers with an earlier setting, then read the customer again.
    Raise(Change),
    /// Write these actions.
    Copy(Change),
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToSplit,
    ToLegacy,
}

/// Plans copying a concern to the models that the phase needs.
///
/// # Errors
/// [`ItemError`] names an attribute that cannot be copied: a sum whose difference cannot be held exactly, or a value
/// that does not have the expected format.
pub fn copy(
    migration: &Migration,
    customer_ref: &CustomerRef,
    concern: Concern,
    seen: &Snapshot,
    now: Timestamp,
) -> Result<Copying, ItemError> {
    let (Some(fence), Some(truth)) = (seen.fence(customer_ref)?, seen.truth(customer_ref, concern)?) else {
        return Ok(if seen.is_adopted(customer_ref) { Copying::Done } else { Copying::NotAdopted });
    };
    if fence > migration.fence.number() {
        return Ok(Copying::Fenced);
    }
    let Some(direction) = needed(migration.phase.stage(concern), truth) else { return Ok(Copying::Done) };
    if fence < migration.fence.number() {
        return Ok(Copying::Raise(raised(migration, customer_ref)));
    }
    let mut items = vec![marker(migration, customer_ref, concern, now)];
    let mut record = TransactItem::update(
        Role::GodRecord,
        customer_ref.record(),
        Update::new().set(record::attribute(concern), "copied", BalanceLocation::Both.value()),
        vec![
            record::stale(Condition::compare(FENCE, Cmp::Eq, "fence", migration.fence.value())),
            record::stale(Condition::compare(record::attribute(concern), Cmp::Eq, "truth", truth.value())),
        ],
    );
    let mut rest = Vec::new();
    for counterpart in migration.counterparts_of(customer_ref, concern) {
        for item in copy_actions(migration, &counterpart, seen, direction)? {
            if item.key() == record.key() {
                record = record.and(item).ok_or_else(unbuildable)?;
            } else {
                rest.push(item);
            }
        }
    }
    items.push(record);
    items.extend(rest);
    Ok(Copying::Copy(Change(items)))
}

/// The direction in which a stage needs a concern copied; `None` if no copy is needed.
fn needed(stage: Stage, truth: BalanceLocation) -> Option<Direction> {
    match (stage, truth) {
        (_, BalanceLocation::Both)
        | (Stage::LegacyOnly, BalanceLocation::Legacy)
        | (Stage::NewOnly, BalanceLocation::Split) => None,
        (Stage::DualWrite | Stage::Backfilled | Stage::ReadNew | Stage::NewOnly, BalanceLocation::Legacy) => {
            Some(Direction::ToSplit)
        }
        (Stage::LegacyOnly | Stage::DualWrite | Stage::Backfilled | Stage::ReadNew, BalanceLocation::Split) => {
            Some(Direction::ToLegacy)
        }
    }
}

/// Raises the fence, so that no writer with an earlier setting writes to the customer.
fn raised(migration: &Migration, customer_ref: &CustomerRef) -> Change {
    let update = Update::new().set(FENCE, "fence", migration.fence.value());
    let clauses = vec![record::stale(Condition::compare(FENCE, Cmp::Lt, "fence", migration.fence.value()))];
    Change(vec![TransactItem::update(Role::GodRecord, customer_ref.record(), update, clauses)])
}

/// The marker of a copy, one for each concern and fence: under one setting, a concern is never copied twice.
fn marker(migration: &Migration, customer_ref: &CustomerRef, concern: Concern, now: Timestamp) -> TransactItem {
    let (concern, fence) = (concern.name(), migration.fence.number());
    let step = Provenance {
        tenant: customer_ref.tenant.clone(),
        operation: Operation::MigrationCopy,
        principal: Principal::Customer(customer_ref.customer),
        actor: Actor::System,
        key: LedgerKey::of_copy(concern, fence).into(),
        now,
    };
    let body = serde_json::json!({ "concern": concern, "phase": migration.phase.number() }).to_string();
    let answer = Answer { status: 200, content_type: "application/json".to_owned(), location: None, body };
    step.step_marker(&answer, None)
}

/// The actions that make the target model of a record equal to the source model.
///
/// Sums are changed by their difference, unguarded, because writers do not change the difference. Fields are set as
/// they were read, guarded on still being so, so that a field cleared meanwhile is not restored. Equal models give no
/// update.
fn copy_actions(
    migration: &Migration,
    counterpart: &Counterpart,
    seen: &Snapshot,
    direction: Direction,
) -> Result<Vec<TransactItem>, ItemError> {
    let nothing = Item::new();
    let (legacy_key, split_key) = (counterpart.legacy(migration.phase.model()), counterpart.split());
    let legacy = seen.get(&legacy_key).unwrap_or(&nothing);
    let split = seen.get(&split_key).unwrap_or(&nothing);
    let view = counterpart.view(legacy, |name| seen.unsupported(name));
    let view = view.map_err(|error| ItemError::invalid(error.attribute))?;
    let (from, source_key, target_key) = match direction {
        Direction::ToSplit => (&view, legacy_key, split_key),
        Direction::ToLegacy => (split, split_key, legacy_key),
    };
    let mut update = Update::new();
    let mut as_read = Vec::new();
    let varying = counterpart.varying(legacy, split);
    let attributes = counterpart.attributes().iter().map(|(attribute, nature)| (*attribute, *nature));
    for (attribute, nature) in attributes.chain(varying.iter().map(|(name, nature)| (name.as_str(), *nature))) {
        let named = counterpart.name(attribute).unwrap_or_default();
        let (source, target, to) = match direction {
            Direction::ToSplit => (at(legacy, &named), attribute.to_owned(), split.get(attribute)),
            Direction::ToLegacy => (split.get(attribute), named.clone(), at(legacy, &named)),
        };
        let placeholder = format!("{}_{attribute}", counterpart.word());
        let value = from.get(attribute);
        match nature {
            Nature::Sum => {
                let missing = difference(number(attribute, value)?, number(attribute, to)?);
                let missing = missing.map_err(|_| ItemError::invalid(attribute))?;
                if missing != "0" || (value.is_some() && to.is_none()) {
                    update = update.add(target, placeholder, Value::N(missing));
                }
            }
            Nature::Field => {
                let name = match direction {
                    Direction::ToSplit => named,
                    Direction::ToLegacy => attribute.to_owned(),
                };
                as_read.push(record::stale(match source {
                    Some(source) => Condition::compare(name, Cmp::Eq, format!("{placeholder}_read"), source.clone()),
                    None => Condition::absent(name),
                }));
                let current = match direction {
                    Direction::ToSplit => to,
                    Direction::ToLegacy => to.and(view.get(attribute)),
                };
                update = match value {
                    Some(value) if current != Some(value) => {
                        let written = match direction {
                            Direction::ToSplit => value.clone(),
                            Direction::ToLegacy => counterpart.as_stored(attribute, value, to),
                        };
                        update.set(target, placeholder, written)
                    }
                    None if to.is_some() => update.remove(target),
                    Some(_) | None => update,
                };
            }
            Nature::Stamp => {
                if let (Some(value), None) = (value, to) {
                    update = update.set_if_absent(target, placeholder, value.clone());
                }
            }
        }
    }
    let mut items = Vec::new();
    if !as_read.is_empty() {
        items.push(TransactItem::check(Role::GodRecord, source_key, as_read));
    }
    if !update.is_empty() {
        items.push(TransactItem::update(Role::GodRecord, target_key, update, Vec::new()));
    }
    Ok(items)
}

fn number<'a>(attribute: &str, value: Option<&'a Value>) -> Result<&'a str, ItemError> {
    match value {
        None => Ok("0"),
        Some(Value::N(number)) => Ok(number),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => {
            Err(ItemError::wrong_type(attribute, AttributeKind::Number))
        }
    }
}

/// The error of a copy whose parts cannot be merged. Not reachable: they write no attribute twice.
fn unbuildable() -> ItemError {
    ItemError::invalid(FENCE)
}
