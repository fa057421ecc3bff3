//! Scans of the whole table: by the reconciliation, and by a migration that looks for legacy customers.

use super::request::{Request, ScanRequest};
use crate::dynamo::{Item, Value};
use crate::ids::Tenant;
use crate::keys::{GOD_RECORD, Key, attr};
use std::collections::BTreeMap;

/// How many items a page reads, before the filter.
pub const SCAN_PAGE_ITEMS: i32 = 1000;

/// A segment of the table, and how far it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    number: i32,
    of: i32,
    /// Where the page before ended.
    after: Option<Item>,
}

impl Segment {
    /// The whole table in this many segments, each from its beginning.
    #[must_use]
    pub fn all(of: u16) -> Vec<Self> {
        let of = i32::from(of.max(1));
        (0..of).map(|number| Self { number, of, after: None }).collect()
    }

    /// The same segment, from where a page ended.
    #[must_use]
    pub fn from(&self, after: Item) -> Self {
        Self { after: Some(after), ..self.clone() }
    }
}

/// Which items of a segment are the tenant's?
#[must_use]
pub fn table_segment(tenant: &Tenant, segment: &Segment) -> Request {
    Request::Scan(ScanRequest {
        segment: Some((segment.number, segment.of)),
        filter: "begins_with(#pk, :tenant)",
        projection: None,
        names: BTreeMap::from([("#pk".to_owned(), attr::PK.to_owned())]),
        values: Item::from([(":tenant".to_owned(), Value::S(format!("{tenant}#")))]),
        limit: SCAN_PAGE_ITEMS,
        start: segment.after.clone(),
        returns_capacity: true,
    })
}

/// Which customers of the tenant have a God Record, from the item after `after` on? An item that exists when its page
/// is read and existed when the first page was read is in the result.
#[must_use]
pub fn customers_with_god_record(tenant: &Tenant, after: Option<&Key>) -> Request {
    let names = [("#pk", attr::PK), ("#sk", attr::SK)];
    let start =
        |key: &Key| Item::from([(attr::PK.to_owned(), Value::s(key.pk())), (attr::SK.to_owned(), Value::s(key.sk()))]);
    Request::Scan(ScanRequest {
        segment: None,
        filter: "begins_with(#pk, :customers) AND #sk = :god_record",
        projection: Some("#pk, #sk"),
        names: names.map(|(name, attribute)| (name.to_owned(), attribute.to_owned())).into(),
        values: Item::from([
            (":customers".to_owned(), Value::S(format!("{tenant}#customer#"))),
            (":god_record".to_owned(), Value::s(GOD_RECORD)),
        ]),
        limit: SCAN_PAGE_ITEMS,
        start: after.map(start),
        returns_capacity: false,
    })
}
