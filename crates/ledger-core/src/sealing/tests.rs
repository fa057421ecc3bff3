//! The hash of a record, and its stamp.

use super::sealable::STAMP;
use super::*;
use crate::dynamo::{Item, Value};
use crate::ids::Tenant;
use crate::keys::attr;

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

/// An entry with an attribute of each type.
fn record() -> Item {
    let id = "019a9000-0000-7000-8000-000000000003";
    let posting = Item::from([("account".to_owned(), Value::s("fees")), ("delta".to_owned(), Value::N("1.50".into()))]);
    Item::from([
        (attr::PK.to_owned(), Value::S(format!("demo#customer#{id}"))),
        (attr::SK.to_owned(), Value::S(format!("TXN#{id}"))),
        (attr::CREATED_AT.to_owned(), Value::s("2026-11-20T03:00:00.000Z")),
        (attr::DUE_PK.to_owned(), Value::s("demo#due#publish#0")),
        ("operation".to_owned(), Value::s("pay")),
        ("postings".to_owned(), Value::L(vec![Value::M(posting), Value::Bool(true), Value::B(vec![1, 2])])),
    ])
}

#[test]
fn digest_ignores_attributes_that_begin_with_an_underscore_only() {
    let mut item = record();
    let before = digest(&item);
    item.remove(attr::DUE_PK);
    item.insert(STAMP.to_owned(), Value::s("L0/1"));
    item.insert("_later".to_owned(), Value::s("x"));
    assert_eq!(digest(&item), before);
    assert_eq!(Sealable::read(&tenant(), &item).unwrap(), None);
    // One number in two spellings is equal; text is another type.
    item.insert("n".to_owned(), Value::N("1.50".into()));
    let spelt = digest(&item);
    item.insert("n".to_owned(), Value::N("15e-1".into()));
    assert_eq!(digest(&item), spelt);
    item.insert("n".to_owned(), Value::S("1.5".into()));
    assert_ne!(digest(&item), spelt);
}

#[test]
fn encoding_never_changes() {
    // Computed by hand: SHA-256 of the encoding's name, a zero byte, and `M` 1 `a` `S` `b`.
    let item = Item::from([("a".to_owned(), Value::s("b"))]);
    assert_eq!(digest(&item).to_string(), "4405f5964ce1332fca8538798395ba5c13dab41ccada9138e56eef9f83599805");
}

#[test]
fn stamp_that_names_no_segment_is_an_error() {
    let mut item = record();
    assert_eq!(lane_segment_of(&item), Ok(None));
    item.insert(STAMP.to_owned(), Value::s("L3/12"));
    assert_eq!(lane_segment_of(&item), Ok(Some((3, 12))));
    for other in ["", "L3", "L03/12", "3/12", "2026-11-20/1"] {
        item.insert(STAMP.to_owned(), Value::s(other));
        assert_eq!(lane_segment_of(&item).unwrap_err().attribute, STAMP, "{other}");
    }
}

/// Every single change of a value, at any depth.
fn edits(value: &Value) -> Vec<Value> {
    match value {
        Value::S(text) => vec![Value::S(format!("{text} ")), Value::S(String::new()), Value::N("1".into())],
        Value::N(_) => vec![Value::N("98765".into())],
        Value::Bool(truth) => vec![Value::Bool(!truth)],
        Value::B(bytes) => vec![Value::B([bytes.as_slice(), &[0]].concat())],
        Value::L(list) => {
            let mut all = vec![Value::L(list.iter().skip(1).cloned().collect())];
            let mut turned = list.clone();
            turned.reverse();
            all.extend((turned != *list).then_some(Value::L(turned)));
            for (at, inner) in list.iter().enumerate() {
                all.extend(edits(inner).into_iter().map(|edited| {
                    let mut list = list.clone();
                    list[at] = edited;
                    Value::L(list)
                }));
            }
            all
        }
        Value::M(map) => map
            .iter()
            .flat_map(|(name, inner)| {
                edits(inner).into_iter().map(move |edited| {
                    let mut map = map.clone();
                    map.insert(name.clone(), edited);
                    Value::M(map)
                })
            })
            .collect(),
    }
}

#[test]
fn digest_changes_with_every_edit_of_an_attribute() {
    let item = record();
    let mut looked_at = 0;
    for (name, value) in item.iter().filter(|(name, _)| *name != attr::DUE_PK) {
        let edited = edits(value).into_iter().filter(|edited| edited != value).map(Some);
        for to in edited.chain([None]) {
            let mut other = item.clone();
            match &to {
                Some(edited) => drop(other.insert(name.clone(), edited.clone())),
                None => drop(other.remove(name)),
            }
            assert_ne!(digest(&other), digest(&item), "{name} {to:?}");
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 25);
    let mut more = item.clone();
    more.insert("more".to_owned(), Value::s("x"));
    assert_ne!(digest(&more), digest(&item));
    for key in [attr::OWNER_PK, attr::OWNER_SK] {
        let mut listed = item.clone();
        listed.insert(key.to_owned(), Value::s("demo#acts_of#019a9000-0000-7000-8000-000000000009#0"));
        assert_ne!(digest(&listed), digest(&item), "{key}");
    }
}
