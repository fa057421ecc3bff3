//! Reconciliation of a tenant in migration: breaks are found in the model that is the truth, not in the other one.

use super::export::{export, found as found_in, reconciled};
use super::planted::{Found, found, roots, with};
use ledger_core::dynamo::{self, Item};
use ledger_core::migration::{Concern, Model, Phase, Stage};
use ledger_tests::audit::{self, n, opt_text, s, text};
use ledger_tests::http::migrating::phase_of;
use ledger_tests::http::{Customer, Merchant, World};
use serde_json::json;

/// A world, a merchant in it, and a legacy customer who has paid there.
struct Scene {
    world: World,
    shop: Merchant,
    customer: Customer,
}

impl Scene {
    async fn set(tenant: &str, phase: Phase) -> Self {
        let world = World::migrating(tenant, phase).await;
        let shop = world.merchant().await;
        let points = [("point", n(40)), ("co2_total", n("1.5"))];
        let regional = dynamo::Value::M([("aoba".to_owned(), n(7))].into());
        let money = [("balance", n(5000)), ("regional", regional), ("nickname", s("Hana"))];
        let customer = match phase.model() {
            Model::GodRecord => world.legacy_customer(&[&money[..], &points].concat(), &[]).await,
            Model::HalfWay => world.legacy_customer(&money, &points).await,
        };
        let this = Self { world, shop, customer };
        this.pays().await;
        this.world.grant(&this.customer, "POINT", "10").await;
        // A customer that is not adopted has no books, whatever its record holds.
        let _ = this.world.legacy_customer(&[("balance", s("not yet"))], &[]).await;
        this
    }

    async fn pays(&self) {
        let _ = self.world.api.settle(&self.customer.pays(&self.shop, "100")).await.good();
        let _ = self.world.credit().await.expect("the run succeeds");
    }

    async fn row(&self, name: &str) -> Item {
        self.world.row_of(&self.customer, name).await
    }

    fn customers(&self, kind: &str) -> Found {
        found(kind, &format!("customer:{}", self.customer.id))
    }

    async fn assert_clean(&self, why: &str) {
        let report = self.world.reconciled().await;
        assert_eq!(report["status"], "clean", "{why}: {report}");
    }

    /// What a run finds in the table; an export's findings must include it.
    async fn finds(&self, why: &str) -> Found {
        let report = self.world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{why}: {report}");
        let directory = export(&self.world.tenant, &self.world.books().await, |count| count);
        let exported = found_in(&reconciled(&directory).await.expect("an export"));
        let _ = std::fs::remove_dir_all(directory);
        let roots = roots(&report);
        assert!(exported.is_superset(&roots), "{why}: {roots:?} in the table, {exported:?} in its export");
        roots
    }
}

/// The rules of the audit that do not hold.
async fn broken_rules(world: &World) -> Vec<&'static str> {
    world.books().await.findings().into_iter().map(|finding| finding.rule).collect()
}

fn number(row: &Item, name: &str) -> i64 {
    audit::number(row, name).try_into().expect("a whole number")
}

#[tokio::test]
async fn wrong_balance_in_god_record_is_a_break_while_it_is_the_truth() {
    for stage in [Stage::LegacyOnly, Stage::DualWrite] {
        let scene = Scene::set(
            &format!("leaving-{}", stage.name().replace('_', "-")),
            phase_of(Model::GodRecord, Concern::Money, stage),
        )
        .await;
        scene.pays().await;
        let _ = scene.world.check_books().await;
        scene.assert_clean("in order").await;
        let record = scene.row("customer").await;
        assert_eq!((opt_text(&record, "truth_money"), number(&record, "balance")), (Some("legacy"), 4800));
        let more = [("balance", n(4801)), ("balance_exposure", n(4801))];
        with(&scene.world, &record, |row| row.extend(more.map(|(name, value)| (name.to_owned(), value)))).await;
        assert_eq!(scene.finds("one yen").await, scene.customers("balance_differs"));
        assert_eq!(broken_rules(&scene.world).await, ["balances equal postings"]);
        let less = [("balance", n(-1)), ("balance_exposure", n(-1))];
        with(&scene.world, &record, |row| row.extend(less.map(|(name, value)| (name.to_owned(), value)))).await;
        let report = scene.world.reconciled().await;
        assert_eq!(report["breaks"], json!({"balance_differs": 1, "negative_balance": 1}), "{report}");
        scene.world.plant(record).await;
        scene.assert_clean("repaired").await;
    }
}

