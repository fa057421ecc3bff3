//! The page on copies names every check of an item that its transaction does not write.

mod order;

use ledger_core::transaction::{RenderedAction, Role, TransactItem};
use ledger_tests::golden::{build, vector, written::Written};
use ledger_tests::names;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/architecture/copy.md");

/// A check's role, and the attributes that it requires something of. `None` for what writes its item.
fn checked(item: &TransactItem) -> Option<String> {
    let rendered = item.render().expect("no clash of placeholders");
    let RenderedAction::ConditionCheck(_) = rendered.action else { return None };
    let condition = rendered.condition.unwrap_or_default();
    let mut attributes: BTreeSet<&str> = rendered.names.values().map(String::as_str).collect();
    let has_key = attributes.remove("uuid");
    let role = names::role(item.role());
    let required = match (attributes.is_empty(), has_key && condition.contains("attribute_not_exists(#uuid)")) {
        // What was read of a customer's record differs with the model.
        _ if item.role() == Role::GodRecord => return Some(role.to_owned()),
        (_, true) => "absent".to_owned(),
        (true, false) => "exists".to_owned(),
        (false, false) => attributes.into_iter().collect::<Vec<_>>().join(", "),
    };
    Some(format!("{role}: {required}"))
}

#[test]
fn every_check_of_a_vector_is_in_the_table() {
    let mut found = BTreeSet::new();
    for file in vector::all() {
        let given = &file.vector().case.given;
        let built = build::build(given);
        found.extend(Written::of(given, &built).items().iter().filter_map(checked));
    }
    let (_, table) = PAGE.split_once("| check | why").expect("the table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let listed: BTreeSet<String> = rows.map(|(check, _)| check.to_owned()).collect();
    assert_eq!(found, listed, "what vectors check, and the table of docs/architecture/copy.md");
}
