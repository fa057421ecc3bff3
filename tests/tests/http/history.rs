//! A customer's history in two formats: each line once, newest first, at every page size, and each under its path.
use ledger_core::ids::TransactionId;
use ledger_core::migration::{Concern, Model, Stage};
use ledger_core::time::Timestamp;
use ledger_runtime::cursor::Cursor;
use ledger_tests::audit::{n, s, text};
use ledger_tests::http::books::{null, set_of};
use ledger_tests::http::migrating::phase_of;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, Customer, Merchant, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

/// An instant in the legacy system, in milliseconds: 2023-11-14T22:13:20.000Z.
const THEN: i64 = 1_700_000_000_000;
/// The number of lines that the legacy system wrote.
const LEGACY_LINES: usize = 9;
/// The number of lines that the ledger wrote.
const LEDGER_LINES: usize = 4;

/// A legacy customer, with lines of the legacy system and of the ledger.
struct LegacyHistory {
    world: World,
    customer: Customer,
    shop: Merchant,
}

impl LegacyHistory {
    async fn create(tenant: &str, stage: Stage) -> Self {
        let world = World::migrating(tenant, phase_of(Model::GodRecord, Concern::History, stage)).await;
        let shop = world.merchant().await;
        let customer = world.legacy_customer(&[("balance", n(5000))], &[]).await;
        let this = Self { world, customer, shop };
        // Two separate lines, then several of one millisecond, and some of the next.
        let lines =
            [(-7, "grant"), (-1, "pay"), (0, "a"), (0, "b"), (0, "c"), (0, "d"), (0, "e"), (1, "pay"), (1, "refund")];
        for (later, operation) in lines {
            this.plant_line(THEN + later, operation).await;
        }
        // The opening balance, and three payments.
        for _ in 1..LEDGER_LINES {
            let _ = this.world.api.settle(&this.customer.pays(&this.shop, "10")).await.good();
        }
        this
    }

    async fn plant_line(&self, millis: i64, operation: &str) {
        let own = [
            ("amount", n(-5)),
            ("memo", s(format!("{millis} {operation}"))),
            // The legacy system has other ids, and types that the ledger never writes.
            ("transaction_id", s(format!("L-{millis}"))),
            ("tags", set_of(s("a"))),
            ("nothing", null()),
        ];
        self.world.plant_of(&self.customer, &format!("history#{millis}#{operation}"), &own).await;
    }

    async fn page(&self, query: &str) -> Value {
        let path = format!("/v1/me/transactions?{query}");
        self.world.api.send(&Call::get(&path, &self.customer.who)).await.good().json()
    }

    /// All lines, read in pages of `limit`.
    async fn paged(&self, limit: usize) -> Vec<Value> {
        let (mut lines, mut query) = (Vec::new(), format!("limit={limit}"));
        loop {
            let page = self.page(&query).await;
            let items = page["items"].as_array().expect("items");
            lines.extend(items.iter().cloned());
            let Some(cursor) = page.get("next_cursor") else { return lines };
            assert_eq!(items.len(), limit, "a page that is followed by another is full");
            query = format!("limit={limit}&cursor={}", cursor.as_str().expect("a cursor"));
        }
    }

    fn by_id(&self, id: &str) -> Call {
        Call::get(&format!("/v1/me/transactions/{id}"), &self.customer.who)
    }

    /// Asserts that each line is listed once, newest first, at every page size, and found by its id.
    async fn assert_listed_once(&self, why: &str, legacy_lines: usize) -> Vec<Value> {
        let whole = self.paged(100).await;
        let ids: Vec<&str> = whole.iter().map(|line| line["transaction_id"].as_str().expect("an id")).collect();
        assert!(ids.is_sorted_by(|a, b| a > b), "{why}: {ids:?}");
        assert_eq!(whole.len(), legacy_lines + LEDGER_LINES, "{why}: {whole:?}");
        let memos: BTreeSet<&str> = whole.iter().filter_map(|line| line["memo"].as_str()).collect();
        assert_eq!(memos.len(), legacy_lines, "{why}: {memos:?}");
        let instants: Vec<&str> = whole.iter().map(|line| line["created_at"].as_str().expect("an instant")).collect();
        assert!(instants.is_sorted_by(|a, b| a >= b), "{why}: {instants:?}");
        for limit in 1..=whole.len() {
            assert_eq!(self.paged(limit).await, whole, "{why}: {limit} at a time");
        }
        for line in &whole {
            let call = self.by_id(line["transaction_id"].as_str().expect("an id"));
            assert_eq!(self.world.api.send(&call).await.good().json(), *line, "{why}");
        }
        whole
    }
}

