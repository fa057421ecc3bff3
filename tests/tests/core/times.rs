//! Times in stored items have one form, in every golden vector: RFC 3339 in UTC with milliseconds.

use ledger_core::dynamo::{Item, Value};
use ledger_core::time::Timestamp;
use ledger_tests::golden::vector;
use ledger_tests::wire;
use std::collections::BTreeSet;

/// The attributes with a time as a number: DynamoDB's own, the creation of a compact entry, and the legacy model's.
const NUMBERS: [&str; 3] = ["ttl", "ca", "timestamp"];
/// The digits of an epoch time in seconds and in milliseconds, of this century.
const EPOCH_DIGITS: [usize; 2] = [10, 13];

/// Calls `each` with every value and the name of its attribute, those in lists and maps too.
fn values<'a>(name: &'a str, value: &'a Value, each: &mut dyn FnMut(&'a str, &'a Value)) {
    each(name, value);
    match value {
        Value::M(map) => map.iter().for_each(|(name, value)| values(name, value, each)),
        Value::L(list) => list.iter().for_each(|value| values(name, value, each)),
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) => {}
    }
}

fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |at: std::ops::Range<usize>| bytes.get(at).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    digits(0..4) && digits(5..7) && digits(8..10) && bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T')
}

#[test]
fn time_in_a_stored_item_is_rfc_3339_but_for_three_attributes() {
    let (mut texts, mut numbers) = (0, BTreeSet::new());
    for file in vector::all() {
        let (id, vector) = (&file.id, file.vector());
        let put = vector.items.iter().map(|action| &action["Put"]["Item"]).filter(|item| item.is_object());
        let items: Vec<Item> = put.chain(&vector.case.given.state).map(wire::item_from_json).collect();
        for (name, value) in items.iter().flatten() {
            values(name, value, &mut |name, value| match value {
                Value::S(text) if is_date_time(text) && !text.contains('#') => {
                    let canonical = Timestamp::parse(text).map(|time| time.to_string());
                    assert_eq!(canonical.as_deref(), Ok(text.as_str()), "{id}: {name}");
                    texts += 1;
                }
                Value::N(number) if EPOCH_DIGITS.contains(&number.len()) && number.starts_with('1') => {
                    assert!(NUMBERS.contains(&name), "{id}: {name} is {number}");
                    numbers.insert(name.to_owned());
                }
                Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::L(_) | Value::M(_) => {}
            });
        }
    }
    assert!(texts > 5_000, "{texts}");
    assert_eq!(numbers.len(), NUMBERS.len(), "{numbers:?}");
}
