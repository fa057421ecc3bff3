//! Comparison of both models of a customer, attribute by attribute, as of one instant.

use super::counterpart::Nature;
use super::history::{LEGACY_SK, key_of, reference};
use super::legacy::Unadoptable;
use super::plan::{Concern, Stage};
use super::record::BalanceLocation;
use super::setting::Migration;
use super::snapshot::{CustomerRef, Snapshot};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::TransactionId;
use crate::keys::{Key, Partition, attr};
use std::collections::BTreeSet;

/// An attribute that differs between the two models. It holds names only, because values may be personal data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The concern of the record.
    pub concern: Concern,
    /// The sort key of the split record.
    pub record: String,
    /// The name of the attribute in the split record.
    pub attribute: String,
}

/// The result of comparing one customer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parity {
    /// Concerns that should be in both models and are not copied.
    pub not_copied: BTreeSet<Concern>,
    /// The differences in the other concerns.
    pub differences: Vec<Difference>,
}

impl Parity {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.not_copied.is_empty() && self.differences.is_empty()
    }
}

/// Compares the concerns that the phase keeps in both models. The history is compared apart ([`reference_keys`]).
///
/// # Errors
/// [`ItemError`] if the God Record does not say where a concern is in the expected format.
pub fn parity(migration: &Migration, customer_ref: &CustomerRef, seen: &Snapshot) -> Result<Parity, ItemError> {
    let mut parity = Parity::default();
    for concern in Concern::ALL {
        match migration.phase.stage(concern) {
            Stage::LegacyOnly | Stage::NewOnly => {}
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => {
                if seen.truth(customer_ref, concern)? == Some(BalanceLocation::Both) {
                    parity.differences.extend(differences(migration, customer_ref, concern, seen));
                } else {
                    parity.not_copied.insert(concern);
                }
            }
        }
    }
    Ok(parity)
}

fn differences(
    migration: &Migration,
    customer_ref: &CustomerRef,
    concern: Concern,
    seen: &Snapshot,
) -> Vec<Difference> {
    let nothing = Item::new();
    let mut differences = Vec::new();
    for counterpart in migration.counterparts_of(customer_ref, concern) {
        let legacy = seen.get(&counterpart.legacy(migration.phase.model())).unwrap_or(&nothing);
        let view = match counterpart.view(legacy, |name| seen.unsupported(name)) {
            Ok(view) => view,
            // The legacy value is invalid, so no split record can equal it.
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
        for (attribute, nature) in counterpart.varying(legacy, split) {
            let (ours, theirs) = (view.get(&attribute), split.get(&attribute));
            let differs = match nature {
                // A count of a past day may be removed from one model while it is copied to the other. It decides nothing.
                Nature::Sum => ours.is_some() && theirs.is_some() && sum(ours) != sum(theirs),
                Nature::Field => ours != theirs,
                Nature::Stamp => false,
            };
            if differs {
                differences.push(Difference { concern, record: counterpart.split().sk().to_owned(), attribute });
            }
        }
    }
    differences
}

/// A sum in canonical text, "0" if absent; `None` if it is not a number, which equals no other sum.
fn sum(value: Option<&Value>) -> Option<String> {
    match value {
        None => Some("0".to_owned()),
        Some(Value::N(number)) => crate::money::stored_text(number).ok(),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => None,
    }
}

/// The keys under which the entry or reference of a legacy history item may be found.
///
/// For an item that the ledger wrote, its entry or its reference; for another item, the reference made from it.
#[must_use]
pub fn reference_keys(item: &Item) -> Vec<Key> {
    if let Some((reference, _)) = reference(item) {
        return vec![reference];
    }
    let id = item.parsed("transaction_id", TransactionId::parse).ok();
    let partition = || key_of(item).map(|key| key.partition());
    let both = |(id, partition): (TransactionId, Partition)| vec![partition.entry(id), partition.entry_reference(id)];
    id.zip(partition()).map(both).unwrap_or_default()
}

/// Whether an item found under one of those keys names the legacy history item.
#[must_use]
pub fn refers_to(found: &Item, of: &Item) -> bool {
    match (found.text(LEGACY_SK), of.text(attr::SK)) {
        (Ok(named), Ok(name)) => named == name,
        (Err(_), _) | (_, Err(_)) => false,
    }
}
