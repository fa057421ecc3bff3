use super::*;
use crate::dynamo::{AttributeKind, ItemError, Value as V};
use crate::ids::CustomerId;
use crate::keys::{Partition, Shards};
use crate::memo::Memo;
use crate::personal::FreeText;
use crate::transaction::RenderedAction;
use serde_json::Value as Json;

const PAYER: &str = "019a0000-0000-7000-8000-00000000000a";
const MERCHANT: &str = "019a0000-0000-7000-8000-000000000031";
const ENTRY: &str = "019aa000-0000-7000-8000-000000000071";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn key() -> Key {
    let home = Partition::customer(&tenant(), CustomerId::parse(PAYER).unwrap());
    home.entry(TransactionId::parse(ENTRY).unwrap())
}

fn side(account: &str, delta: &str) -> V {
    let side = [("account", V::s(account)), ("asset", V::s("ECOPAY")), ("delta", V::N(delta.to_owned()))];
    V::M(side.map(|(name, value)| (name.to_owned(), value)).into())
}

/// A payment as stored, with every attribute that must not be published.
fn entry() -> Item {
    let postings = vec![side(&format!("customer:{PAYER}"), "-1240"), side(&format!("merchant:{MERCHANT}"), "1240")];
    let texts = [
        ("uuid", key().pk().to_owned()),
        ("type", key().sk().to_owned()),
        ("transaction_id", ENTRY.to_owned()),
        ("operation", "pay".to_owned()),
        ("principal", format!("customer:{PAYER}")),
        ("actor", "staff:019a0000-0000-7000-8000-000000000051".to_owned()),
        ("idempotency_key", "k-secret".to_owned()),
        ("created_at", "2026-11-21T03:00:00.000Z".to_owned()),
        ("payment_id", "019aa000-0000-7000-8000-000000000081".to_owned()),
        ("merchant_id", MERCHANT.to_owned()),
        ("psp_id", "pi_123".to_owned()),
        ("requested_by", "019a0000-0000-7000-8000-000000000052".to_owned()),
        ("_due_pk", "demo#due#publish#1".to_owned()),
        ("_due_sk", ENTRY.to_owned()),
    ];
    let mut item: Item = texts.into_iter().map(|(name, text)| (name.to_owned(), V::S(text))).collect();
    item.insert("postings".to_owned(), V::L(postings));
    item.extend(Memo::new(&FreeText::parse("for Hanako, 090-1234-5678", 140).unwrap(), [7; 16]).attributes());
    item
}

fn event_of(item: &Item) -> Result<Event, Unpublishable> {
    Event::of_entry("ecopay", &tenant(), &key(), item)
}

#[test]
fn payment_event_equals_the_example() {
    let event = event_of(&entry()).unwrap();
    let example = include_str!("../../../../events/v1/transaction.example.json");
    let example: Json = serde_json::from_str(example).unwrap();
    assert_eq!(serde_json::from_str::<Json>(&event.body).unwrap(), example);
    assert_eq!((event.id.to_string().as_str(), event.group), (ENTRY, format!("demo#customer:{PAYER}")));
}

#[test]
fn event_has_no_personal_data_and_no_key() {
    let body = event_of(&entry()).unwrap().body;
    for secret in ["Hanako", "090", "k-secret", "staff", "000000000051", "000000000052", "pi_123", "due"] {
        assert!(!body.contains(secret), "{secret}: {body}");
    }
}

#[test]
fn ledger_name_with_a_slash_stays_one_segment_of_the_source() {
    let event = Event::of_entry("a/b ü", &tenant(), &key(), &entry()).unwrap();
    let body: Json = serde_json::from_str(&event.body).unwrap();
    assert_eq!(body["source"], "/ledgers/a%2Fb+%C3%BC/tenants/demo");
}

#[test]
fn group_fits_the_queue_limit() {
    let widest = Tenant::parse(&"t".repeat(32)).unwrap();
    let group = group(&widest, Account::Customer(CustomerId::parse(PAYER).unwrap()));
    assert!(group.len() <= 128 && group.bytes().all(|b| b.is_ascii_graphic()), "{group}");
}

#[test]
fn unpublishable_entry_gives_reason_without_content() {
    let unreadable = |attribute: &str| Unpublishable::Unreadable(ItemError::invalid(attribute));
    let no_text = |name: &str| Unpublishable::Unreadable(ItemError::wrong_type(name, AttributeKind::Text));
    let other = "019aa000-0000-7000-8000-000000000072";
    let lone = V::L(vec![side(&format!("customer:{PAYER}"), "-1240")]);
    let unreadable_postings = V::L(vec![side("customer:Hanako", "-1"), side("fees", "1")]);
    for (name, value, why) in [
        ("transaction_id", V::s(other), Unpublishable::OtherId),
        ("transaction_id", V::s("090-1234-5678"), unreadable("transaction_id")),
        ("created_at", V::int(1), no_text("created_at")),
        ("postings", V::L(Vec::new()), Unpublishable::Unbalanced),
        ("postings", lone, Unpublishable::Unbalanced),
        ("postings", unreadable_postings, unreadable("account")),
        ("payment_id", V::int(1), no_text("payment_id")),
        ("topup_id", V::s("090-1234-5678"), unreadable("topup_id")),
    ] {
        let mut item = entry();
        item.insert(name.to_owned(), value);
        let error = event_of(&item).unwrap_err();
        assert_eq!(error, why, "{name}");
        assert!(!error.to_string().contains("090-") && !error.to_string().contains("Hanako"), "{error}");
    }
    let config_key = Key::stored(&tenant(), "demo#tenant#root", "CONFIG").unwrap();
    assert_eq!(Event::of_entry("ecopay", &tenant(), &config_key, &entry()), Err(Unpublishable::NoEntry));
}

#[test]
fn dead_letter_has_a_reference_and_no_content() {
    let letter = DeadLetter { tenant: tenant(), key: key(), why: "a \"reason\"".to_owned() };
    let text: Json = serde_json::from_str(&letter.text()).unwrap();
    let entry = json!({"pk": format!("demo#customer#{PAYER}"), "sk": format!("TXN#{ENTRY}")});
    assert_eq!(text, json!({"tenant": "demo", "entry": entry, "why": "a \"reason\""}));
}

#[test]
fn publishing_marks_due_entries_and_changes_nothing_else() {
    let other = Key::stored(&tenant(), "demo#tenant#root", "CONFIG").unwrap();
    let transaction = published(&tenant(), &[key(), other], Shards::ONE).unwrap();
    let updates = transaction.items().iter().map(|item| {
        let rendered = item.render().unwrap();
        assert_eq!(rendered.condition.as_deref(), Some("attribute_exists(#uuid)"));
        let RenderedAction::Update(_, update) = rendered.action else { panic!("an update") };
        (update, rendered.values.get(":due_sk").cloned())
    });
    let moved = ("SET #_due_pk = :due_pk, #_due_sk = :due_sk".to_owned(), Some(V::S(format!("{ENTRY}#published"))));
    assert_eq!(updates.collect::<Vec<_>>(), [moved, ("REMOVE #_due_pk, #_due_sk".to_owned(), None)]);
    assert!(published(&tenant(), &[], Shards::ONE).is_err());
    assert!(published(&tenant(), &[key(), key()], Shards::ONE).is_err());
}