#[tokio::test]
async fn history_in_two_formats_is_listed_once_at_every_stage() {
    for stage in [Stage::LegacyOnly, Stage::DualWrite, Stage::Backfilled, Stage::ReadNew] {
        let tenant = format!("lines-{}", stage.name().replace('_', "-"));
        let history = LegacyHistory::create(&tenant, stage).await;
        let books = history.world.check_books().await;
        let written = books.under("history#").filter(|(_, _, row)| !text(row, "transaction_id").starts_with("L-"));
        assert_eq!(written.count(), LEDGER_LINES, "{tenant}: both formats are written");
        let before = history.assert_listed_once(&tenant, LEGACY_LINES).await;
        // References to legacy lines do not change what is listed.
        for name in
            [format!("history#{}#c", THEN), format!("history#{}#pay", THEN - 1), format!("history#{}#refund", THEN + 1)]
        {
            history.world.plant_reference(&history.customer, &name).await;
        }
        assert_eq!(history.assert_listed_once(&format!("{tenant}, with references"), LEGACY_LINES).await, before);
        let unknown = TransactionId::of_step(Uuid::nil(), "unknown", Timestamp::from_millis(THEN));
        let _ = history.world.api.send(&history.by_id(&unknown.to_string())).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn history_in_last_stage_is_read_from_the_new_format_alone() {
    let history = LegacyHistory::create("lines-new-only", Stage::NewOnly).await;
    for name in ["a", "b", "e"] {
        history.world.plant_reference(&history.customer, &format!("history#{THEN}#{name}")).await;
    }
    let _ = history.assert_listed_once("new only", 3).await;
    let _ = history.world.check_books().await;
}

#[tokio::test]
async fn lines_without_an_instant_are_not_listed() {
    // Lines without an instant are not listed, and a page after a cursor of long ago is empty.
    let history = LegacyHistory::create("lines-undated", Stage::LegacyOnly).await;
    for name in ["history#", "history#yesterday#pay", "history#pay"] {
        history.world.plant_of(&history.customer, name, &[("amount", n(1))]).await;
    }
    let whole = history.assert_listed_once("without instants", LEGACY_LINES).await;
    let first = Timestamp::from_millis(5);
    let long_ago = TransactionId::of_step(Uuid::nil(), "long ago", first);
    let cursor = Cursor::after(long_ago.uuid());
    let page = history.page(&format!("limit=5&cursor={cursor}")).await;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(0), "{page}");
    // Another customer of the tenant does not see them.
    let other = history.world.customer().await;
    let own = history.world.api.send(&Call::get("/v1/me/transactions?limit=100", &other.who)).await.good().json();
    assert_eq!(own["items"].as_array().map(Vec::len), Some(0), "{own}");
    for line in &whole {
        let path = format!("/v1/me/transactions/{}", line["transaction_id"].as_str().expect("an id"));
        let _ = history.world.api.send(&Call::get(&path, &other.who)).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn staff_lists_the_same_history_as_the_customer_and_that_of_a_card_and_gets_a_payment() {
    let world = World::new("staff-histories").await;
    let shop = world.merchant().await;
    let (customer, other) = (world.customer_with("100").await, world.customer().await);
    let card = world.card(None, "50").await;
    for amount in ["1", "2", "3"] {
        let _ = world.api.settle(&customer.pays(&shop, amount)).await.good();
    }
    let list = async |path: String, who| world.api.send(&Call::get(&path, who)).await.good().json();
    let staff = &world.operator.who;
    let of_customer = format!("/v1/admin/customers/{}/transactions", customer.id);
    let own = list("/v1/me/transactions".to_owned(), &customer.who).await;
    assert_eq!(list(of_customer.clone(), staff).await, own);
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items");
        items.iter().map(|line| line["transaction_id"].as_str().expect("an id").to_owned()).collect()
    };
    let first = list(format!("{of_customer}?limit=2"), staff).await;
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let rest = list(format!("{of_customer}?cursor={cursor}"), staff).await;
    assert_eq!([ids(&first), ids(&rest)].concat(), ids(&own));
    let payment = own["items"][0]["payment_id"].as_str().expect("an id");
    let by_staff = list(format!("/v1/admin/payments/{payment}"), staff).await;
    assert_eq!(by_staff, list(format!("/v1/merchant/payments/{payment}"), &shop.who).await);
    let of_card = list(format!("/v1/admin/cards/{card}/transactions"), staff).await;
    assert_eq!(of_card["items"][0]["changes"], json!({"ECOPAY": "50"}), "{of_card}");
    let none = list(format!("/v1/admin/customers/{}/transactions", other.id), staff).await;
    assert_eq!(none["items"], json!([]), "an account without transactions");
    for path in ["customers/<id>/transactions", "cards/<id>/transactions", "payments/<id>"] {
        // The id of an account of another kind, and one that does not exist.
        for id in [&shop.id, &new_id()] {
            let call = Call::get(&format!("/v1/admin/{path}").replace("<id>", id), staff);
            let _ = world.api.send(&call).await.problem(404, "not_found");
        }
    }
}
