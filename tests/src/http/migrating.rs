//! Tenants that migrate from a legacy model: put at a phase directly, or moved through all phases on a stack whose
//! clock the test advances.

use super::host::{self, Host};
use super::topup_rig::TestClock;
use super::world::{new_id, new_key};
use super::{Answer, Call, Customer, Merchant, World};
use crate::audit::{Books, n, number, s, text};
use ledger_core::dynamo::{self, Item};
use ledger_core::ids::TransactionId;
use ledger_core::keys::{GOD_RECORD, sk};
use ledger_core::migration::{Concern, Model, Phase, SETTLES, Stage};
use ledger_core::time::Timestamp;
use ledger_local::legacy::{self, Legacy};
use ledger_runtime::migration::Migrated;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use uuid::Uuid;

/// The duration of one slice of a test's pass.
const SLICE: Duration = Duration::from_secs(20);

/// Long enough ago that no function has an earlier setting cached.
const SINCE: &str = "2020-01-01T00:00:00.000Z";

/// The last phase of a model.
///
/// # Panics
/// Never: each model has phases.
#[must_use]
pub fn last(model: Model) -> Phase {
    Phase::all(model).last().expect("a phase")
}

/// The first phase of a model in which a concern is at a stage.
///
/// # Panics
/// When no phase has the concern at that stage.
#[must_use]
pub fn phase_of(model: Model, concern: Concern, stage: Stage) -> Phase {
    Phase::all(model).find(|phase| phase.stage(concern) == stage).unwrap_or_else(|| panic!("no {stage:?}"))
}

impl World {
    /// A tenant of the shared stack that begins at a phase.
    pub async fn migrating(tenant: &str, phase: Phase) -> Self {
        let world = Self::legacy(host::shared(), tenant, phase.model()).await;
        world.set_phase(phase).await;
        world
    }

    /// Puts the tenant at a phase directly in the table, as if entered long ago. Each call sets a new fence, so that
    /// earlier passes belong to another setting.
    ///
    /// # Panics
    /// When the tenant has no configuration.
    pub async fn set_phase(&self, phase: Phase) {
        self.set_migration(phase, None).await;
    }

    /// Puts the tenant in its last phase with the contract pass begun.
    ///
    /// # Panics
    /// When the tenant has no configuration.
    pub async fn set_contracting(&self, model: Model) {
        self.set_migration(last(model), Some(("contracting", dynamo::Value::Bool(true)))).await;
    }

    async fn set_migration(&self, phase: Phase, more: Option<(&str, dynamo::Value)>) {
        let books = self.books().await;
        let mut config = books.row(&format!("{}#tenant#root", self.tenant), "CONFIG").expect("a configuration").clone();
        let fence = match config.get("migration") {
            Some(dynamo::Value::M(before)) => number(before, "fence") + Decimal::ONE,
            _ => Decimal::ZERO,
        };
        let setting = [
            ("model", s(phase.model().name())),
            ("phase", n(phase.number())),
            ("fence", n(fence)),
            ("since", s(SINCE)),
        ];
        let setting: Item = setting.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect();
        config.insert("migration".to_owned(), dynamo::Value::M(setting));
        self.plant(config).await;
    }

    /// The operator's view of the tenant's migration.
    pub async fn migration(&self) -> Value {
        self.api.send(&Call::get("/v1/admin/migration", &self.operator.who)).await.good().json()
    }

    /// Requests a phase.
    pub async fn put_phase(&self, number: u8) -> Answer {
        let put = Call::new(http::Method::PUT, "/v1/admin/migration/phase", &self.operator.who);
        self.api.settle(&put.json(&json!({ "phase": number }))).await
    }

    /// Requests a pass.
    pub async fn request_pass(&self, kind: &str, body: &Value) -> Answer {
        let path = format!("/v1/admin/migration/{kind}");
        self.api.settle(&Call::post(&path, &self.operator.who, body).key(new_key())).await
    }

    /// The last pass of a kind in the operator's view.
    ///
    /// # Panics
    /// When there is no pass of that kind.
    pub async fn last_pass(&self, kind: &str) -> Value {
        let view = self.migration().await;
        let mut passes = view["passes"].as_array().expect("passes").iter();
        passes.find(|pass| pass["kind"] == kind).cloned().unwrap_or_else(|| panic!("no {kind} in {view}"))
    }

