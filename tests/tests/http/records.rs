//! A customer's aggregates, which are beside its balances: two processes write side by side, on one customer and one
//! payment, and each reads what both wrote.
use futures::future::join_all;
use ledger_core::dynamo::{Item, Value as Stored};
use ledger_tests::audit::{n, opt_number};
use ledger_tests::http::topup_rig::{Actor, Rig, Scene};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer, Merchant, World};
use rust_decimal::Decimal;
use serde_json::{Value, json};

/// A customer, a merchant, and two processes.
struct Counted {
    rig: Rig,
    world: World,
    customer: Customer,
    merchant: Merchant,
    writers: [Actor; 2],
}

async fn counted(tenant: &str) -> Counted {
    let rig = Rig::new().await;
    let Scene { world, .. } = rig.scene(tenant).await;
    let (customer, merchant) = (world.customer_with("20000").await, world.merchant().await);
    world.grant(&customer, "POINT", "1000").await;
    world.grant(&customer, "REGIONAL#aoba", "2000").await;
    let writers = [rig.actor().await, rig.actor().await];
    let _ = writers[0].settle(&customer.pays(&merchant, "100")).await.good();
    Counted { rig, world, customer, merchant, writers }
}

impl Counted {
    fn writers(&self) -> [&Actor; 2] {
        self.writers.each_ref()
    }

    /// The writers in both orders.
    fn orders(&self) -> impl Iterator<Item = [&Actor; 2]> {
        let [one, other] = self.writers();
        [[one, other], [other, one]].into_iter()
    }

    /// The aggregates, which both processes show alike.
    async fn metrics(&self) -> Value {
        let wallet = Call::get("/v1/me/balances", &self.customer.who);
        let shown = join_all(self.writers().map(|writer| writer.send(&wallet))).await;
        let [one, other] = <[_; 2]>::try_from(shown).expect("two answers");
        let [one, other] = [one, other].map(|answer| answer.good().json()["metrics"].clone());
        assert_eq!(one, other);
        other
    }

    async fn code(&self) -> String {
        self.customer.code(&self.world).await
    }

    /// What the balances count beside them.
    async fn beside(&self, name: &str) -> Decimal {
        let (books, name) = (self.world.check_books().await, format!("aggregate_{name}"));
        let own = books.under("BALANCE#").filter(|(pk, ..)| pk.ends_with(&self.customer.id));
        own.map(|(.., row)| opt_number(row, &name)).sum()
    }
}

#[tokio::test]
async fn payments_and_refunds_of_two_processes_count_together() {
    let scene = counted("records-both").await;
    let (customer, merchant) = (&scene.customer, &scene.merchant);
    // Paid by one, refunded by the other: a part, and the rest.
    for [pays, refunds] in scene.orders() {
        let payment = pays.settle(&customer.pays(merchant, "1000")).await.good().text("/payment_id");
        let _ = refunds.settle(&merchant.refunds(&payment, "300")).await.good();
        let _ = pays.settle(&merchant.refunds(&payment, "700")).await.good();
        let _ = refunds.settle(&merchant.refunds(&payment, "1")).await.problem(400, "over_refund");
        scene.world.check_books().await;
    }
    // The payment of 100, and two that are refunded in full.
    let metrics = scene.metrics().await;
    let expected = json!({
        "co2_kg": "1", "payments": "3", "paid_total": "2100", "refunds": "4", "refunded_total": "2000",
    });
    assert_eq!(metrics, expected);
    assert_eq!(scene.beside("payments").await, Decimal::from(3));
    assert_eq!(scene.beside("refunds").await, Decimal::from(4));
    assert_eq!(scene.beside("refunded_total").await, Decimal::from(2000));
}

#[tokio::test]
async fn holds_charges_and_three_assets_of_two_processes_count_together() {
    let scene = counted("records-holds").await;
    let (customer, merchant) = (&scene.customer, &scene.merchant);
    for [holds, captures] in scene.orders() {
        let authorize = merchant.authorizes(&scene.code().await, "500");
        let payment = holds.settle(&authorize).await.good().text("/payment_id");
        let _ = captures.settle(&merchant.captures(&payment, Some("300"))).await.good();
        let _ = holds.settle(&merchant.refunds(&payment, "100")).await.good();
        let _ = holds.settle(&merchant.charges(&scene.code().await, "50")).await.good();
        scene.world.check_books().await;
    }
    // Scenario 3 of DOMAIN.md: 32.40 kg, less 12.40.
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    for [pays, refunds] in scene.orders() {
        let paid = pays.settle(&customer.pays(merchant, "1").json(&body)).await.good();
        let _ = refunds.settle(&merchant.refunds(&paid.text("/payment_id"), "1240")).await.good();
        scene.world.check_books().await;
    }
    // 1 and, twice, 2 + 0.5 + 20.
    let metrics = scene.metrics().await;
    assert_eq!(
        (&metrics["co2_kg"], &metrics["payments"], &metrics["refunds"]),
        (&json!("46"), &json!("7"), &json!("4"))
    );
    assert_eq!((&metrics["paid_total"], &metrics["refunded_total"]), (&json!("7280"), &json!("2680")));
    assert_eq!(scene.beside("payments").await, Decimal::from(7));
}

