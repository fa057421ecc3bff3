//! Whether both models say the same of a customer, attribute by attribute, as of one instant.

use super::counterpart::Nature;
use super::history::{LEGACY_SK, reference};
use super::plan::{Concern, Stage};
use super::record::Truth;
use super::setting::Migration;
use super::snapshot::{Snapshot, Whose};
use crate::dynamo::{Item, Value, read};
use crate::keys::{attr, sk};
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

/// Compares what the phase has in both models. The history is compared apart ([`untold`]).
#[must_use]
pub fn parity(migration: &Migration, whose: &Whose, seen: &Snapshot) -> Parity {
    let mut parity = Parity::default();
    for concern in Concern::ALL {
        match migration.phase.stage(concern) {
            Stage::LegacyOnly | Stage::NewOnly => {}
            Stage::DualWrite | Stage::Backfilled | Stage::ReadNew => {
                if seen.truth(whose, concern) == Some(Truth::Both) {
                    parity.differences.extend(differences(migration, whose, concern, seen));
                } else {
                    parity.not_copied.insert(concern);
                }
            }
        }
    }
    parity
}

fn differences(migration: &Migration, whose: &Whose, concern: Concern, seen: &Snapshot) -> Vec<Difference> {
    let nothing = Item::new();
    let mut differences = Vec::new();
    for counterpart in migration.counterparts_of(whose, concern) {
        let view = counterpart.view(seen.get(&counterpart.legacy(migration.phase.model())).unwrap_or(&nothing));
        let split = seen.get(&counterpart.split()).unwrap_or(&nothing);
        for (attribute, nature) in counterpart.attributes() {
            let same = match nature {
                Nature::Sum => sum(view.get(*attribute)) == sum(split.get(*attribute)),
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

/// A sum as one text, nothing if it is not there; what is no number differs from every number.
fn sum(value: Option<&Value>) -> Option<String> {
    match value {
        None => Some("0".to_owned()),
        Some(Value::N(number)) => crate::money::stored_text(number).ok(),
        Some(Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) => None,
    }
}

/// Sort keys of a customer's legacy history that no entry and no reference stands for, of everything that the
/// customer's history holds. One that the ledger wrote names its entry; another one's reference follows from it.
#[must_use]
pub fn untold(items: &[Item]) -> Vec<String> {
    let text = |item: &Item, name: &str| read::opt_text(item, name).map(str::to_owned);
    let told: BTreeSet<String> = items.iter().filter_map(|item| text(item, LEGACY_SK)).collect();
    let stands: BTreeSet<String> = items.iter().filter_map(|item| text(item, attr::SK)).collect();
    let legacy = stands.iter().filter(|key| key.starts_with(sk::HISTORY) && !told.contains(*key));
    let of = |key: &String| items.iter().find(|item| read::opt_text(item, attr::SK) == Some(key));
    let is_referred =
        |key: &&String| of(key).and_then(reference).is_some_and(|(reference, _)| stands.contains(reference.sk()));
    legacy.filter(|key| !is_referred(key)).cloned().collect()
}
