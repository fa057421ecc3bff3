//! What calls of the table consume: calls, items, capacity units and bytes.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Capacity units, in halves: an eventually consistent read of 4 KB is half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HalfUnits(pub u64);

/// What some calls of the table consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Items read, before a filter.
    pub items_read: u64,
    /// Items in transactions that write.
    pub items_written: u64,
    /// Read units.
    pub read_units: HalfUnits,
    /// Write units, with those of the indexes.
    pub write_units: HalfUnits,
    /// Bytes of the requests' bodies.
    pub bytes_sent: u64,
    /// Bytes of the responses' bodies.
    pub bytes_received: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.items_read += more.items_read;
        self.items_written += more.items_written;
        self.read_units.0 += more.read_units.0;
        self.write_units.0 += more.write_units.0;
        self.bytes_sent += more.bytes_sent;
        self.bytes_received += more.bytes_received;
    }
}

/// What a response says of its consumption. All else is skipped, so that the counting process keeps no copy of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Answer {
    consumed_capacity: Value,
    scanned_count: u64,
    item: Option<IgnoredAny>,
    responses: Option<Responses>,
}

/// The items of several reads: of a batch by table, of a transaction in a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Responses {
    Batch(BTreeMap<String, Vec<IgnoredAny>>),
    Transaction(Vec<IgnoredAny>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Request {
    transact_items: Vec<IgnoredAny>,
}

impl HalfUnits {
    /// The units that DynamoDB states, such as `12.5`; rounded up to a half, and zero if it states none.
    #[must_use]
    pub fn stated(consumed: &Value) -> Self {
        match consumed {
            Value::Array(tables) => Self(tables.iter().map(|table| Self::stated(table).0).sum()),
            Value::Object(table) => table.get("CapacityUnits").map_or(Self(0), Self::stated),
            Value::Number(number) => Self::parse(&number.to_string()),
            Value::Null | Value::Bool(_) | Value::String(_) => Self(0),
        }
    }

    fn parse(text: &str) -> Self {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let tenth = rest.bytes().next().map_or(0, |digit| u64::from(digit.saturating_sub(b'0')));
        Self(whole.parse::<u64>().unwrap_or(0) * 2 + tenth.div_ceil(5))
    }
}

impl Counts {
    /// What one call consumed, by its operation, its request and its response.
    #[must_use]
    pub fn of_call(operation: &str, request: &[u8], response: &[u8]) -> Self {
        let answer: Answer = serde_json::from_slice(response).unwrap_or_default();
        let (units, length) =
            (HalfUnits::stated(&answer.consumed_capacity), |items: &Vec<IgnoredAny>| items.len() as u64);
        let (bytes_sent, bytes_received) = (request.len() as u64, response.len() as u64);
        let counts = Self { calls: 1, bytes_sent, bytes_received, ..Self::default() };
        if operation == "TransactWriteItems" {
            let request: Request = serde_json::from_slice(request).unwrap_or_default();
            return Self { items_written: length(&request.transact_items), write_units: units, ..counts };
        }
        let items_read = match answer.responses {
            Some(Responses::Batch(tables)) => tables.values().map(length).sum(),
            Some(Responses::Transaction(items)) => length(&items),
            None => answer.scanned_count + u64::from(answer.item.is_some()),
        };
        Self { items_read, read_units: units, ..counts }
    }

    /// The counts that a series is judged by, by name. Units are in halves.
    #[must_use]
    pub fn judged(&self) -> [(&'static str, u64); 4] {
        [
            ("calls", self.calls),
            ("items", self.items_read + self.items_written),
            ("half read units", self.read_units.0),
            ("half write units", self.write_units.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn units_are_read_in_halves_and_summed_over_tables() {
        let stated = |units: Value| HalfUnits::stated(&units).0;
        assert_eq!(stated(json!({"TableName": "t", "CapacityUnits": 12.5})), 25);
        assert_eq!(stated(json!([{"CapacityUnits": 2.0}, {"CapacityUnits": 0.5}])), 5);
        assert_eq!((stated(json!(3)), stated(json!(0.1)), stated(json!(1.7)), stated(json!(null))), (6, 1, 4, 0));
    }

    fn of_call(operation: &str, request: &Value, response: &Value) -> Counts {
        Counts::of_call(operation, request.to_string().as_bytes(), response.to_string().as_bytes())
    }

    #[test]
    fn calls_are_counted_by_their_operation() {
        let write = json!({"TransactItems": [{}, {"Put": {}}, {}]});
        let units = json!({"ConsumedCapacity": [{"CapacityUnits": 6.0}]});
        let written = of_call("TransactWriteItems", &write, &units);
        assert_eq!((written.items_written, written.write_units, written.read_units), (3, HalfUnits(12), HalfUnits(0)));
        let page =
            json!({"Items": [{}, {}], "ScannedCount": 7, "Count": 2, "ConsumedCapacity": {"CapacityUnits": 1.5}});
        let read = of_call("Query", &json!({}), &page);
        assert_eq!((read.items_read, read.read_units, read.write_units), (7, HalfUnits(3), HalfUnits(0)));
        let read = |operation: &str, answer: Value| of_call(operation, &json!({}), &answer).items_read;
        assert_eq!(read("BatchGetItem", json!({"Responses": {"t": [{}, {}]}})), 2);
        assert_eq!(read("TransactGetItems", json!({"Responses": [{"Item": {}}, {}, {}]})), 3);
        assert_eq!((read("GetItem", json!({"Item": {}})), read("GetItem", json!({}))), (1, 0));
        let refused = of_call("TransactWriteItems", &write, &json!({"__type": "x"}));
        assert_eq!((refused.calls, refused.write_units), (1, HalfUnits(0)));
        assert_eq!((refused.bytes_sent, refused.bytes_received), (36, 14));
    }
}
