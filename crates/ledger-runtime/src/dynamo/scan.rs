//! The one place that reads a whole table: in segments, consistently, and saying what it costs.

use super::reads::{ReadError, Readable, read_error};
use super::{Dynamo, convert};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{GOD_RECORD, Key, attr};
use std::collections::HashMap;

/// How many items are read at a time.
const PAGE: i32 = 1000;

/// Where a segment of the table is read on.
#[derive(Clone, Debug)]
pub struct Segment {
    number: i32,
    of: i32,
    after: Option<HashMap<String, AttributeValue>>,
}

/// Items of a tenant.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The items.
    pub items: Vec<Readable>,
    /// How many items were looked at, those of other tenants among them.
    pub seen: u64,
    /// The read units that it took, rounded up.
    pub units: u64,
    /// Where to read on; `None` at the segment's end.
    pub next: Option<Segment>,
}

impl Segment {
    /// The whole table in so many segments, each from its beginning.
    #[must_use]
    pub fn all(of: u16) -> Vec<Self> {
        let of = i32::from(of.max(1));
        (0..of).map(|number| Self { number, of, after: None }).collect()
    }
}

/// Customers of a tenant who have a God Record.
#[derive(Clone, Debug)]
pub struct ScannedCustomers {
    /// The customers.
    pub customers: Vec<CustomerId>,
    /// After which item to read on; `None` at the table's end.
    pub next: Option<Key>,
}

impl Dynamo {
    /// A page of the table, of which only a tenant's customers with a God Record are handed over. Whoever has one when
    /// the first page is read, and still when their page is read, is on one.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known: the same page can be read again.
    pub async fn scan_customers(&self, tenant: &Tenant, after: Option<&Key>) -> Result<ScannedCustomers, ReadError> {
        let pk = format!("{}#customer#", tenant.as_str());
        let answer = self
            .client
            .scan()
            .table_name(&*self.table)
            .consistent_read(true)
            .limit(PAGE)
            .set_exclusive_start_key(after.map(convert::key_to_sdk))
            .filter_expression("begins_with(#pk, :customers) AND #sk = :god_record")
            .projection_expression("#pk, #sk")
            .expression_attribute_names("#pk", attr::PK)
            .expression_attribute_names("#sk", attr::SK)
            .expression_attribute_values(":customers", AttributeValue::S(pk))
            .expression_attribute_values(":god_record", AttributeValue::S(GOD_RECORD.to_owned()))
            .send()
            .await
            .map_err(read_error)?;
        let keys = |item: HashMap<String, AttributeValue>| convert::key_from_sdk(&item);
        let found = answer.items.unwrap_or_default().into_iter().filter_map(keys);
        Ok(ScannedCustomers {
            customers: found.filter_map(|key| key.customer()).collect(),
            next: answer.last_evaluated_key.filter(|key| !key.is_empty()).as_ref().and_then(convert::key_from_sdk),
        })
    }

    /// A page of a segment, of which only a tenant's items are handed over.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known: the same page can be read again.
    pub async fn scan_page(&self, segment: &Segment, tenant: &Tenant) -> Result<Scanned, ReadError> {
        let answer = self
            .client
            .scan()
            .table_name(&*self.table)
            .consistent_read(true)
            .segment(segment.number)
            .total_segments(segment.of)
            .limit(PAGE)
            .set_exclusive_start_key(segment.after.clone())
            .filter_expression("begins_with(#pk, :tenant)")
            .expression_attribute_names("#pk", attr::PK)
            .expression_attribute_values(":tenant", AttributeValue::S(format!("{}#", tenant.as_str())))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(read_error)?;
        let seen = u64::try_from(answer.scanned_count).unwrap_or_default();
        let items: Vec<Readable> = answer.items.unwrap_or_default().into_iter().map(convert::readable).collect();
        let units = answer.consumed_capacity.and_then(|used| used.capacity_units).map(rounded_up);
        let next = answer.last_evaluated_key.filter(|key| !key.is_empty());
        let next = next.map(|after| Segment { after: Some(after), ..segment.clone() });
        // A store that does not say is taken at one unit an item, which small items are.
        Ok(Scanned { items, seen, units: units.unwrap_or(seen), next })
    }
}

/// Units as the SDK has them, which is no money of anybody's.
fn rounded_up(units: impl std::fmt::Display) -> u64 {
    let text = units.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse::<u64>().unwrap_or_default();
    whole.saturating_add(u64::from(rest.bytes().any(|digit| digit != b'0')))
}
