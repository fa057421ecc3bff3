//! `Condition::holds` agrees with the engine for any item and any condition.
//! The engine's expression is written here, not rendered by the core.

use ledger_core::dynamo::{Cmp, Condition, Item, Value};
use ledger_core::transaction::ReasonCode;
use ledger_tests::engine::Table;
use ledger_tests::wire;
use proptest::prelude::*;
use serde_json::{Map, json};
use std::cell::RefCell;

/// A condition, converted separately for the core and for the engine.
#[derive(Clone, Debug)]
enum Case {
    Exists(&'static str),
    Absent(&'static str),
    Compare(&'static str, Cmp, Value),
    IsNot(&'static str, Value),
    Either(Box<Case>, Box<Case>),
}

const ATTRIBUTES: [&str; 3] = ["a", "b", "c"];

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        prop_oneof![Just("0"), Just("-0"), Just("0.0"), Just("1"), Just("1.0"), Just("1e0"), Just("10e-1"), Just("-1")]
            .prop_map(str::to_owned),
        (-1_000_i64..1_000, 0..4_u32).prop_map(|(n, scale)| rust_decimal::Decimal::new(n, scale).to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => prop_oneof![Just(""), Just("a"), Just("A"), Just("ab"), Just("é"), Just("語"), Just("2026-11-21T03:00:00.000Z")]
            .prop_map(Value::s),
        4 => numbers().prop_map(Value::N),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => proptest::collection::vec(any::<u8>(), 0..3).prop_map(Value::B),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::L),
            proptest::collection::btree_map("[xy]", inner, 0..3).prop_map(Value::M),
        ]
    })
}

fn conditions(pool: Vec<Value>) -> impl Strategy<Value = Case> {
    let attribute = proptest::sample::select(ATTRIBUTES.to_vec());
    // Half of the operands are values of the item.
    let value = prop_oneof![proptest::sample::select(pool), values()].boxed();
    let cmp = proptest::sample::select(vec![Cmp::Eq, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
    let leaf = prop_oneof![
        1 => attribute.clone().prop_map(Case::Exists),
        1 => attribute.clone().prop_map(Case::Absent),
        5 => (attribute.clone(), cmp, value.clone())
            .prop_map(|(a, cmp, v)| Case::Compare(a, if is_ordered(&v) { cmp } else { Cmp::Eq }, v)),
        2 => (attribute, value).prop_map(|(a, v)| Case::IsNot(a, v)),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        (inner.clone(), inner).prop_map(|(a, b)| Case::Either(Box::new(a), Box::new(b)))
    })
}

fn inputs() -> impl Strategy<Value = (Option<Item>, Case)> {
    let item = proptest::collection::btree_map(proptest::sample::select(ATTRIBUTES.to_vec()), values(), 0..4);
    let item = item.prop_map(|map| map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Item>());
    proptest::option::weighted(0.9, item).prop_flat_map(|item| {
        let mut pool: Vec<Value> = item.iter().flat_map(|item| item.values().cloned()).collect();
        pool.push(Value::int(1));
        (Just(item), conditions(pool))
    })
}

fn for_the_core(case: &Case) -> Condition {
    match case {
        Case::Exists(a) => Condition::exists(*a),
        Case::Absent(a) => Condition::absent(*a),
        Case::Compare(a, cmp, value) => Condition::compare(*a, *cmp, "v", value.clone()),
        Case::IsNot(a, value) => Condition::is_not(*a, "v", value.clone()),
        Case::Either(a, b) => for_the_core(a).or(for_the_core(b)),
    }
}

/// The engine's expression; its names and values are collected.
fn for_the_engine(case: &Case, names: &mut Map<String, serde_json::Value>, values: &mut Vec<Value>) -> String {
    let mut name = |attribute: &str| {
        names.insert(format!("#{attribute}"), json!(attribute));
        format!("#{attribute}")
    };
    let mut operand = |value: &Value| {
        values.push(value.clone());
        format!(":v{}", values.len() - 1)
    };
    match case {
        Case::Exists(a) => format!("attribute_exists({})", name(a)),
        Case::Absent(a) => format!("attribute_not_exists({})", name(a)),
        Case::Compare(a, cmp, value) => {
            let sign = match cmp {
                Cmp::Eq => "=",
                Cmp::Lt => "<",
                Cmp::Le => "<=",
                Cmp::Gt => ">",
                Cmp::Ge => ">=",
            };
            format!("{} {sign} {}", name(a), operand(value))
        }
        Case::IsNot(a, value) => format!("NOT {} = {}", name(a), operand(value)),
        Case::Either(a, b) => {
            let (a, b) = (for_the_engine(a, names, values), for_the_engine(b, names, values));
            format!("({a}) OR ({b})")
        }
    }
}

/// Whether values of this type are ordered: DynamoDB refuses `<` on others as malformed.
fn is_ordered(value: &Value) -> bool {
    matches!(value, Value::S(_) | Value::N(_) | Value::B(_))
}

thread_local! {
    static TABLE: RefCell<(Table, u64)> = RefCell::new((Table::new(), 0));
}

proptest! {
    #![proptest_config(super::cases(1_500))]

    #[test]
    fn condition_holds_as_on_the_engine((item, case) in inputs()) {
        let (mut names, mut values) = (Map::new(), Vec::new());
        let expression = for_the_engine(&case, &mut names, &mut values);
        let values: Map<_, _> =
            values.iter().enumerate().map(|(at, value)| (format!(":v{at}"), wire::value_to_json(value))).collect();
        let (engine, stored) = TABLE.with_borrow_mut(|(table, count)| {
            *count += 1;
            let key = json!({ "uuid": { "S": "x" }, "type": { "S": count.to_string() } });
            if let Some(item) = &item {
                let mut whole = wire::item_to_json(item);
                whole["uuid"] = key["uuid"].clone();
                whole["type"] = key["type"].clone();
                table.put(&whole);
            }
            let mut check = json!({
                "TableName": wire::TABLE, "Key": key, "ConditionExpression": expression,
                "ExpressionAttributeNames": names, "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            });
            if !values.is_empty() {
                check["ExpressionAttributeValues"] = values.into();
            }
            match table.write(&[json!({ "ConditionCheck": check })]) {
                Ok(()) => (true, None),
                Err(reasons) => {
                    assert_eq!(reasons[0].code, ReasonCode::ConditionalCheckFailed);
                    (false, reasons[0].item.clone())
                }
            }
        });
        let condition = for_the_core(&case);
        // On the item as written, and as the engine returned it with numbers in another notation.
        prop_assert_eq!(condition.holds(item.as_ref()), engine, "{:?} on {:?}", condition, item);
        if !engine {
            prop_assert!(!condition.holds(stored.as_ref()), "{:?} on {:?}", condition, stored);
        }
    }
}
