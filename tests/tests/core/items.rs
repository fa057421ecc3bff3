//! The declaration of the kinds of items, against the golden files and the page that shows it.

use ledger_core::keys::{ITEM_FORMS, ItemForm, kind_of};
use ledger_tests::golden::{reads, vector, world};
use ledger_tests::tree;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Adds every key among the values of a document.
fn add_keys(json: &Json, keys: &mut BTreeSet<(String, String)>) {
    if let Ok(key) = world::key(json) {
        keys.insert(key);
    }
    match json {
        Json::Object(members) => members.values().for_each(|value| add_keys(value, keys)),
        Json::Array(values) => values.iter().for_each(|value| add_keys(value, keys)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[test]
fn every_item_of_a_golden_file_has_a_declared_kind() {
    let mut keys = BTreeSet::new();
    for text in vector::files().into_values().chain(reads::vector::files().into_values()) {
        add_keys(&serde_json::from_str(&text).unwrap(), &mut keys);
    }
    for folder in ["golden/worlds", "golden/reads/worlds"] {
        for path in tree::files(&[folder], "json") {
            add_keys(&serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(), &mut keys);
        }
    }
    assert!(keys.len() > 300, "{}", keys.len());
    // The registry is another table.
    keys.retain(|(pk, _)| !pk.starts_with("tenants#"));
    let undeclared: Vec<_> = keys.iter().filter(|(pk, sk)| kind_of(pk, sk).is_none()).collect();
    assert!(undeclared.is_empty(), "{undeclared:?}");
    let declared: BTreeSet<(&str, &str)> =
        keys.iter().filter_map(|(pk, sk)| kind_of(pk, sk)).map(|form| (form.partition, form.sort_key)).collect();
    let unseen = ITEM_FORMS.iter().filter(|form| !declared.contains(&(form.partition, form.sort_key))).count();
    assert!(unseen < ITEM_FORMS.len() / 4, "{unseen} kinds are in no golden file");
}

#[test]
fn page_of_items_shows_the_declaration() {
    let cell = |text: &str| format!("`{text}`");
    let row = |form: &ItemForm| {
        let list = form.listed.map(cell).unwrap_or_default();
        format!("| {} | {} | {} | {list} |", cell(form.partition), cell(form.sort_key), form.name)
            .replace("|  |", "| |")
    };
    let page = std::fs::read_to_string(tree::root().join("docs/architecture/items.md")).unwrap();
    let shown: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 5).collect();
    let declared: Vec<String> = ITEM_FORMS.iter().map(row).collect();
    assert_eq!(shown, declared, "docs/architecture/items.md has another table");
}