    /// Writes a customer of the legacy model whom the ledger has not adopted.
    pub async fn legacy_customer(
        &self,
        record: &[(&str, dynamo::Value)],
        metrics: &[(&str, dynamo::Value)],
    ) -> Customer {
        let id = new_id();
        let customer = Customer { who: self.token("customer", &id, None).await, id };
        let named = [("name", s("Hanako")), ("email", s("hanako@example.com"))];
        self.plant_of(&customer, GOD_RECORD, &[&named[..], record].concat()).await;
        if !metrics.is_empty() {
            self.plant_of(&customer, "METRICS", metrics).await;
        }
        customer
    }

    /// A customer's row as stored.
    ///
    /// # Panics
    /// When the row does not exist.
    pub async fn row_of(&self, customer: &Customer, name: &str) -> Item {
        let row = self.books().await.row(&self.pk_of(customer), name).cloned();
        row.unwrap_or_else(|| panic!("no {name}"))
    }

    /// Writes a row of a customer directly in the table.
    pub async fn plant_of(&self, customer: &Customer, name: &str, more: &[(&str, dynamo::Value)]) -> Item {
        let keys = [("uuid", s(self.pk_of(customer))), ("type", s(name))];
        let row: Item = keys.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.plant(row.clone()).await;
        row
    }

    /// Writes the reference to a row of a customer's legacy history, as a backfill does.
    ///
    /// # Panics
    /// When the row does not exist or has no time.
    pub async fn plant_reference(&self, customer: &Customer, name: &str) -> Item {
        let legacy = self.row_of(customer, name).await;
        let parsed = name.strip_prefix(sk::HISTORY).and_then(|rest| rest.split_once('#'));
        let (millis, operation) = parsed.expect("an instant and an operation");
        let at = Timestamp::from_millis(millis.parse().expect("an instant"));
        let id = TransactionId::of_step(Uuid::parse_str(&customer.id).expect("an id"), name, at);
        let kept = legacy.iter().filter(|(name, _)| *name == "amount");
        let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let dynamo::Value::N(amount) = &legacy["amount"] else { panic!("an amount that is a number") };
        let sign = if amount.starts_with('-') { "" } else { "+" };
        let mut attributes = vec![
            ("op", s(operation)),
            ("ca", dynamo::Value::int(at.millis())),
            ("ch", s(format!("{sign}{amount}"))),
            ("legacy_sk", s(name)),
            ("legacy", dynamo::Value::M(kept)),
        ];
        let memo = |text: &dynamo::Value| dynamo::Value::M(Item::from([("text".to_owned(), text.clone())]));
        attributes.extend(legacy.get("memo").map(|text| ("_memo", memo(text))));
        self.plant_of(customer, &format!("TXNREF#{id}"), &attributes).await
    }

    fn pk_of(&self, customer: &Customer) -> String {
        format!("{}#customer#{}", self.tenant, customer.id)
    }
}

/// A tenant that goes through all phases.
#[derive(Debug)]
pub struct Migrating {
    /// The tenant.
    pub world: World,
    /// A merchant.
    pub merchant: Merchant,
    /// The number of customers in the legacy model.
    pub customers: u32,
    model: Model,
    test_clock: TestClock,
}

impl Migrating {
    /// A tenant with `customers` customers in a legacy model, on a stack of its own.
    pub async fn start(tenant: &str, model: Model, customers: u32) -> Self {
        let test_clock = TestClock::default();
        let clock = test_clock.clock();
        let functions = clock.clone();
        let host = Host::with_app(|backend| async move {
            host::app((backend.dynamodb, &backend.table), functions, &backend.stripe)
        });
        let world = World::of_legacy(host, tenant, model, clock).await;
        let written =
            legacy::write(world.table(), world.table_name(), &world.slug(), Legacy { model, customers }).await;
        written.unwrap_or_else(|error| panic!("the legacy customers cannot be written: {error}"));
        let merchant = world.merchant().await;
        Self { world, merchant, customers, model, test_clock }
    }

    /// The legacy customer of this number.
    pub async fn customer(&self, number: u32) -> Customer {
        let id = legacy::customer(number).to_string();
        Customer { who: self.world.token("customer", &id, None).await, id }
    }

