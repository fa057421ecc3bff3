//! A tenant that is switched to version 2 of the records while its customers pay. Processes that have read its terms
//! before and after it write side by side, on one customer and one payment, and each reads what both wrote.
use futures::future::join_all;
use ledger_core::dynamo::Value as Stored;
use ledger_core::ids::{Actor as By, Tenant};
use ledger_core::migration;
use ledger_core::operation::Operation;
use ledger_core::terms::RecordVersion;
use ledger_tests::audit::{n, opt_number};
use ledger_tests::cloud::gate;
use ledger_tests::http::topup_rig::{Actor, Rig, Scene};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer, Merchant, World};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::time::Instant;

/// A customer, a merchant, and two processes: one that read the tenant's terms before the switch, one after it.
struct Switched {
    rig: Rig,
    world: World,
    customer: Customer,
    merchant: Merchant,
    writers: [Actor; 2],
    /// When the earlier writer read the terms.
    read_at: Instant,
}

async fn raise(world: &World, to: RecordVersion) {
    let (tenant, ledger) = (Tenant::parse(&world.tenant).expect("a slug"), world.app.ledger());
    let cx = ledger.context(world.app.now()).expect("randomness");
    let raised = migration::raise_records(&tenant, to, By::System, &cx).expect("a transaction");
    gate::as_test(ledger.apply(&tenant, Operation::TenantConfigure, &raised)).await.expect("it is raised");
}

async fn switched(tenant: &str) -> Switched {
    let rig = Rig::new().await;
    let Scene { world, .. } = rig.scene_with(tenant, |terms| terms.records = RecordVersion::V1).await;
    let (customer, merchant) = (world.customer_with("20000").await, world.merchant().await);
    world.grant(&customer, "POINT", "1000").await;
    world.grant(&customer, "REGIONAL#aoba", "2000").await;
    let (before, after) = (rig.actor().await, rig.actor().await);
    // It reads the terms, and keeps them.
    let _ = before.settle(&customer.pays(&merchant, "100")).await.good();
    let read_at = Instant::now();
    raise(&world, RecordVersion::V2).await;
    Switched { rig, world, customer, merchant, writers: [before, after], read_at }
}

impl Switched {
    /// Both writers. The earlier one's clock is set back to when it read the terms, so that it still has them.
    fn writers(&self) -> [&Actor; 2] {
        let [before, after] = &self.writers;
        before.clock.skew_s(-i64::try_from(self.read_at.elapsed().as_secs()).expect("a test's time"));
        [before, after]
    }

    /// The writers in both orders.
    fn orders(&self) -> impl Iterator<Item = [&Actor; 2]> {
        [false, true].into_iter().map(|reversed| {
            let [before, after] = self.writers();
            if reversed { [after, before] } else { [before, after] }
        })
    }

    /// The aggregates, which both processes show alike.
    async fn metrics(&self) -> Value {
        let wallet = Call::get("/v1/me/balances", &self.customer.who);
        let shown = join_all(self.writers().map(|writer| writer.send(&wallet))).await;
        let [before, after] = <[_; 2]>::try_from(shown).expect("two answers");
        let [before, after] = [before, after].map(|answer| answer.good().json()["metrics"].clone());
        assert_eq!(before, after);
        after
    }

    async fn code(&self) -> String {
        self.customer.code(&self.world).await
    }

    /// What `METRICS` counts, and what the balances count beside them.
    async fn counted(&self, name: &str) -> [Decimal; 2] {
        let books = self.world.check_books().await;
        let own = |pk: &str| pk.ends_with(&self.customer.id);
        let sum = |prefix, name: &str| -> Decimal {
            books.under(prefix).filter(|(pk, ..)| own(pk)).map(|(.., row)| opt_number(row, name)).sum()
        };
        [sum("METRICS", name), sum("BALANCE#", &format!("aggregate_{name}"))]
    }
}

