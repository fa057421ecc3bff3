//! A tenant that comes from a legacy model, on a stack whose clock a test may set forward: so that what takes an
//! operator days takes a test seconds.

use super::books::{Books, text};
use super::host::{self, Host};
use super::{Answer, Call, Customer, Merchant, World};
use crate::cloud::gate;
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::ids::Tenant;
use ledger_core::migration::{Model, Phase, SETTLES, Stage};
use ledger_local::legacy::{self, Legacy};
use ledger_local::stack::TABLE_DEFAULT;
use ledger_runtime::clock::Clock;
use ledger_runtime::lambda::Due;
use ledger_runtime::migration::{self, Settings};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a slice of a test's pass goes on.
const SLICE: Duration = Duration::from_secs(20);

/// Long ago: every function has seen the setting.
const SINCE: &str = "2020-01-01T00:00:00.000Z";

/// What all accounts but `opening_balances` have together, by asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals(BTreeMap<String, Decimal>);

impl Totals {
    /// Of customers in a legacy model whom the ledger has not met, by their items alone.
    ///
    /// # Panics
    /// When an item is not what the fixtures write.
    #[must_use]
    pub fn of_legacy(books: &Books) -> Self {
        let mut totals = Self(BTreeMap::new());
        for row in books.rows.values().filter(|row| ["customer", "METRICS"].contains(&text(row, "type"))) {
            for (name, asset) in [("balance", "ECOPAY"), ("point", "POINT"), ("jcredit", "JCREDIT")] {
                totals.add(asset, row.get(name));
            }
            let currencies = row.get("regional").and_then(|map| map.as_m().ok()).into_iter().flatten();
            currencies.for_each(|(name, value)| totals.add(&format!("REGIONAL#{name}"), Some(value)));
        }
        totals
    }

    /// Of split records: what customers' balance items say, and what the journal says of everybody else.
    ///
    /// # Panics
    /// When a row does not look as the ledger writes it.
    #[must_use]
    pub fn of_split(books: &Books) -> Self {
        let mut totals = Self(BTreeMap::new());
        for (pk, sk, row) in books.under("BALANCE#") {
            if pk.contains("#customer#") {
                let asset = sk.trim_start_matches("BALANCE#");
                ["balance", "held"].iter().for_each(|name| totals.add(asset, row.get(*name)));
            }
        }
        for (_, _, row) in books.under("TXN#") {
            for posting in
                row["postings"].as_l().expect("postings").iter().map(|posting| posting.as_m().expect("a map"))
            {
                let account = text(posting, "account");
                if !account.starts_with("customer:") && account != "opening_balances" {
                    totals.add(text(posting, "asset"), posting.get("delta"));
                }
            }
        }
        totals
    }

    fn add(&mut self, asset: &str, number: Option<&AttributeValue>) {
        let Some(number) = number else { return };
        let number: Decimal = number.as_n().expect("a number").parse().expect("a decimal");
        *self.0.entry(asset.to_owned()).or_default() += number;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(asset, sum)| format!("{asset} {}", sum.normalize())).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The tenant.
#[derive(Debug)]
pub struct Migrating {
    /// Its world.
    pub world: World,
    /// A merchant.
    pub merchant: Merchant,
    /// How many customers stand in the legacy model.
    pub customers: u32,
    model: Model,
    ahead_ms: Arc<AtomicU64>,
}

impl Migrating {
    /// A tenant with so many customers in a legacy model, on a stack of its own.
    pub async fn start(tenant: &str, model: Model, customers: u32) -> Self {
        let ahead_ms = Arc::new(AtomicU64::new(0));
        let ahead = Arc::clone(&ahead_ms);
        let system = Clock::system();
        let clock = Clock::from_fn(move || system.now().plus(Duration::from_millis(ahead.load(Ordering::SeqCst))));
        let functions = clock.clone();
        let host = Host::with_app(|backend| async move { host::app(backend.dynamodb, functions, &backend.stripe).0 });
        let world = World::of_legacy(host, tenant, model, clock).await;
        let slug = Tenant::parse(tenant).expect("a slug");
        let written = legacy::write(world.table(), TABLE_DEFAULT, &slug, Legacy { model, customers }).await;
        written.unwrap_or_else(|error| panic!("the legacy customers are not there: {error}"));
        let merchant = world.merchant().await;
        Self { world, merchant, customers, model, ahead_ms }
    }

