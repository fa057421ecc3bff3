//! Legacy customers with each attribute of the God Record in every DynamoDB type.

use super::books::{null, set_of};
use super::world::new_id;
use super::{Customer, World};
use crate::audit::{n, s};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::{GOD_RECORD, sk};

/// An attribute with a value, and whether the ledger can adopt a customer who has it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The attribute's name, or its path in the map of regional currencies.
    pub attribute: &'static str,
    /// The value; `None` if the attribute is absent.
    pub value: Option<Value>,
    /// Whether the ledger accepts the value.
    pub is_kept: bool,
}

/// The kind of value that the ledger accepts for an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Text,
    Time,
    Sum,
    /// A sum without bounds.
    Total,
    Map,
    Anything,
}

const ATTRIBUTES: [(&str, Keeps); 12] = [
    ("name", Keeps::Text),
    ("email", Keeps::Text),
    ("phone_number", Keeps::Text),
    ("created_at", Keeps::Time),
    ("updated_at", Keeps::Time),
    ("balance", Keeps::Sum),
    ("point", Keeps::Sum),
    ("jcredit", Keeps::Sum),
    ("regional", Keeps::Map),
    ("regional.aoba", Keeps::Sum),
    ("co2_total", Keeps::Total),
    ("loyalty_tier", Keeps::Anything),
];

/// 2021-04-01T00:00:00Z in seconds.
pub const SECONDS: &str = "1617235200";
/// A time in milliseconds.
pub const MILLIS: &str = "1617235200123";
const MICROS: &str = "1617235200123456";

/// Every attribute with a value of every type.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (attribute, keeps) in ATTRIBUTES {
        let all = Keeps::Anything == keeps;
        let (text, time) = (keeps == Keeps::Text, keeps == Keeps::Time);
        let (total, sum) = (keeps == Keeps::Total, [Keeps::Sum, Keeps::Total].contains(&keeps));
        let values = [
            (None, true),
            (Some(s("2021-04-01T00:00:00.000Z")), text || time),
            (Some(s("")), text || time),
            (Some(null()), text || time),
            (Some(n(7)), sum),
            (Some(n(SECONDS)), sum || time),
            (Some(n(MILLIS)), sum || time),
            (Some(n(MICROS)), total),
            (Some(n("-5")), total),
            (Some(Value::Bool(true)), false),
            (Some(Value::B(vec![1, 2])), false),
            (Some(Value::L(vec![n(7)])), false),
            (Some(Value::M(Item::new())), keeps == Keeps::Map),
            (Some(set_of(s("a"))), false),
            (Some(set_of(n(7))), false),
            (Some(set_of(Value::B(vec![1]))), false),
        ];
        cases.extend(values.map(|(value, is_kept)| Case { attribute, value, is_kept: is_kept || all }));
    }
    cases
}

impl Case {
    /// The complete God Record, with the case's attribute replaced.
    #[must_use]
    pub fn record(&self) -> Vec<(&'static str, Value)> {
        let mut record = vec![
            ("name", s("Hanako")),
            ("email", s("hanako@example.com")),
            ("phone_number", s("+81312345678")),
            ("created_at", n(SECONDS)),
            ("updated_at", n(MILLIS)),
            ("balance", n(1_000)),
            ("point", n(50)),
            ("jcredit", n("1.125")),
            ("co2_total", n("12.4")),
            ("loyalty_tier", s("gold")),
        ];
        record.retain(|(name, _)| *name != self.attribute);
        match (self.attribute.split_once('.'), &self.value) {
            (Some((map, currency)), value) => {
                let currencies = value.iter().map(|value| (currency.to_owned(), value.clone())).collect();
                record.push((map, Value::M(currencies)));
            }
            (None, value) => {
                if self.attribute != "regional" {
                    record.push(("regional", Value::M(Item::from([("aoba".to_owned(), n(7))]))));
                }
                record.extend(value.iter().map(|value| (self.attribute, value.clone())));
            }
        }
        record
    }

    /// Whether `attribute` is the case's attribute or the map that contains it.
    #[must_use]
    pub fn is_named(&self, attribute: &str) -> bool {
        self.attribute == attribute || self.attribute.split_once('.').is_some_and(|(map, _)| map == attribute)
    }

    /// Writes the God Record of a customer whom the ledger has not adopted; returns both.
    pub async fn customer(&self, world: &World) -> (Customer, Item) {
        let id = new_id();
        let customer = Customer { who: world.token("customer", &id, None).await, id };
        let row = world.plant_of(&customer, GOD_RECORD, &self.record()).await;
        (customer, row)
    }
}

/// Writes a legacy history with each attribute in every type, one row each; returns the number of rows.
pub async fn plant_history(world: &World, customer: &Customer) -> usize {
    let attributes = ["amount", "point", "jcredit", "regional", "memo", "timestamp", "transaction_id", "payment_id"];
    let values: Vec<Value> = cases().into_iter().take(16).filter_map(|case| case.value).collect();
    let mut millis = 1_617_235_200_000_i64;
    for attribute in attributes {
        for value in &values {
            millis += 1_000;
            world.plant_of(customer, &format!("{}{millis}#pay", sk::HISTORY), &[(attribute, value.clone())]).await;
        }
    }
    attributes.len() * values.len()
}