#[tokio::test]
async fn payments_and_refunds_of_both_versions_count_together() {
    let scene = switched("records-both").await;
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
    assert_eq!(scene.counted("payments").await, [2, 1].map(Decimal::from), "one writer is of each version");
    assert_eq!(scene.counted("refunds").await, [2, 2].map(Decimal::from));
    assert_eq!(scene.counted("refunded_total").await, [1000, 1000].map(Decimal::from));
}

#[tokio::test]
async fn holds_charges_and_three_assets_of_both_versions_count_together() {
    let scene = switched("records-holds").await;
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
    assert_eq!(scene.counted("payments").await, [4, 3].map(Decimal::from));
}

#[tokio::test]
async fn one_key_sent_to_writers_of_both_versions_pays_once() {
    let scene = switched("records-one-key").await;
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
    let [in_metrics, beside] = scene.counted("payments").await;
    assert_eq!(in_metrics + beside, Decimal::from(17));
    assert!(in_metrics >= Decimal::from(7) && beside >= Decimal::from(6), "{in_metrics} and {beside}");
}

#[tokio::test]
async fn aggregates_beside_an_asset_that_the_tenant_no_longer_has_are_counted() {
    let scene = switched("records-lapsed").await;
    let (customer, merchant) = (&scene.customer, &scene.merchant);
    let regional = json!({"merchant_id": merchant.id, "amount": "500", "asset": "REGIONAL#aoba"});
    let [before, after] = scene.writers();
    for writer in [before, after] {
        let _ = writer.settle(&customer.pays(merchant, "1").json(&regional)).await.good();
    }
    let expected = scene.metrics().await;
    assert_eq!((&expected["payments"], &expected["paid_total"]), (&json!("3"), &json!("1100")));
    let books = scene.world.check_books().await;
    let wallet = books.under("BALANCE#REGIONAL#aoba").find(|(pk, ..)| pk.ends_with(&customer.id)).expect("a balance");
    assert_eq!(opt_number(wallet.2, "aggregate_paid_total"), Decimal::from(500));
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
async fn audit_finds_errors_in_what_either_version_wrote() {
    let scene = switched("records-audit").await;
    for [pays, refunds] in scene.orders() {
        let payment = pays.settle(&scene.customer.pays(&scene.merchant, "1000")).await.good().text("/payment_id");
        let _ = refunds.settle(&scene.merchant.refunds(&payment, "300")).await.good();
    }
    let good = scene.world.check_books().await;
    for (prefix, beside) in [("METRICS", ""), ("BALANCE#ECOPAY", "aggregate_")] {
        for (rule, name) in [
            ("CO2 equals entries", "co2_total"),
            ("aggregates equal payments and refunds", "payments"),
            ("aggregates equal payments and refunds", "paid_total"),
            ("aggregates equal payments and refunds", "refunds"),
            ("aggregates equal payments and refunds", "refunded_total"),
        ] {
            let (mut bad, name) = (good.clone(), format!("{beside}{name}"));
            let found =
                good.under(prefix).find(|(pk, _, row)| pk.ends_with(&scene.customer.id) && row.contains_key(&name));
            let (pk, sk, row) = found.unwrap_or_else(|| panic!("no {name} in {prefix}"));
            let more = opt_number(row, &name) + Decimal::ONE;
            let row = bad.rows.get_mut(&(pk.to_owned(), sk.to_owned())).expect("the row");
            row.insert(name.clone(), n(more));
            let findings = bad.findings();
            assert!(findings.iter().any(|finding| finding.rule == rule), "{name} of {prefix}: {findings:#?}");
        }
    }
}

#[tokio::test]
async fn version_that_this_release_does_not_know_stops_the_tenant() {
    let world = World::new("records-unknown").await;
    let mut config = {
        let books = world.books().await;
        books.row(&format!("{}#tenant#root", world.tenant), "CONFIG").expect("a configuration").clone()
    };
    config.insert("records".to_owned(), n(RecordVersion::NEWEST.number() + 1));
    world.plant(config).await;
    let call = Call::post("/v1/admin/customers", &world.operator.who, &json!({"name": "Hanako"})).key(new_key());
    let _ = world.api.send(&call).await.problem(500, "internal");
}
