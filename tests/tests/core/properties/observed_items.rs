//! Reconciliation ignores no item: every golden record gives a fact or is of a kind listed as holding no value, and a
//! record in an unknown state is a break.

use super::cases;
use super::stored_types::records;
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::keys::attr;
use ledger_core::reconcile::{BreakKind, Fact, FactCount, Groups, ItemKind, Limits, Observation, Scope, of_item};
use ledger_core::time::Timestamp;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Attributes with a state or kind, whose values are of a fixed list. `op` and `ps` are an entry's operation and the state
/// of its payment.
const STATES: [&str; 8] = ["state", "kind", "operation", "op", "decided", "ps", "truth_money", "truth_points"];

/// Records in which such an attribute is free, or does not matter to the books, by kind of item.
const FREE: [(ItemKind, &str); 3] = [
    // The operation that requested it; its effect is in an entry.
    (ItemKind::Topup, "operation"),
    (ItemKind::TopupRefund, "operation"),
    // The provider's name of the event.
    (ItemKind::EventMarker, "kind"),
];

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T09:30:00Z").unwrap()
}

fn observed(item: &Item) -> Vec<Observation> {
    of_item(item, now(), Limits::default())
}

fn facts(item: &Item) -> Vec<Fact> {
    let facts = observed(item).into_iter().filter_map(|observation| match observation {
        Observation::Fact(fact) => Some(fact),
        Observation::Break(_) | Observation::Newer(_) => None,
    });
    facts.collect()
}

fn is_unreadable(item: &Item) -> bool {
    let kinds = observed(item).into_iter().filter_map(|observation| match observation {
        Observation::Break(finding) => Some(finding.kind),
        Observation::Fact(_) | Observation::Newer(_) => None,
    });
    kinds.into_iter().any(|kind| kind == BreakKind::UnreadableItem)
}

fn shown(item: &Item) -> String {
    let key = |name| item.key_text(name).unwrap_or_default();
    format!("{} {}", key(attr::PK), key(attr::SK))
}

fn kind_of(item: &Item) -> ItemKind {
    let partition = item.key_text(attr::PK).and_then(|pk| pk.split('#').nth(1)).unwrap_or_default();
    let kind = ItemKind::of(partition, item.key_text(attr::SK).unwrap_or_default());
    kind.unwrap_or_else(|| panic!("{} is of no known kind", shown(item)))
}

/// The records that can be read; some vectors hold only the attributes that their case needs.
fn readable() -> &'static [Item] {
    static READABLE: LazyLock<Vec<Item>> =
        // The registry is another table.
        LazyLock::new(|| {
            let is_of_registry = |item: &Item| item.key_text(attr::PK).is_some_and(|pk| pk.starts_with("tenants#"));
            records().into_iter().filter(|item| !is_of_registry(item) && !is_unreadable(item)).collect()
        });
    &READABLE
}

#[test]
fn every_record_gives_a_fact_or_is_listed_without_value() {
    let mut seen = BTreeMap::<ItemKind, usize>::new();
    for item in readable() {
        let (kind, observed) = (kind_of(item), observed(item));
        *seen.entry(kind).or_default() += 1;
        match kind.facts() {
            FactCount::Some => assert!(!observed.is_empty(), "{} is dropped", shown(item)),
            FactCount::None => assert!(observed.is_empty(), "{} is listed as holding no value", shown(item)),
            FactCount::SomeIfItNames => {
                // A reference may be of the legacy history, and a list of records names no period.
                let names: &[&str] = if matches!(kind, ItemKind::Reference | ItemKind::SettledBatch) {
                    &[]
                } else {
                    &["entry_id", "transaction_id", "settlement_id"]
                };
                let is_named = names.iter().any(|name| item.contains_key(*name));
                assert!(!is_named || !observed.is_empty(), "{} is dropped", shown(item));
            }
        }
    }
    let missing: Vec<ItemKind> = ItemKind::ALL.into_iter().filter(|kind| !seen.contains_key(kind)).collect();
    assert!(missing.is_empty(), "no record of {missing:?}");
}

#[test]
fn record_in_an_unknown_state_is_a_break() {
    let (mut missed, mut planted) = (Vec::new(), BTreeSet::new());
    for item in readable() {
        let kind = kind_of(item);
        if kind.facts() == FactCount::None {
            continue;
        }
        for name in STATES {
            let is_text = matches!(item.get(name), Some(Value::S(_)));
            if !is_text || FREE.contains(&(kind, name)) || facts(item).is_empty() {
                continue;
            }
            let mut foreign = item.clone();
            foreign.insert(name.to_owned(), Value::s("foreign"));
            planted.insert((kind, name));
            if !is_unreadable(&foreign) {
                missed.push(format!("{} with a foreign `{name}`", shown(item)));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let expected = [
        (ItemKind::Entry, "op"),
        (ItemKind::Entry, "decided"),
        (ItemKind::Entry, "ps"),
        (ItemKind::Reference, "op"),
        (ItemKind::Marker, "state"),
        (ItemKind::Marker, "operation"),
        (ItemKind::Card, "state"),
        (ItemKind::GodRecord, "truth_money"),
        (ItemKind::Payment, "state"),
        (ItemKind::PaymentRefund, "kind"),
        (ItemKind::Hold, "state"),
        (ItemKind::Topup, "state"),
        (ItemKind::TopupRefund, "state"),
        (ItemKind::Clawback, "state"),
        (ItemKind::Settlement, "state"),
        (ItemKind::Terminal, "state"),
    ];
    let never: Vec<_> = expected.iter().filter(|one| !planted.contains(*one)).collect();
    assert!(never.is_empty(), "no record for {never:?} in {planted:?}");
}

proptest! {
    #![proptest_config(cases(200))]

    /// Facts written as lines and parsed give the same facts and breaks, for any records in any order.
    #[test]
    fn facts_and_their_lines_give_the_same_breaks(order in prop::collection::vec(any::<prop::sample::Index>(), 1..40)) {
        let picked: Vec<Fact> = order.iter().flat_map(|at| facts(at.get(readable()))).collect();
        let scope = Scope { began_at: now(), at_one_moment: true, listed: None };
        let check = |facts: &[Fact]| {
            let mut groups = Groups::default();
            facts.iter().for_each(|fact| groups.take(fact.clone(), &scope));
            groups.findings(&scope)
        };
        let found = check(&picked);
        let lines: Vec<Fact> = picked.iter().map(|fact| Fact::parse_line(&fact.line().unwrap()).unwrap()).collect();
        prop_assert_eq!(&lines, &picked);
        prop_assert_eq!(check(&lines), found);
    }
}
