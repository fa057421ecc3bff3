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
pub(super) fn bytes_of(item: &Item) -> usize {
    let value_bytes = |name: &str, value| match name {
        attr::TTL => EXPIRY_BYTES,
        CREATED_AT => MILLIS_BYTES,
        _ => of_value(value),
    };
    item.iter().map(|(name, value)| name.len() + value_bytes(name, value)).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_dynamodb_s_rules() {
        let of = |name: &str, value: Value| bytes_of(&[(name.to_owned(), value)].into());
        assert_eq!(of("a", Value::S("店".to_owned())), 4);
        assert_eq!(of("a", Value::Bool(true)), 2);
        assert_eq!(of("a", Value::N("0".to_owned())), 2);
        assert_eq!(of("a", Value::N("12300".to_owned())), 4);
        assert_eq!(of("a", Value::N("-12".to_owned())), 4);
        assert_eq!(of("a", Value::L(vec![Value::Bool(true)])), 1 + 3 + 2);
        assert_eq!(of("a", Value::M([("b".to_owned(), Value::Bool(true))].into())), 1 + 3 + 3);
    }

    #[test]
    fn expiry_is_as_large_at_each_instant() {
        let at = |second: &str| bytes_of(&[(attr::TTL.to_owned(), Value::N(second.to_owned()))].into());
        assert_eq!(at("1800000000"), at("1812345678"));
    }
}
