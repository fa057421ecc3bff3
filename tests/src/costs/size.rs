//! The size of an item by DynamoDB's rules.

use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::attr;

/// What DynamoDB adds to a list or a map, and to each of its members.
const NESTED_BYTES: usize = 3;
const MEMBER_BYTES: usize = 1;
/// An instant in seconds. Its trailing zeros would make it smaller at some instants, so it is counted in full.
const EXPIRY_BYTES: usize = 6;
/// The same in milliseconds: when an entry was created, in the compact form.
const CREATED_AT: &str = "ca";
const MILLIS_BYTES: usize = 8;

/// The bytes of an item: of its attributes' names and values.
#[must_use]
pub fn bytes_of(item: &Item) -> usize {
    let value_bytes = |name: &str, value| match name {
        attr::TTL => EXPIRY_BYTES,
        CREATED_AT => MILLIS_BYTES,
        attr::OWNER_PK => of_value(value) + usize::from(has_shard_of_one_digit(value)),
        _ => of_value(value),
    };
    item.iter().map(|(name, value)| name.len() + value_bytes(name, value)).sum()
}

/// A list of 16 shards has some of one digit and some of two: each is counted with two.
fn has_shard_of_one_digit(key: &Value) -> bool {
    matches!(key, Value::S(key) if key.rsplit('#').next().is_some_and(|shard| shard.len() == 1))
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::S(text) => text.len(),
        Value::N(number) => of_number(number),
        Value::Bool(_) => 1,
        Value::B(bytes) => bytes.len(),
        Value::L(members) => NESTED_BYTES + members.iter().map(|member| MEMBER_BYTES + of_value(member)).sum::<usize>(),
        Value::M(members) => {
            let members = members.iter().map(|(name, member)| MEMBER_BYTES + name.len() + of_value(member));
            NESTED_BYTES + members.sum::<usize>()
        }
    }
}

/// A byte for two digits on either side of the point, and one besides; one more for a sign.
fn of_number(number: &str) -> usize {
    let (whole, fraction) =
        number.trim_start_matches('-').split_once('.').unwrap_or((number.trim_start_matches('-'), ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    // Zeros at the end of a whole number are its exponent.
    let whole = if fraction.is_empty() { whole.trim_end_matches('0') } else { whole };
    whole.len().div_ceil(2) + fraction.len().div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}
