//! One story under version 4 of the records, where entries are in the full form, and under version 5, where they are in
//! the compact form: answers, histories, totals, the audit trail and events are the same.
use ledger_core::terms::RecordVersion;
use ledger_core::time::Timestamp;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The length of an id, and of an instant.
const ID: usize = 36;
const INSTANT: usize = 24;

/// What a story showed, with ids numbered in the order in which they were first seen, and without instants.
#[derive(Default)]
struct Shown {
    tenant: String,
    /// The deployment, which is another for each story unless all run on the embedded engine.
    ledger: String,
    ids: Vec<String>,
    texts: Vec<String>,
}

impl Shown {
    fn see(&mut self, what: &str, json: &Value) {
        let text = format!("{what}: {}", self.neutral(&json.to_string()));
        self.texts.push(text);
    }

    fn unnamed(&self, text: &str) -> String {
        text.replace(&self.tenant, "tenant").replace(&self.ledger, "ledger")
    }

    /// The text without what differs between two runs of one story.
    fn neutral(&mut self, text: &str) -> String {
        let (mut rest, mut neutral) = (self.unnamed(text), String::new());
        while !rest.is_empty() {
            let is_id = rest.get(..ID).is_some_and(|id| uuid::Uuid::try_parse(id).is_ok() && id.contains('-'));
            let is_instant = rest.get(..INSTANT).is_some_and(|at| at.starts_with("20") && Timestamp::parse(at).is_ok());
            let length = if is_id {
                let id = rest[..ID].to_owned();
                let number = self.ids.iter().position(|seen| *seen == id).unwrap_or_else(|| {
                    self.ids.push(id);
                    self.ids.len() - 1
                });
                neutral.push_str(&format!("id {number}"));
                ID
            } else if is_instant {
                neutral.push_str("an instant");
                INSTANT
            } else {
                let first = rest.chars().next().expect("a character");
                neutral.push(first);
                first.len_utf8()
            };
            rest.drain(..length);
        }
        neutral
    }
}

/// The compact and the full entries and references of the books.
async fn forms(world: &World) -> [usize; 2] {
    let books = world.check_books().await;
    let lines = books.under("TXN").map(|(pk, sk, _)| books.stored(pk, sk).expect("the row").contains_key("v"));
    let (compact, full): (Vec<bool>, Vec<bool>) = lines.partition(|is_compact| *is_compact);
    [compact.len(), full.len()]
}

async fn story(tenant: &str, records: RecordVersion) -> (Shown, [usize; 2]) {
    let stage = Stage::new(World::of_records(tenant, records).await).await;
    let Stage { world, merchant, terminal } = &stage;
    let ledger = world.app.config().ledger.clone();
    let mut shown = Shown { tenant: tenant.to_owned(), ledger, ..Shown::default() };
    let (a, b) = (world.customer_with("9000").await, world.customer_with("10").await);
    shown.see("parties", &json!([a.id, b.id, merchant.id, terminal.id, world.operator.id]));
    world.grant(&a, "POINT", "1000").await;
    world.grant(&a, "REGIONAL#aoba", "2000").await;
    let three = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"},
        "memo": "環境ポイントで支払い"});
    let paid = world.api.settle(&Call::post("/v1/me/payments", &a.who, &three).key(new_key())).await.good();
    let payment = paid.text("/payment_id");
    let held = world.api.settle(&merchant.authorizes(&a.code(world).await, "300")).await.good();
    let hold = held.text("/payment_id");
    let mut answers = vec![paid, held];
    answers.push(world.api.settle(&merchant.refunds(&payment, "1000").field("reason", "short weight")).await.good());
    answers.push(world.api.settle(&merchant.captures(&hold, Some("200"))).await.good());
    answers.push(world.api.settle(&merchant.charges(&a.code(world).await, "70")).await.good());
    answers.push(world.api.settle(&a.sends(&b, "500").field("memo", "lunch")).await.good());
    let voided = world.api.settle(&merchant.authorizes(&a.code(world).await, "40")).await.good().text("/payment_id");
    answers.push(world.api.settle(&merchant.voids(&voided)).await.good());
    // At a terminal: loaded, paid, refunded, and reversed.
    let (card, by_card, of_card) = stage.paid_by_card("600").await;
    let refund = terminal.does("refund", &card, &json!({"payment_id": of_card, "amount": "100"}));
    answers.push(world.api.settle(&refund).await.good());
    let again = terminal.does("pay", &card, &json!({"amount": "50"}));
    answers.push(world.api.settle(&again).await.good());
    answers.push(world.api.settle(&terminal.reverses("card_pay", &again)).await.good());
    // Each key replays its own response.
    answers.push(world.api.send(&by_card).await.good());
    for answer in &answers {
        shown.see("answer", &answer.json());
    }
    let mut lines = BTreeSet::new();
    let all_of_a = "/v1/me/transactions?limit=100";
    let paths = [
        (all_of_a, &a.who),
        ("/v1/me/transactions?limit=3", &a.who),
        ("/v1/me/transactions", &b.who),
        ("/v1/me/balances", &a.who),
        ("/v1/merchant/balances", &merchant.who),
        ("/v1/merchant/payments", &merchant.who),
        ("/v1/terminal/totals", &terminal.who),
    ];
    for (path, who) in paths {
        let mut page = world.api.send(&Call::get(path, who)).await.good().json();
        if let Some(cursor) = page["next_cursor"].as_str() {
            let next = world.api.send(&Call::get(&format!("{path}&cursor={cursor}"), who)).await.good().json();
            shown.see("next page", &next["items"]);
            page["next_cursor"] = json!("another in each story");
        }
        for line in page["items"].as_array().into_iter().flatten().filter(|_| path == all_of_a) {
            lines.extend(line["transaction_id"].as_str().map(str::to_owned));
        }
        shown.see(path, &page);
    }
    for line in lines {
        let one = world.api.send(&Call::get(&format!("/v1/me/transactions/{line}"), &a.who)).await.good();
        shown.see("line", &one.json());
    }
    for resource in [format!("payment:{payment}"), format!("payment:{hold}"), format!("payment:{of_card}")] {
        let trail =
            world.api.send(&Call::get(&format!("/v1/admin/audit?resource={resource}"), &world.operator.who)).await;
        let mut trail = trail.good().json();
        for record in trail["items"].as_array_mut().expect("records") {
            let record = record.as_object_mut().expect("a record");
            let _ = record.remove("sealed");
        }
        shown.see("trail", &trail);
    }
    let forms = forms(world).await;
    let tap = EventTap::default();
    while world.publish(&tap, Vec::new()).await.expect("published").published > 0 {}
    let mut delivered: Vec<String> = tap.delivered().iter().map(|event| shown.neutral(&event.body)).collect();
    delivered.sort();
    delivered.dedup();
    shown.texts.extend(delivered);
    (shown, forms)
}

#[tokio::test]
async fn both_forms_of_entries_show_the_same() {
    let (full, in_full) = Box::pin(story("full-entries", RecordVersion::V4)).await;
    let (compact, in_compact) = Box::pin(story("compact-entries", RecordVersion::V5)).await;
    assert_eq!((in_full[0], in_compact[1]), (0, 0), "{in_full:?} {in_compact:?}");
    assert_eq!(in_full[1], in_compact[0]);
    assert!(in_compact[0] > 20, "{in_compact:?}");
    for (full, compact) in full.texts.iter().zip(&compact.texts) {
        assert_eq!(full, compact);
    }
    assert_eq!(full.texts.len(), compact.texts.len());
}