    /// Every phase after the first.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        Phase::all(self.model).skip(1).collect()
    }

    /// Advances the clock until every function has read the last change.
    pub fn settle(&self) {
        self.test_clock.forward(SETTLES + Duration::from_millis(1));
    }

    /// Enters a phase as an operator does, after every function has read the one before. Returns the pass that the
    /// phase requires, if any.
    pub async fn enter(&self, phase: Phase) -> Option<Value> {
        self.settle();
        let pass = match phase.entered_by().map(|(_, stage)| stage) {
            Some(Stage::Backfilled) => Some(self.clean("backfill").await),
            Some(Stage::ReadNew | Stage::NewOnly) => Some(self.clean("verify").await),
            Some(Stage::DualWrite | Stage::LegacyOnly) | None => None,
        };
        let _ = self.world.put_phase(phase.number()).await.good();
        pass
    }

    /// Runs a pass that must finish without findings.
    pub async fn clean(&self, kind: &str) -> Value {
        let pass = self.pass(kind).await;
        assert_eq!((&pass["status"], &pass["failed"]), (&json!("done"), &json!(0)), "{pass}");
        pass
    }

    /// Runs a pass to its end.
    ///
    /// # Panics
    /// When the functions have not read the last change of the migration: the pass would wait for them.
    pub async fn pass(&self, kind: &str) -> Value {
        let _ = self.world.request_pass(kind, &json!({"customers_per_second": 1000})).await.good();
        loop {
            let migrated = self.slice(SLICE).await;
            let pass = self.world.last_pass(kind).await;
            if pass["status"] == "done" || pass["status"] == "superseded" {
                return pass;
            }
            assert_ne!(migrated, Migrated::default(), "the {kind} pass does not begin: advance the clock first");
        }
    }

    /// Runs one slice of the passes that are due.
    pub async fn slice(&self, slice: Duration) -> Migrated {
        let run = self.world.migrate_for(slice).await;
        run.unwrap_or_else(|problem| panic!("a slice failed: {}", problem.body()))
    }

    /// Runs the contract pass, after which only split records are left; returns the pass.
    pub async fn contract(&self) -> Value {
        self.settle();
        let _ = self.world.request_pass("contract", &json!({})).await.good();
        self.settle();
        let pass = self.clean("contract").await;
        assert_eq!(self.world.migration().await["status"], "split");
        pass
    }
}

/// The sum over all accounts but `opening_balances`, by asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals(BTreeMap<String, Decimal>);

impl Totals {
    /// The totals of legacy customers before adoption, from their items alone.
    ///
    /// # Panics
    /// When an item does not have the form that the fixtures write.
    #[must_use]
    pub fn of_legacy(books: &Books) -> Self {
        let mut totals = Self(BTreeMap::new());
        for row in books.rows.values().filter(|row| ["customer", "METRICS"].contains(&text(row, "type"))) {
            for (name, asset) in [("balance", "ECOPAY"), ("point", "POINT"), ("jcredit", "JCREDIT")] {
                totals.add(asset, row, name);
            }
            if let Some(dynamo::Value::M(currencies)) = row.get("regional") {
                currencies.keys().for_each(|name| totals.add(&format!("REGIONAL#{name}"), currencies, name));
            }
        }
        totals
    }

    /// The totals of split records: balance items for customers, the journal for all other accounts.
    ///
    /// # Panics
    /// When a row does not have the form that the ledger writes.
    #[must_use]
    pub fn of_split(books: &Books) -> Self {
        let mut totals = Self(BTreeMap::new());
        for (pk, sk, row) in books.under("BALANCE#") {
            if pk.contains("#customer#") {
                let asset = sk.trim_start_matches("BALANCE#");
                ["balance", "held"].iter().for_each(|name| totals.add(asset, row, name));
            }
        }
        for ((account, asset), sum) in books.audit().sums_by_account() {
            if !account.starts_with("customer:") && account != "opening_balances" {
                *totals.0.entry(asset).or_default() += sum;
            }
        }
        totals
    }

    fn add(&mut self, asset: &str, row: &Item, name: &str) {
        if row.contains_key(name) {
            *self.0.entry(asset.to_owned()).or_default() += number(row, name);
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(asset, sum)| format!("{asset} {}", sum.normalize())).collect();
        f.write_str(&parts.join(", "))
    }
}
