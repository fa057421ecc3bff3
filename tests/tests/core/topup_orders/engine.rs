//! The model against the embedded engine: on every golden vector both give the same reasons and the same items.

use ledger_core::dynamo::Item;
use ledger_core::transaction::{Reason, TransactItem};
use ledger_tests::engine::{Contents, Table, primary_key};
use ledger_tests::golden::build::build;
use ledger_tests::golden::vector;
use ledger_tests::golden::written::Written;
use ledger_tests::model::Model;
use ledger_tests::share;
use ledger_tests::wire;

/// Every so many vectors are executed by default.
const STEP: usize = 11;

/// Executes twice on both from the same state: the second time most guards fail.
fn agree(what: &str, state: &Contents, items: &[TransactItem]) {
    let (table, mut model) = (Table::new(), Model::new());
    for item in state.values() {
        table.put(&wire::item_to_json(item));
        model.put(item.clone());
    }
    for time in ["once", "twice"] {
        let unnamed = |reason: Reason| Reason { item: reason.item.map(wire::unnamed), ..reason };
        let executed = table.execute(items).map_err(|reasons| reasons.into_iter().map(unnamed).collect::<Vec<_>>());
        assert_eq!(model.execute(items), executed, "{what}: the reasons, {time}");
        assert_eq!(model.contents(), table.contents(), "{what}: the items, {time}");
    }
}

#[test]
fn model_executes_golden_transactions_as_the_engine_does() {
    let mut runs = 0;
    for file in share::of(vector::all(), STEP) {
        let (id, vector) = (&file.id, file.vector());
        let built = build(&vector.case.given);
        let written = Written::of(&vector.case.given, &built);
        if written.items().is_empty() {
            continue;
        }
        let items: Vec<Item> = vector.case.given.state.iter().map(wire::item_from_json).collect();
        let given: Contents = items.into_iter().map(|item| (primary_key(&item), item)).collect();
        agree(id, &given, written.items());
        runs += 1;
        // The states in which a guard fails.
        for row in vector.verdicts.iter().filter(|row| !row.reasons.is_empty()) {
            let mut state = given.clone();
            for (position, reason) in &row.reasons {
                let key = written.items()[position.parse::<usize>().unwrap()].key();
                let key = (key.pk().to_owned(), key.sk().to_owned());
                match &reason.item {
                    Some(item) => state.insert(key, wire::item_from_json(item)),
                    None => state.remove(&key),
                };
            }
            agree(&format!("{id}, {}", row.outcome), &state, written.items());
            runs += 1;
        }
    }
    println!("{runs} states");
    assert!(runs > share::count(500, STEP as u64), "{runs}");
}