#[tokio::test]
async fn one_key_sent_to_two_processes_pays_once() {
    let scene = counted("records-one-key").await;
    let (customer, merchant) = (&scene.customer, &scene.merchant);
    for _ in 0..4 {
        let call = customer.pays(merchant, "10");
        let sent = (0..8).flat_map(|_| scene.writers().map(|writer| writer.settle(&call)));
        let answers = join_all(sent).await;
        let first = answers.first().expect("an answer").clone().good();
        assert!(answers.iter().all(|answer| answer.stored() == first.stored()), "{answers:?}");
    }
    let calls: Vec<Call> = (0..12).map(|_| customer.pays(merchant, "10").key(new_key())).collect();
    let writers = scene.writers();
    let sent = calls.iter().zip(writers.iter().cycle()).map(|(call, writer)| writer.settle(call));
    for answer in join_all(sent).await {
        let _ = answer.good();
    }
    let metrics = scene.metrics().await;
    assert_eq!((&metrics["payments"], &metrics["paid_total"]), (&json!("17"), &json!("260")));
    assert_eq!(scene.beside("payments").await, Decimal::from(17));
}

#[tokio::test]
async fn aggregates_beside_an_asset_that_the_tenant_no_longer_has_are_counted() {
    let scene = counted("records-lapsed").await;
    let (customer, merchant) = (&scene.customer, &scene.merchant);
    let regional = json!({"merchant_id": merchant.id, "amount": "500", "asset": "REGIONAL#aoba"});
    for writer in scene.writers() {
        let _ = writer.settle(&customer.pays(merchant, "1").json(&regional)).await.good();
    }
    let expected = scene.metrics().await;
    assert_eq!((&expected["payments"], &expected["paid_total"]), (&json!("3"), &json!("1100")));
    let books = scene.world.check_books().await;
    let wallet = books.under("BALANCE#REGIONAL#aoba").find(|(pk, ..)| pk.ends_with(&customer.id)).expect("a balance");
    assert_eq!(opt_number(wallet.2, "aggregate_paid_total"), Decimal::from(1000));
    let mut config =
        books.row(&format!("{}#tenant#root", scene.world.tenant), "CONFIG").expect("a configuration").clone();
    let Some(Stored::M(assets)) = config.get_mut("assets") else { panic!("no assets") };
    assert!(assets.remove("REGIONAL#aoba").is_some());
    scene.world.plant(config).await;
    let reader = scene.rig.actor().await;
    let wallet = reader.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
    assert_eq!(wallet["metrics"], expected);
}

#[tokio::test]
async fn audit_finds_errors_in_aggregates() {
    let scene = counted("records-audit").await;
    for [pays, refunds] in scene.orders() {
        let payment = pays.settle(&scene.customer.pays(&scene.merchant, "1000")).await.good().text("/payment_id");
        let _ = refunds.settle(&scene.merchant.refunds(&payment, "300")).await.good();
    }
    let good = scene.world.check_books().await;
    for (rule, name) in [
        ("CO2 equals entries", "aggregate_co2_total"),
        ("aggregates equal payments and refunds", "aggregate_payments"),
        ("aggregates equal payments and refunds", "aggregate_paid_total"),
        ("aggregates equal payments and refunds", "aggregate_refunds"),
        ("aggregates equal payments and refunds", "aggregate_refunded_total"),
    ] {
        let mut bad = good.clone();
        let own = |pk: &str, row: &Item| pk.ends_with(&scene.customer.id) && row.contains_key(name);
        let found = good.under("BALANCE#ECOPAY").find(|(pk, _, row)| own(pk, row));
        let (pk, sk, row) = found.unwrap_or_else(|| panic!("no {name}"));
        let more = opt_number(row, name) + Decimal::ONE;
        let row = bad.rows.get_mut(&(pk.to_owned(), sk.to_owned())).expect("the row");
        row.insert(name.to_owned(), n(more));
        let findings = bad.findings();
        assert!(findings.iter().any(|finding| finding.rule == rule), "{name}: {findings:#?}");
    }
}
