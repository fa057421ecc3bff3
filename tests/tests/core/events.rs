//! Events match their schemas: those of every golden journal entry, of a run with breaks, and the stored examples.

use boon::{Compiler, SchemaIndex, Schemas};
use ledger_core::dynamo::{Attributes, Value};
use ledger_core::events::{
    Announcement, CONTACT_CHANGED_SCHEMA, DESTINATION_CHANGED_SCHEMA, Event, RECONCILIATION_BREAK_SCHEMA, SCHEMA,
    SIGN_IN_CHANGED_SCHEMA,
};
use ledger_core::ids::{AuditId, CustomerId, MerchantId, RunId, Tenant};
use ledger_core::keys::{Key, attr, sk};
use ledger_core::lease::Holder;
use ledger_core::memo;
use ledger_core::notices::{Contact, ContactFields, DestinationNotice, Notice, NoticeSubject};
use ledger_core::personal::Masked;
use ledger_core::reconcile::BreakKind;
use ledger_core::reconcile::run::{Run, RunState, Tally};
use ledger_core::time::Timestamp;
use ledger_tests::golden::vector;
use ledger_tests::wire;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

const SCHEMA_FILE: &str = include_str!("../../../events/v1/transaction.schema.json");
const EXAMPLE_FILE: &str = include_str!("../../../events/v1/transaction.example.json");
const BREAK_SCHEMA_FILE: &str = include_str!("../../../events/v1/reconciliation-break.schema.json");
const CONTACT_SCHEMA_FILE: &str = include_str!("../../../events/v1/contact-changed.schema.json");
const CONTACT_EXAMPLE_FILE: &str = include_str!("../../../events/v1/contact-changed.example.json");
const SIGN_IN_SCHEMA_FILE: &str = include_str!("../../../events/v1/sign-in-changed.schema.json");
const SIGN_IN_EXAMPLE_FILE: &str = include_str!("../../../events/v1/sign-in-changed.example.json");
const DESTINATION_SCHEMA_FILE: &str = include_str!("../../../events/v1/payout-destination-changed.schema.json");
const DESTINATION_EXAMPLE_FILE: &str = include_str!("../../../events/v1/payout-destination-changed.example.json");
const BREAK_EXAMPLE_FILE: &str = include_str!("../../../events/v1/reconciliation-break.example.json");
/// The largest entry that EventBridge accepts, in bytes.
const ENTRY_MAX: usize = 256 * 1024;

struct Checker {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Checker {
    fn of(id: &str, schema: Json) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        assert_eq!(schema["$id"], id);
        compiler.add_resource(id, schema).unwrap();
        let index = compiler.compile(id, &mut schemas).unwrap_or_else(|error| panic!("{error}"));
        Self { schemas, index }
    }

    /// The published schema, under which receivers ignore unknown fields.
    fn published() -> Self {
        Self::of(SCHEMA, serde_json::from_str(SCHEMA_FILE).unwrap())
    }

    /// The same schema, but unknown fields are refused.
    fn strict() -> Self {
        Self::closed(SCHEMA, SCHEMA_FILE)
    }

    fn closed(id: &str, file: &str) -> Self {
        let mut schema = serde_json::from_str(file).unwrap();
        close(&mut schema);
        Self::of(id, schema)
    }

    fn refuses(&self, event: &Json) -> Option<String> {
        self.schemas.validate(event, self.index).err().map(|error| error.to_string())
    }
}

