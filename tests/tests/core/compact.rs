//! Every golden entry and reference: its stored form says exactly what the expanded form says, to every reader and to the
//! audit, which expands it with code of its own.

use ledger_core::account::Account;
use ledger_core::crediting::EntryCredit;
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::events::Event;
use ledger_core::journal::{HistoryLine, JournalEntry, StoredLine, expanded};
use ledger_core::keys::{Key, attr, sk, tenant_of};
use ledger_core::memo;
use ledger_core::reconcile::{Limits, of_item};
use ledger_core::time::Timestamp;
use ledger_tests::audit;
use ledger_tests::golden::vector;
use ledger_tests::{rules, wire};
use std::collections::{BTreeMap, BTreeSet};

/// An entry or reference: the vector's id, the key and the item with its key.
struct Line {
    id: String,
    key: Key,
    full: Item,
}

impl Line {
    /// The stored form that a builder writes, with its key.
    fn stored(&self) -> Item {
        let mut attributes = self.full.clone();
        attributes.retain(|name, _| ![attr::PK, attr::SK, "postings", "changes"].contains(&name.as_str()));
        let line = StoredLine::under(&self.key, attributes).expect("the stored form says it");
        let mut stored = if self.is_entry() {
            line.with_postings(&JournalEntry::read(&self.full).expect("an entry").postings)
        } else {
            line.with_changes(&HistoryLine::read(&self.full, None).expect("a reference").changes)
        };
        stored.insert(attr::PK.to_owned(), Value::s(self.key.pk()));
        stored.insert(attr::SK.to_owned(), Value::s(self.key.sk()));
        stored
    }

    fn is_entry(&self) -> bool {
        self.key.sk().starts_with(sk::TXN)
    }
}

/// Every entry and reference that a builder made, in the writes and states of golden vectors.
fn lines() -> Vec<Line> {
    let mut found = Vec::new();
    for file in vector::all() {
        let (id, vector) = (&file.id, file.vector());
        let put = vector.items.iter().map(|action| &action["Put"]["Item"]).filter(|item| item.is_object());
        for item in put.chain(&vector.case.given.state).map(wire::item_from_json) {
            let (pk, sort) = (item.text(attr::PK).unwrap(), item.text(attr::SK).unwrap());
            // States hold entries with the attributes that their case needs.
            let is_line = [sk::TXN, sk::TXNREF].iter().any(|prefix| sort.starts_with(prefix));
            if is_line && item.contains_key("op") {
                let key = Key::stored(&tenant_of(pk).unwrap(), pk, sort).unwrap();
                found.push(Line { id: id.clone(), key, full: expanded(item).unwrap() });
            }
        }
    }
    assert!(found.len() > 400, "{}", found.len());
    found
}

#[test]
fn stored_form_of_every_golden_entry_says_the_same_to_every_reader() {
    let now = Timestamp::parse("2026-11-21T09:30:00Z").unwrap();
    let mut operations = BTreeSet::new();
    for line in lines() {
        let (id, full, stored) = (&line.id, &line.full, line.stored());
        assert_eq!(expanded(stored.clone()).as_ref(), Ok(full), "{id}");
        assert_eq!(audit::full(line.key.pk(), line.key.sk(), &stored).as_ref(), Ok(full), "{id}: by the audit");
        operations.insert(full.text("operation").unwrap().to_owned());
        let parties = JournalEntry::read(full).map_or(Vec::new(), |entry| {
            entry.postings.iter().map(|posting| Some(posting.account)).collect::<Vec<Option<Account>>>()
        });
        for party in parties.into_iter().chain([None]) {
            assert_eq!(HistoryLine::read(&stored, party), HistoryLine::read(full, party), "{id}");
        }
        assert_eq!(of_item(&stored, now, Limits::default()), of_item(full, now, Limits::default()), "{id}");
        if line.is_entry() {
            let tenant = tenant_of(line.key.pk()).unwrap();
            let event = |item| Event::of_entry("ecopay", &tenant, &line.key, item);
            assert_eq!(event(&stored), event(full), "{id}");
            assert_eq!(JournalEntry::read(&stored), JournalEntry::read(full), "{id}");
            assert_eq!(EntryCredit::read(&stored), EntryCredit::read(full), "{id}");
        }
    }
    assert!(operations.len() > 25, "{operations:?}");
}

/// What is kept for ever is at most six tenths: keys included, due index entries not.
#[test]
fn stored_form_is_at_most_six_tenths_of_the_expanded_form() {
    let mut sizes = BTreeMap::<(bool, String), (usize, usize)>::new();
    // What a legacy row had stays as it was.
    for line in lines().into_iter().filter(|line| !line.full.contains_key("legacy")) {
        let kept = |mut item: Item| {
            item.retain(|name, _| {
                ![attr::DUE_PK, attr::DUE_SK, memo::HASH, memo::MEMO, "legacy_sk"].contains(&name.as_str())
            });
            rules::item_bytes(&wire::item_to_json(&item))
        };
        let sum = sizes.entry((line.is_entry(), line.full.text("operation").unwrap().to_owned())).or_default();
        *sum = (sum.0 + kept(line.full.clone()), sum.1 + kept(line.stored()));
    }
    for ((is_entry, operation), (full, stored)) in sizes {
        println!("{operation:24} entry {is_entry:5} {full:7} -> {stored:7}");
        assert!(stored * 10 <= full * 6, "{operation}, entry {is_entry}: {full} -> {stored} bytes");
    }
}