#[tokio::test]
async fn partial_balance_item_is_no_break_while_god_record_is_the_truth() {
    let scene = Scene::set("leaving-partial", phase_of(Model::GodRecord, Concern::Money, Stage::DualWrite)).await;
    let partial = scene.row("BALANCE#ECOPAY").await;
    assert_eq!((number(&partial, "balance"), number(&partial, "exposure")), (-100, -100), "only what was added");
    let _ = scene.world.check_books().await;
    scene.assert_clean("less than nothing").await;
    for (name, value) in [("exposure", Some(n(3))), ("balance", None), ("held", Some(n(-5))), ("updated_at", None)] {
        with(&scene.world, &partial, |row| {
            drop(row.remove(name));
            row.extend(value.map(|value| (name.to_owned(), value)));
        })
        .await;
        scene.assert_clean(name).await;
    }
}

#[tokio::test]
async fn stale_god_record_is_no_break_after_it_is_left() {
    let scene = Scene::set("leaving-stale", phase_of(Model::GodRecord, Concern::Money, Stage::ReadNew)).await;
    let _ = scene.world.check_books().await;
    scene.assert_clean("in both").await;
    let (record, balance) = (scene.row("customer").await, scene.row("BALANCE#ECOPAY").await);
    assert_eq!((opt_text(&record, "truth_money"), number(&balance, "balance")), (Some("both"), 4900));
    for truth in ["both", "split"] {
        with(&scene.world, &record, |row| {
            row.extend([("balance", n(-7)), ("truth_money", s(truth))].map(|(name, value)| (name.to_owned(), value)));
        })
        .await;
        scene.assert_clean(truth).await;
        // The reconciliation checks the truth against the books; only the audit compares both models.
        let rules: &[_] = if truth == "both" { &["both models agree"] } else { &[] };
        assert_eq!(broken_rules(&scene.world).await, rules, "{truth}");
        let more = [("balance", n(4901)), ("exposure", n(4901))];
        with(&scene.world, &balance, |row| row.extend(more.map(|(name, value)| (name.to_owned(), value)))).await;
        assert_eq!(scene.finds(truth).await, scene.customers("balance_differs"), "{truth}");
        scene.world.plant(balance.clone()).await;
    }
    // A God Record that cannot be read is a break.
    with(&scene.world, &record, |row| drop(row.insert("truth_points".to_owned(), s("somewhere")))).await;
    assert_eq!(
        scene.finds("somewhere").await,
        found("unreadable_item", &format!("customer:{} customer", scene.customer.id))
    );
}

#[tokio::test]
async fn half_way_points_are_checked_in_the_metrics() {
    let scene = Scene::set("leaving-half-way", phase_of(Model::HalfWay, Concern::Points, Stage::DualWrite)).await;
    let _ = scene.world.check_books().await;
    scene.assert_clean("in order").await;
    let metrics = scene.row("METRICS").await;
    assert_eq!(number(&metrics, "point"), 51, "40 that were there, 10, and one for the payment");
    with(&scene.world, &metrics, |row| {
        row.extend([("point", n(52)), ("point_exposure", n(52))].map(|(name, value)| (name.to_owned(), value)));
    })
    .await;
    assert_eq!(scene.finds("one point").await, scene.customers("balance_differs"));
    assert_eq!(broken_rules(&scene.world).await, ["balances equal postings"]);
    scene.world.plant(metrics).await;
    // Points that the God Record still holds from before that model are ignored.
    with(&scene.world, &scene.row("customer").await, |row| drop(row.insert("point".to_owned(), n(99)))).await;
    scene.assert_clean("left over").await;
}

#[tokio::test]
async fn history_line_from_before_the_books_needs_no_entry() {
    let scene = Scene::set("leaving-history", phase_of(Model::GodRecord, Concern::History, Stage::DualWrite)).await;
    let line = "history#1700000000000#pay";
    scene.world.plant_of(&scene.customer, line, &[("amount", n(-500))]).await;
    let reference = scene.world.plant_reference(&scene.customer, line).await;
    let _ = scene.world.check_books().await;
    scene.assert_clean("a line from before the books").await;
    // A history line that names an entry must have that entry.
    let home = s(format!("customer:{}", scene.customer.id));
    let named = [("home", home.clone()), ("principal", home), ("idempotency_key", s("k"))];
    with(&scene.world, &reference, |row| row.extend(named.map(|(name, value)| (name.to_owned(), value)))).await;
    assert_eq!(
        scene.finds("no entry").await,
        found("entry_missing", &format!("transaction:{}", text(&reference, "type").trim_start_matches("TXNREF#")))
    );
}