fn close(schema: &mut Json) {
    match schema {
        Json::Object(object) => {
            if object.get("type") == Some(&json!("object")) && object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
            object.values_mut().for_each(close);
        }
        Json::Array(array) => array.iter_mut().for_each(close),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Every journal entry in the writes and states of golden vectors: the vector's id, the key and the item.
fn entries() -> Vec<(String, Key, ledger_core::dynamo::Item)> {
    let mut found = Vec::new();
    for file in vector::all() {
        let (id, vector) = (&file.id, file.vector());
        let put = vector.items.iter().map(|action| &action["Put"]["Item"]).filter(|item| item.is_object());
        for item in put.chain(&vector.case.given.state).map(wire::item_from_json) {
            let (pk, sort) = (item.text(attr::PK).unwrap(), item.text(attr::SK).unwrap());
            if sort.starts_with(sk::TXN) {
                let tenant = ledger_core::keys::tenant_of(pk).unwrap();
                found.push((id.clone(), Key::stored(&tenant, pk, sort).unwrap(), item));
            }
        }
    }
    found
}

fn event_of(key: &Key, item: &ledger_core::dynamo::Item) -> Json {
    let tenant: Tenant = ledger_core::keys::tenant_of(key.pk()).unwrap();
    let event = Event::of_entry("ecopay", &tenant, key, item).unwrap_or_else(|error| panic!("{key:?}: {error}"));
    serde_json::from_str(&event.body).unwrap()
}

#[test]
fn event_of_every_golden_entry_matches_the_schema() {
    let (strict, mut operations, mut links) = (Checker::strict(), BTreeSet::new(), BTreeSet::new());
    for (id, key, item) in entries() {
        let event = event_of(&key, &item);
        assert_eq!(strict.refuses(&event), None, "{id}: {event:#}");
        operations.insert(event["data"]["operation"].as_str().unwrap().to_owned());
        links.extend(event["data"].as_object().unwrap().keys().filter(|name| name.ends_with("_id")).cloned());
        // No personal data and no idempotency key. An actor may appear as the account that is posted to.
        let mut event = event;
        event["data"]["postings"] = json!([]);
        event["subject"] = json!(null);
        let memo = memo::text_of(&item).unwrap();
        let texts = ["actor", "principal", "requested_by", "idempotency_key"].map(|name| (name, item.get(name)));
        let texts = texts.into_iter().filter_map(|(name, value)| {
            let Some(Value::S(text)) = value else { return None };
            Some((name, text.clone()))
        });
        for (name, text) in texts.chain(memo.map(|text| ("memo", text))) {
            assert!(!event.to_string().contains(&format!("\"{text}\"")), "{id} publishes its {name}");
        }
    }
    assert!(operations.len() > 12, "{operations:?}");
    let all = [
        "adjustment_id",
        "bank_file_id",
        "merchant_id",
        "payment_id",
        "refund_id",
        "settlement_id",
        "topup_id",
        "transaction_id",
    ];
    assert_eq!(links, all.map(str::to_owned).into());
}

#[test]
fn example_event_matches_the_schema() {
    let example: Json = serde_json::from_str(EXAMPLE_FILE).unwrap();
    assert_eq!(Checker::strict().refuses(&example), None);
    assert_eq!(Checker::published().refuses(&example), None);
}

/// Receivers may validate events: additions within version 1 are valid, breaking changes are not.
#[test]
fn schema_accepts_additions_and_refuses_breaking_changes() {
    let published = Checker::published();
    let example: Json = serde_json::from_str(EXAMPLE_FILE).unwrap();
    let with = |pointer: &str, value: Json| {
        let mut event = example.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = event.pointer_mut(parent).unwrap();
        match parent {
            Json::Object(object) => {
                object.insert(name.to_owned(), value);
            }
            other => panic!("{other}"),
        }
        event
    };
    for (pointer, value) in [
        ("/traceparent", json!("00-x")),
        ("/data/new", json!(1)),
        ("/data/postings/0/new", json!(1)),
        ("/data/operation", json!("capture")),
        ("/data/postings/0/delta", json!("-0.125")),
    ] {
        assert_eq!(published.refuses(&with(pointer, value)), None, "{pointer}");
    }
    for (pointer, value) in [
        ("/id", json!(1)),
        ("/type", json!("ecopay.ledger.transaction.v2")),
        ("/specversion", json!("0.3")),
        ("/subject", json!("staff:019aa000-0000-7000-8000-000000000071")),
        ("/time", json!("2026-11-21 03:00:00")),
        ("/data", json!(null)),
        ("/data/postings", json!([])),
        ("/data/payment_id", json!("p-1")),
        ("/data/postings/0/delta", json!(-1240)),
        ("/data/postings/0/delta", json!("-1240.0")),
        ("/data/postings/0/delta", json!("1e3")),
        ("/data/postings/0/bucket", json!("reserved")),
        ("/data/postings/0/account", json!("Hanako")),
    ] {
        assert!(published.refuses(&with(pointer, value.clone())).is_some(), "{pointer} {value}");
    }
}

fn run(breaks: &[(BreakKind, i64)], file: &str) -> Run {
    let time = |text: &str| Timestamp::parse(text).unwrap();
    let breaks = breaks.iter().copied().collect();
    Run {
        id: RunId::parse("019aa000-0000-7000-8000-0000000000c1").unwrap(),
        state: RunState::Breaks,
        requested_by: None,
        created_at: time("2026-11-21T18:00:00.000Z"),
        holder: Holder { fence: 1, lease_until: time("2026-11-21T18:06:00.000Z") },
        began_at: Some(time("2026-11-21T18:00:01.000Z")),
        finished_at: Some(time("2026-11-21T18:04:10.000Z")),
        tally: Tally { breaks, file: Some(file.to_owned()), ..Tally::default() },
    }
}

#[test]
fn event_of_breaks_matches_its_schema() {
    let strict = Checker::closed(RECONCILIATION_BREAK_SCHEMA, BREAK_SCHEMA_FILE);
    let tenant = Tenant::parse("demo").unwrap();
    let found = [(BreakKind::BalanceDiffers, 2), (BreakKind::EntryMissing, 1)];
    let some = run(&found, "demo/reconciliation-019aa000-0000-7000-8000-0000000000c1.jsonl");
    let event = Announcement::of_breaks("ecopay", &tenant, &some).envelope().unwrap();
    assert_eq!(event, serde_json::from_str::<Json>(BREAK_EXAMPLE_FILE).unwrap(), "{event:#}");
    assert_eq!(strict.refuses(&event), None);
    let unreported = Run { tally: Tally { file: None, ..some.tally.clone() }, ..some.clone() };
    let event = Announcement::of_breaks("ecopay", &tenant, &unreported).envelope().unwrap();
    assert_eq!((strict.refuses(&event), &event["detail"]["report"]), (None, &json!(null)));

    // The largest event: every kind with the largest count, and the longest names.
    let all: Vec<_> = BreakKind::ALL.iter().map(|kind| (*kind, i64::MAX)).collect();
    let (ledger, tenant) = ("l".repeat(255), Tenant::parse(&"t".repeat(32)).unwrap());
    let largest = Announcement::of_breaks(&ledger, &tenant, &run(&all, &"f".repeat(1024)));
    assert_eq!(strict.refuses(&largest.envelope().unwrap()), None);
    assert!(largest.detail.len() < ENTRY_MAX / 32, "{}", largest.detail.len());

    let nothing = Announcement::of_breaks("ecopay", &Tenant::parse("demo").unwrap(), &run(&[], "f"));
    assert!(strict.refuses(&nothing.envelope().unwrap()).is_some(), "a run without breaks has no event");
}

#[test]
fn events_of_changed_addresses_match_their_schemas_and_have_no_address() {
    let tenant = Tenant::parse("demo").unwrap();
    let notice = |subject| Notice {
        id: AuditId::parse("019aa000-0000-7000-8000-000000000091").unwrap(),
        subject,
        at: Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap(),
        is_due: true,
    };
    let previous = Contact { email: Some(Masked::new("old@example.jp".to_owned())), phone: None };
    let customer = CustomerId::parse("019a0000-0000-7000-8000-00000000000a").unwrap();
    let changed = ContactFields { email: true, phone: true };
    let sign_in = notice(NoticeSubject::SignIn { customer, contact: previous.clone() });
    let contact = notice(NoticeSubject::Contact { customer, changed, previous });
    let merchant = MerchantId::parse("019a0000-0000-7000-8000-0000000000e1").unwrap();
    let paid_from = Timestamp::parse("2026-11-22T03:00:00.000Z").unwrap();
    let change = DestinationNotice { from: None, to: Masked::new("old@0009-123-****567".to_owned()), paid_from };
    let destination = notice(NoticeSubject::Destination { merchant, change });
    for (notice, schema, file, example) in [
        (contact, CONTACT_CHANGED_SCHEMA, CONTACT_SCHEMA_FILE, CONTACT_EXAMPLE_FILE),
        (sign_in, SIGN_IN_CHANGED_SCHEMA, SIGN_IN_SCHEMA_FILE, SIGN_IN_EXAMPLE_FILE),
        (destination, DESTINATION_CHANGED_SCHEMA, DESTINATION_SCHEMA_FILE, DESTINATION_EXAMPLE_FILE),
    ] {
        let event = Announcement::of_notice("ecopay", &tenant, &notice).envelope().unwrap();
        assert_eq!(event, serde_json::from_str::<Json>(example).unwrap(), "{event:#}");
        assert_eq!(Checker::closed(schema, file).refuses(&event), None);
        assert!(!event.to_string().contains("old@"), "{event}");
    }
    let mut without: Json = serde_json::from_str(DESTINATION_EXAMPLE_FILE).unwrap();
    without["detail"].as_object_mut().unwrap().remove("paid_from");
    let strict = Checker::closed(DESTINATION_CHANGED_SCHEMA, DESTINATION_SCHEMA_FILE);
    assert!(strict.refuses(&without).is_some(), "a changed destination is paid to from a time");
}
