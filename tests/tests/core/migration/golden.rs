//! Every golden transaction can be placed in every phase, and the model executes it as the engine does.

use ledger_core::dynamo::Item;
use ledger_core::migration::{Layout, Model as Legacy, Phase};
use ledger_core::transaction::{Reason, RenderedAction, TransactItem, Transaction};
use ledger_tests::engine::{Contents, Table, primary_key};
use ledger_tests::golden::build::{Built, build};
use ledger_tests::golden::vector;
use ledger_tests::legacy;
use ledger_tests::model::Model;
use ledger_tests::share;
use ledger_tests::wire;

/// Every so many transactions are placed and executed by default.
const STEP: usize = 11;

/// What no customer of a legacy model has, and what is therefore refused while one migrates.
const SPLIT_ONLY: [&str; 11] = [
    "limits/own-",
    "approval_approve/limits",
    "terms/account-limits",
    "approval_approve/customer-close",
    "approval_approve/customer-erase",
    "approval_approve/sign-in",
    "approval_approve/unclaimed-payout-by-bank-of-customer",
    "approval_approve/unclaimed-claim-of-customer",
    "payment_code/sign-in",
    "refund/closed",
    "wind_down_close/customer",
];

/// Every vector's transaction, and the items that it starts from.
fn transactions() -> impl Iterator<Item = (String, Transaction, Contents)> {
    vector::all().iter().filter_map(|file| {
        let (id, vector) = (file.id.clone(), file.vector());
        if SPLIT_ONLY.iter().any(|of| id.starts_with(of)) {
            return None;
        }
        let items: Vec<Item> = vector.case.given.state.iter().map(wire::item_from_json).collect();
        let state: Contents = items.into_iter().map(|item| (primary_key(&item), item)).collect();
        let Built::Transaction(transaction, _) = build(&vector.case.given) else { return None };
        Some((id, *transaction, state))
    })
}

#[test]
fn every_transaction_is_placed_in_every_phase() {
    let (mut placings, terms) = (0, legacy::terms());
    let layouts: Vec<(Phase, Layout)> = Legacy::ALL
        .into_iter()
        .flat_map(Phase::all)
        .map(|phase| (phase, legacy::layout(&terms, phase, phase.number().into())))
        .collect();
    for (id, transaction, _) in share::of(transactions(), STEP) {
        assert_eq!(transaction.placed(&Layout::Split).unwrap().items(), transaction.items(), "{id}");
        for (phase, layout) in &layouts {
            let placed = transaction.placed(layout).unwrap_or_else(|error| panic!("{id} in phase {phase}: {error}"));
            assert!(placed.items().len() >= transaction.items().len().min(1), "{id}");
            placings += 1;
        }
    }
    println!("{placings} placings");
    assert!(placings > share::count(20_000, STEP as u64), "{placings}");
}

/// Executes twice on both: the second time most guards fail.
fn agree(what: &str, table: &Table, model: &mut Model, transaction: &Transaction, layout: &Layout) {
    let placed = transaction.placed(layout).unwrap();
    for time in ["once", "twice"] {
        // The model names no transaction.
        let unnamed = |reason: Reason| Reason { item: reason.item.map(wire::unnamed), ..reason };
        let there = table.execute(placed.items());
        let there = there.map_err(|reasons| reasons.into_iter().map(unnamed).collect::<Vec<_>>());
        assert_eq!(model.execute(placed.items()), there, "{what}: the reasons, {time}");
        assert_eq!(model.contents(), table.contents(), "{what}: the items, {time}");
    }
}

#[test]
fn model_executes_as_the_engine_does() {
    let terms = legacy::terms();
    let phases: Vec<Phase> = Legacy::ALL.into_iter().flat_map(Phase::all).collect();
    let (mut runs, mut in_maps) = (0, 0);
    for (n, (id, transaction, state)) in share::of(transactions().enumerate(), STEP) {
        if !transaction.items().iter().any(|item| item.key().customer().is_some()) {
            continue;
        }
        let phase = phases[n % phases.len()];
        let layout = legacy::layout(&terms, phase, 3);
        let placed = transaction.placed(&layout).unwrap();
        let writes_map = |item: &&TransactItem| matches!(&item.render().unwrap().action, RenderedAction::Update(_, update) if update.contains("#regional.#aoba"));
        in_maps += placed.items().iter().filter(writes_map).count();
        // Once on the vector's items, and once with every customer in an adopted God Record.
        let (table, mut model) = (Table::new(), Model::new());
        for item in state.values() {
            table.put(&wire::item_to_json(item));
            model.put(item.clone());
        }
        agree(&format!("{id} in phase {phase}"), &table, &mut model, &transaction, &layout);
        for item in transaction.items() {
            let Some(_) = item.key().customer() else { continue };
            let record = legacy::adopted(item.key(), &terms);
            table.put(&wire::item_to_json(&record));
            model.put(record);
        }
        agree(&format!("{id} in phase {phase}, adopted"), &table, &mut model, &transaction, &layout);
        runs += 2;
    }
    println!("{runs} runs, {in_maps} of them with a sum in a map");
    assert!(runs > share::count(400, STEP as u64) && in_maps > 0, "{runs}, {in_maps}");
}