    /// A customer of the legacy model.
    pub async fn customer(&self, number: u32) -> Customer {
        let id = legacy::customer(number).to_string();
        Customer { who: self.world.token("customer", &id, None).await, id }
    }

    /// Every phase after the first.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        Phase::all(self.model).skip(1).collect()
    }

    /// Sets the clock forward until everybody has seen the last change.
    pub fn settle(&self) {
        let settles = u64::try_from(SETTLES.as_millis()).expect("minutes");
        self.ahead_ms.fetch_add(settles + 1, Ordering::SeqCst);
    }

    /// Where it stands.
    pub async fn status(&self) -> Value {
        self.world.api.send(&Call::get("/v1/admin/migration", &self.world.operator.who)).await.good().json()
    }

    /// Asks for a phase.
    pub async fn put_phase(&self, number: u8) -> Answer {
        let body = json!({ "phase": number });
        let call = Call::new(http::Method::PUT, "/v1/admin/migration/phase", &self.world.operator.who).json(&body);
        self.world.api.send(&call).await
    }

    /// Enters a phase as an operator does: with the pass that it asks for, and after everybody has seen the one before.
    pub async fn enter(&self, phase: Phase) {
        self.settle();
        match phase.entered_by().map(|(_, stage)| stage) {
            Some(Stage::Backfilled) => self.clean("backfill").await,
            Some(Stage::ReadNew | Stage::NewOnly) => self.clean("verify").await,
            Some(Stage::DualWrite | Stage::LegacyOnly) | None => {}
        }
        let _ = self.put_phase(phase.number()).await.good();
    }

    /// A pass that must find nothing.
    pub async fn clean(&self, kind: &str) {
        let pass = self.pass(kind).await;
        assert_eq!((&pass["status"], &pass["left"]), (&json!("done"), &json!(0)), "{pass}");
    }

    /// A pass, to its end.
    pub async fn pass(&self, kind: &str) -> Value {
        let body = json!({"customers_per_second": 1000});
        let _ = self.world.operator(&format!("/v1/admin/migration/{kind}"), &body).await;
        loop {
            self.slice(SLICE).await;
            let status = self.status().await;
            let passes = status["passes"].as_array().expect("passes").iter();
            let pass = passes.clone().find(|pass| pass["kind"] == kind).expect("the pass");
            if pass["status"] == "done" || pass["status"] == "superseded" {
                return pass.clone();
            }
        }
    }

    /// A slice of whatever is due.
    pub async fn slice(&self, slice: Duration) {
        let due = Due::everything(self.world.slug());
        let settings = Settings { slice, ..Settings::default() };
        let run = migration::run_due(&self.world.app, &due.tenant, settings);
        gate::as_test(run).await.unwrap_or_else(|problem| panic!("a slice failed: {}", problem.body()));
    }

    /// The end of it: the God Records are emptied, and what is left is split records.
    pub async fn contract(&self) {
        self.settle();
        let _ = self.world.operator("/v1/admin/migration/contract", &json!({})).await;
        self.settle();
        self.clean("contract").await;
        assert_eq!(self.status().await["status"], "split");
    }
}

/// The last phase of a model's way.
///
/// # Panics
/// Never: there is a first one.
#[must_use]
pub fn last(model: Model) -> u8 {
    Phase::all(model).last().expect("a phase").number()
}

/// Puts a tenant at a phase, past the ledger, as if it had been there for long. Each time under a fence of its own, so
/// that what was asked for before is of another setting.
///
/// # Panics
/// When the tenant has no configuration.
pub async fn stand_at(world: &World, model: Model, phase: u8, contracting: bool) {
    let books = world.books().await;
    let mut config = books.row(&format!("{}#tenant#root", world.tenant), "CONFIG").expect("a configuration").clone();
    let before = config.get("migration").and_then(|before| before.as_m().ok()?.get("fence")?.as_n().ok());
    let fence = before.map_or(0, |fence| fence.parse::<i64>().expect("a whole number") + 1);
    let mut setting = HashMap::from([
        ("model".to_owned(), AttributeValue::S(model.name().to_owned())),
        ("phase".to_owned(), AttributeValue::N(phase.to_string())),
        ("fence".to_owned(), AttributeValue::N(fence.to_string())),
        ("since".to_owned(), AttributeValue::S(SINCE.to_owned())),
    ]);
    if contracting {
        setting.insert("contracting".to_owned(), AttributeValue::Bool(true));
    }
    config.insert("migration".to_owned(), AttributeValue::M(setting));
    world.plant(config).await;
}
