//! Attributes outside the seal, in every golden vector: which items have them, and that records change in no others.

use ledger_core::dynamo::Item;
use ledger_core::keys::{Key, attr, tenant_of};
use ledger_core::memo;
use ledger_tests::golden::vector;
use ledger_tests::wire;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The items that may have an attribute outside the seal.
#[derive(Clone, Copy, Debug)]
enum Of {
    Any,
    Records,
    Entries,
    Texts,
}

/// The attributes outside the seal.
const OUTSIDE: [(&str, Of); 6] = [
    (attr::DUE_PK, Of::Any),
    (attr::DUE_SK, Of::Any),
    ("_sealed", Of::Records),
    ("_credited_at", Of::Entries),
    ("_period", Of::Entries),
    (memo::MEMO, Of::Texts),
];

fn is_outside(name: &str) -> bool {
    name.starts_with(attr::OUTSIDE_SEAL)
}

fn key_of(keys: &Json) -> Key {
    let text = |name: &str| keys[name]["S"].as_str().expect("a key");
    let (pk, sk) = (text(attr::PK), text(attr::SK));
    Key::stored(&tenant_of(pk).expect("a tenant"), pk, sk).expect("a key of the tenant")
}

fn is_allowed(name: &str, key: &Key) -> bool {
    OUTSIDE.iter().any(|(allowed, of)| {
        *allowed == name
            && match of {
                Of::Any => true,
                Of::Records => key.recorded().is_some(),
                Of::Entries => key.entry().is_some(),
                Of::Texts => key.recorded().is_some() || key.sk().starts_with("TXNREF#"),
            }
    })
}

/// The attributes that an action's update writes, by their names.
fn updated(update: &Json) -> BTreeSet<String> {
    let text = update["UpdateExpression"].as_str().expect("an update");
    let names = &update["ExpressionAttributeNames"];
    // In operands of SET, such as `if_not_exists(#n, :zero)`, the attribute is that which is set.
    let words = text.split(|sign: char| !(sign.is_ascii_alphanumeric() || "#_.".contains(sign)));
    let placeholders = words.filter(|word| word.starts_with('#')).map(|word| word.split('.').next().expect("a name"));
    placeholders.map(|name| names[name].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn update_of_a_record_in_any_vector_names_attributes_outside_the_seal_alone() {
    let (mut looked_at, mut put) = (0, 0);
    for file in vector::all() {
        for action in &file.vector().items {
            let (verb, body) = action.as_object().expect("an action").iter().next().expect("a verb");
            let key = key_of(body.get("Key").unwrap_or(&body["Item"]));
            if key.recorded().is_none() {
                continue;
            }
            match verb.as_str() {
                "Update" => {
                    let sealed: Vec<String> = updated(body).into_iter().filter(|name| !is_outside(name)).collect();
                    assert!(sealed.is_empty(), "{}: {key:?}: {sealed:?}", file.id);
                    looked_at += 1;
                }
                "Put" => {
                    let is_new = body["ConditionExpression"] == "attribute_not_exists(#uuid)";
                    assert!(is_new, "{}: {key:?} may be replaced", file.id);
                    put += 1;
                }
                "ConditionCheck" => {}
                other => panic!("{}: {other} of {key:?}", file.id),
            }
        }
    }
    assert!(looked_at > 50 && put > 400, "{looked_at} {put}");
}

#[test]
fn attributes_outside_the_seal_are_those_of_the_list_on_their_items_alone() {
    let mut seen = BTreeSet::new();
    let mut check = |id: &str, key: &Key, names: &mut dyn Iterator<Item = String>| {
        for name in names.filter(|name| is_outside(name)) {
            assert!(is_allowed(&name, key), "{id}: {name} of {key:?}");
            seen.insert(name);
        }
    };
    for file in vector::all() {
        let vector = file.vector();
        for item in &vector.case.given.state {
            let stored: Item = wire::item_from_json(item);
            check(&file.id, &key_of(item), &mut stored.into_keys());
        }
        for action in &vector.items {
            let body = action.as_object().expect("an action").values().next().expect("a body");
            let key = key_of(body.get("Key").unwrap_or(&body["Item"]));
            let put = body["Item"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
            let named = body["ExpressionAttributeNames"].as_object().into_iter().flatten();
            let named = named.filter_map(|(_, name)| name.as_str()).map(str::to_owned);
            check(&file.id, &key, &mut put.chain(named));
        }
    }
    assert_eq!(seen, OUTSIDE.map(|(name, _)| name.to_owned()).into());
}
