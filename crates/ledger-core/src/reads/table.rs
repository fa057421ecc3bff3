//! Scans of the whole table, for reconciliation and for a migration's passes.

use super::request::{Request, ScanRequest};
use crate::dynamo::{Item, Value};
use crate::ids::Tenant;
use crate::keys::{GOD_RECORD, Key, attr, sk};
use std::collections::BTreeMap;

/// The number of items that a page reads, before the filter.
pub const SCAN_PAGE_ITEMS: i32 = 1000;

/// A segment of the table, with the position reached in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    number: i32,
    of: i32,
    /// Where the page before ended; `None` at the beginning.
    after: Option<Item>,
}

impl Segment {
    /// All segments of the table, each at its beginning. `of` is their number, at least 1.
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

/// The tenant's items in a segment.
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

/// The keys of the tenant's records in a segment that lists and searches find, but for cards.
#[must_use]
pub fn found_records(tenant: &Tenant, segment: &Segment) -> Request {
    let filter = "begins_with(#pk, :tenant) AND (#sk IN (:profile, :topup) OR begins_with(#sk, :acts))";
    let values = [
        (":tenant".to_owned(), Value::S(format!("{tenant}#"))),
        (":profile".to_owned(), Value::s("PROFILE")),
        (":topup".to_owned(), Value::s("TOPUP")),
        (":acts".to_owned(), Value::s(sk::AUDIT)),
    ];
    keys_of(segment, filter, values.into())
}

/// The keys of the tenant's cards in a segment.
#[must_use]
pub fn stored_cards(tenant: &Tenant, segment: &Segment) -> Request {
    let values = [(":cards".to_owned(), Value::S(format!("{tenant}#card#"))), (":card".to_owned(), Value::s("card"))];
    keys_of(segment, "begins_with(#pk, :cards) AND #sk = :card", values.into())
}

fn keys_of(segment: &Segment, filter: &'static str, values: Item) -> Request {
    let names = [("#pk", attr::PK), ("#sk", attr::SK)];
    Request::Scan(ScanRequest {
        segment: Some((segment.number, segment.of)),
        filter,
        projection: Some("#pk, #sk"),
        names: names.map(|(name, attribute)| (name.to_owned(), attribute.to_owned())).into(),
        values,
        limit: SCAN_PAGE_ITEMS,
        start: segment.after.clone(),
        returns_capacity: true,
    })
}

/// The God Records of the tenant's customers, from the item after `after` on.
///
/// An item that exists when the first page is read, and still when its own page is read, is in the result.
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
