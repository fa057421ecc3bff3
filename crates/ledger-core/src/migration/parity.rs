//! Whether both models say the same of a customer, attribute by attribute, as of one instant.

use super::counterpart::Nature;
use super::history::{LEGACY_SK, key_of, reference};
use super::legacy::Unadoptable;
use super::plan::{Concern, Stage};
use super::record::Truth;
use super::setting::Migration;
use super::snapshot::{Snapshot, Whose};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::TransactionId;
use crate::keys::{Key, Partition, attr};
use std::collections::BTreeSet;

/// What two models do not say alike. Names only: what they say may be personal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Of which concern.
    pub concern: Concern,
    /// In which split record: its sort key.
    pub record: String,
    /// Which attribute of it.
    pub attribute: String,
}

/// What a look at a customer finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parity {
    /// Concerns that both models should have, and that have not been copied.
    pub not_copied: BTreeSet<Concern>,
    /// What differs of those that have.
    pub differences: Vec<Difference>,
}

impl Parity {
    /// Whether there is nothing to find.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.not_copied.is_empty() && self.differences.is_empty()
    }
}

/// Compares what the phase has in both models. The history is compared apart ([`told_by`]).
///
/// # Errors
/// [`ItemError`] if the God Record does not say where a concern stands as we write it.
pub fn parity(migration: &Migration, whose: &Whose, seen: &Snapshot) -> Result<Parity, ItemError> {
    let mut parity = Parity::default();
    for concern in Concern::ALL {
        match migration.phase.stage(concern) {
            Stage::LegacyOnly | Stage::NewOnly => {}
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => {
                if seen.truth(whose, concern)? == Some(Truth::Both) {
                    parity.differences.extend(differences(migration, whose, concern, seen));
                } else {
                    parity.not_copied.insert(concern);
                }
            }
        }
    }
    Ok(parity)
}

fn differences(migration: &Migration, whose: &Whose, concern: Concern, seen: &Snapshot) -> Vec<Difference> {
    let nothing = Item::new();
    let mut differences = Vec::new();
    for counterpart in migration.counterparts_of(whose, concern) {
        let legacy = seen.get(&counterpart.legacy(migration.phase.model())).unwrap_or(&nothing);
        let view = match counterpart.view(legacy, |name| seen.odd(name)) {
            Ok(view) => view,
            // No split record has a value like it.
            Err(Unadoptable { attribute: named, .. }) => {
                let mut attributes = counterpart.attributes().iter().map(|(attribute, _)| *attribute);
                let attribute = attributes.find(|attribute| counterpart.name(attribute).as_deref() == Some(&named));
                let record = counterpart.split().sk().to_owned();
                let attribute = attribute.map_or(named, str::to_owned);
                differences.push(Difference { concern, record, attribute });
                continue;
            }
        };
        let split = seen.get(&counterpart.split()).unwrap_or(&nothing);
        for (attribute, nature) in counterpart.attributes() {
            let same = match nature {
                Nature::Sum => sum(view.get(*attribute)).is_some_and(|ours| Some(ours) == sum(split.get(*attribute))),
                Nature::Field => view.get(*attribute) == split.get(*attribute),
                Nature::Stamp => true,
            };
            if !same {
                let record = counterpart.split().sk().to_owned();
                differences.push(Difference { concern, record, attribute: (*attribute).to_owned() });
            }
        }
    }
    differences
}

/// A sum as one text, nothing if it is not there; `None` if it is no number, which is like no other sum.
fn sum(value: Option<&Value>) -> Option<String> {
    match value {
        None => Some("0".to_owned()),
        Some(Value::N(number)) => crate::money::stored_text(number).ok(),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => None,
    }
}

/// Under which keys what stands for a legacy history item is: the entry, or the reference, of which the ledger wrote it
/// beside, or the reference that follows from it.
#[must_use]
pub fn told_by(item: &Item) -> Vec<Key> {
    if let Some((reference, _)) = reference(item) {
        return vec![reference];
    }
    let id = item.parsed("transaction_id", TransactionId::parse).ok();
    let partition = || key_of(item).map(|key| key.partition());
    let both = |(id, partition): (TransactionId, Partition)| vec![partition.entry(id), partition.entry_reference(id)];
    id.zip(partition()).map(both).unwrap_or_default()
}

/// Whether what was found under one of those keys stands for a legacy history item.
#[must_use]
pub fn tells(found: &Item, of: &Item) -> bool {
    match (found.text(LEGACY_SK), of.text(attr::SK)) {
        (Ok(named), Ok(name)) => named == name,
        (Err(_), _) | (_, Err(_)) => false,
    }
}
