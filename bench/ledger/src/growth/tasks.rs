//! What a measuring process does: requests of the API, and the workers until nothing is due.

mod year;

use super::api::{Api, Caller};
use super::books::{Facts, OBSERVED, contact};
use super::meter::{Meter, plain_client};
use super::progress;
use super::series::Measured;
use crate::process::peak_bytes;
use crate::stats::Latencies;
use clap::ValueEnum;
use futures::future::{BoxFuture, FutureExt};
use ledger_core::events::{DeadLetter, Event};
use ledger_core::ids::{Tenant, TransactionId};
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::cursor::Cursor;
use ledger_runtime::figures;
use ledger_runtime::metrics::Counting;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{EventSink, Publisher, Sent, SinkError};
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::worker::Due;
use ledger_tests::bulk::Contact;
use ledger_tests::http::host;
use ledger_tests::wire::TABLE;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many lines a page of a list has.
const PAGE: usize = 10;
/// How often a request is timed; the median is stated.
const TIMED: usize = 20;
/// How many payments the workers are then run for.
const FEW: u64 = 10;
/// The most entries that the trail of one resource searches.
const TRAIL_ENTRIES_MAX: u64 = 9_000;
/// The time after which folding says how far it is.
const FOLDING_PASS: Duration = Duration::from_secs(60);
/// The most uncredited records that a merchant's balance sums.
const UNCREDITED_MAX: u64 = 10_000;

/// A task of a measuring process. Each has a process of its own, whose memory is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// Reads the merchant's balances while no payment is credited.
    Uncredited,
    /// Publishes all entries, seals all records and credits all payments.
    Sealing,
    /// Reconciles the table.
    Reconciliation,
    /// Reads balances, histories and lists.
    Reads,
    /// Lists and searches customers, and reads the file of one.
    Finding,
    /// Makes a few payments, runs the workers for them, and runs them with nothing due.
    Few,
    /// Folds all entries into the totals of days.
    Folding,
    /// Reads totals, balances at an instant, statements and reports.
    Figures,
}

impl Task {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncredited => "uncredited",
            Self::Sealing => "sealing",
            Self::Reconciliation => "reconciliation",
            Self::Reads => "reads",
            Self::Finding => "finding",
            Self::Few => "few",
            Self::Folding => "folding",
            Self::Figures => "figures",
        }
    }
}

/// A request that reads.
enum Reading {
    Get(String),
    Search(Value),
}

/// The functions and the workers over a table, with what they consume.
struct Bench {
    app: App,
    api: Api,
    meter: Meter,
    /// The same functions over a connection that is not counted, to be timed.
    plain: Api,
    facts: Facts,
    tenant: Tenant,
    directory: PathBuf,
}

/// Performs a task on the table at an endpoint.
///
/// # Errors
/// A sentence that says what failed.
pub async fn run(task: Task, url: &str, facts: Facts, directory: PathBuf) -> Result<Vec<Measured>, String> {
    let bench = Bench::new(url, facts, directory).await?;
    match task {
        Task::Uncredited => bench.uncredited().await,
        Task::Reads => bench.reads().await,
        Task::Finding => bench.finding().await,
        Task::Few => bench.few().await,
        Task::Figures => bench.figures().await,
        Task::Sealing | Task::Reconciliation | Task::Folding => {
            let mut measured = bench.until_nothing_is_due(task).await?;
            measured.peak_bytes = peak_bytes(std::process::id());
            Ok(vec![measured])
        }
    }
}

impl Reading {
    fn get(path: &str) -> Self {
        Self::Get(path.to_owned())
    }

    async fn send(&self, api: &Api, caller: &Caller) -> Result<Value, String> {
        match self {
            Self::Get(path) => api.get(caller, path).await,
            Self::Search(body) => api.search(caller, "/v1/admin/customers/search", body).await,
        }
    }

    /// The request of the page after a cursor.
    fn after(&self, cursor: &str) -> Self {
        match self {
            Self::Get(path) => Self::Get(format!("{path}&cursor={cursor}")),
            Self::Search(body) => {
                let mut body = body.clone();
                body["cursor"] = json!(cursor);
                Self::Search(body)
            }
        }
    }
}

impl Bench {
    async fn new(url: &str, facts: Facts, directory: PathBuf) -> Result<Self, String> {
        let meter = Meter::default();
        let state = |client| host::bare((client, TABLE), Clock::system());
        let (app, counting): (App, Counting) = state(meter.client(url).await);
        let (plain, plain_counting) = state(plain_client(url).await);
        let tenant = Tenant::parse(&facts.tenant).map_err(|error| error.to_string())?;
        let (api, plain) = (Api::new(&app, counting), Api::new(&plain, plain_counting));
        Ok(Self { app, api, meter, plain, facts, tenant, directory })
    }

    fn customer(&self) -> Caller {
        Caller::customer(&self.facts.tenant, &self.facts.customer)
    }

    fn merchant(&self) -> Caller {
        Caller::merchant(&self.facts.tenant, &self.facts.staff, &self.facts.merchant)
    }

    fn staff(&self) -> Caller {
        Caller::staff(&self.facts.tenant, &self.facts.staff)
    }

    /// Sends a request once for the caches, once for the counts, and then several times for the time.
    async fn read(
        &self,
        operation: &str,
        caller: &Caller,
        reading: &Reading,
        lines: usize,
    ) -> Result<Measured, String> {
        for api in [&self.api, &self.plain] {
            let answer = reading.send(api, caller).await?;
            let found = ["items", "timeline"].iter().find_map(|name| answer[*name].as_array()).map_or(0, Vec::len);
            if found < lines {
                return Err(format!("{operation}: {found} lines, of {lines}: the books are not as they should be"));
            }
        }
        let _ = self.meter.take();
        let _ = reading.send(&self.api, caller).await?;
        let counts = self.meter.take();
        let mut times = Vec::new();
        for _ in 0..TIMED {
            let began = Instant::now();
            let _ = reading.send(&self.plain, caller).await?;
            times.push(began.elapsed());
        }
        let micros = Latencies::new(times).percentile(500).as_micros();
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        Ok(Measured { operation: operation.to_owned(), work: 1, counts, micros, peak_bytes: None })
    }

    async fn uncredited(&self) -> Result<Vec<Measured>, String> {
        if self.facts.of_merchant >= UNCREDITED_MAX {
            return Ok(Vec::new());
        }
        let path = Reading::get("/v1/merchant/balances");
        let mut measured = self.read("merchant's balances, nothing credited", &self.merchant(), &path, 0).await?;
        measured.work = self.facts.of_merchant;
        Ok(vec![measured])
    }

    async fn reads(&self) -> Result<Vec<Measured>, String> {
        let after =
            |id: &str| Ok::<_, String>(Cursor::after(TransactionId::parse(id).map_err(|e| e.to_string())?.uuid()));
        let Facts { payment, entry, .. } = &self.facts;
        let list = |path: &str| format!("{path}?limit={PAGE}");
        let last = |path: &str, cursor: Cursor| format!("{path}?limit={PAGE}&cursor={cursor}");
        let (history, payments) = ("/v1/me/transactions", "/v1/merchant/payments");
        let (customer, merchant, staff) = (self.customer(), self.merchant(), self.staff());
        let mut measured = Vec::new();
        for (operation, caller, path, lines) in [
            ("customer's balances", &customer, "/v1/me/balances".to_owned(), 0),
            ("history, first page", &customer, list(history), PAGE),
            ("history, last page", &customer, last(history, after(entry)?), PAGE),
            ("one transaction", &customer, format!("{history}/{entry}"), 0),
            ("merchant's payments, first page", &merchant, list(payments), PAGE),
            ("merchant's payments, last page", &merchant, last(payments, after(payment)?), PAGE),
            ("one payment", &merchant, format!("{payments}/{payment}"), 0),
            ("merchant's balances", &merchant, "/v1/merchant/balances".to_owned(), 0),
            ("acts of the staff, first page", &staff, list("/v1/admin/audit"), 0),
            ("audit trail of a payment", &staff, format!("/v1/admin/audit?resource=payment:{payment}"), 1),
        ] {
            measured.push(self.read(operation, caller, &Reading::Get(path), lines).await?);
        }
        if self.facts.payments < TRAIL_ENTRIES_MAX {
            let body = json!({"amount": "10"});
            let refund = format!("{payments}/{payment}/refunds");
            let _ = self.api.post(&self.app, &merchant, &refund, &body).await?;
            let path = Reading::Get(format!("/v1/admin/audit?resource=payment:{payment}"));
            measured.push(self.read("audit trail of a payment refunded late", &staff, &path, 1).await?);
            // So that the few payments are the only due work afterwards.
            let _ = self.until_nothing_is_due(Task::Sealing).await?;
        }
        Ok(measured)
    }

    async fn finding(&self) -> Result<Vec<Measured>, String> {
        let Contact { name, kana, email, phone } = contact(OBSERVED);
        let beginning = |of: &str| of.split(' ').next().unwrap_or(of).to_owned();
        let by = |field: &str, value: &str| Reading::Search(json!({field: value, "limit": PAGE}));
        let (of_name, of_kana) = (beginning(&name), beginning(&kana.unwrap_or_default()));
        let staff = self.staff();
        let list = format!("/v1/admin/customers?limit={PAGE}");
        let file = format!("/v1/admin/customers/{}/file?limit={PAGE}", self.facts.customer);
        let later = async |first: &Reading| {
            let answer = first.send(&self.api, &staff).await?;
            let cursor = answer["next_cursor"].as_str().ok_or("a first page has no cursor")?.to_owned();
            Ok::<_, String>(first.after(&cursor))
        };
        let mut measured = Vec::new();
        for (operation, reading) in [
            ("customers", Reading::Get(list.clone())),
            ("customers with a status", Reading::Get(format!("{list}&status=active"))),
            ("customers by the beginning of the name", by("name", &of_name)),
            ("customers by the beginning of the kana", by("kana", &of_kana)),
            ("a customer's file", Reading::Get(file)),
        ] {
            let second = later(&reading).await?;
            measured.push(self.read(&format!("{operation}, first page"), &staff, &reading, PAGE).await?);
            measured.push(self.read(&format!("{operation}, second page"), &staff, &second, PAGE).await?);
        }
        for (operation, field, value) in [
            ("a customer by the name", "name", name),
            ("a customer by the telephone number", "phone", phone.unwrap_or_default()),
            ("a customer by the e-mail address", "email", email.unwrap_or_default()),
        ] {
            measured.push(self.read(operation, &staff, &by(field, &value), 1).await?);
        }
        Ok(measured)
    }

    async fn few(&self) -> Result<Vec<Measured>, String> {
        let mut measured = vec![self.pay().await?];
        let task = Task::Sealing;
        measured.push(self.one_pass(task, &format!("{} of {FEW} payments", task.name())).await?);
        measured.push(self.one_pass(task, &format!("{}, nothing due", task.name())).await?);
        Ok(measured)
    }

    /// A payment; counts of one.
    async fn pay(&self) -> Result<Measured, String> {
        let body = json!({"merchant_id": self.facts.merchant, "amount": "100"});
        let (customer, path) = (self.customer(), "/v1/me/payments");
        let paid =
            |answer: Value| answer["payment_id"].is_string().then_some(()).ok_or("a payment has no id".to_owned());
        let (mut times, mut counts) = (Vec::new(), None);
        for _ in 0..FEW {
            let _ = self.meter.take();
            let began = Instant::now();
            paid(self.api.post(&self.app, &customer, path, &body).await?)?;
            times.push(began.elapsed());
            // The first payment also fills the caches.
            counts = Some(self.meter.take());
        }
        let micros = u64::try_from(Latencies::new(times).percentile(500).as_micros()).unwrap_or(u64::MAX);
        let counts = counts.unwrap_or_default();
        Ok(Measured { operation: "payment".to_owned(), work: 1, counts, micros, peak_bytes: None })
    }

    /// Runs a worker once. Its work is one, so that its counts are judged as a whole.
    async fn one_pass(&self, task: Task, operation: &str) -> Result<Measured, String> {
        let _ = self.meter.take();
        let began = Instant::now();
        let _ = self.pass(task).await?;
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let counts = self.meter.take();
        Ok(Measured { operation: operation.to_owned(), work: 1, counts, micros, peak_bytes: None })
    }

    /// Runs a worker until it finds nothing more.
    async fn until_nothing_is_due(&self, task: Task) -> Result<Measured, String> {
        if task == Task::Reconciliation {
            let path = "/v1/admin/reconciliation/runs";
            let _ = self.api.post(&self.app, &self.staff(), path, &json!({})).await?;
        }
        let _ = self.meter.take();
        let (began, mut work) = (Instant::now(), 0);
        loop {
            match self.pass(task).await? {
                0 => break,
                done => work += done,
            }
        }
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let work = if task == Task::Reconciliation { self.facts.payments } else { work };
        Ok(Measured { operation: task.name().to_owned(), work, counts: self.meter.take(), micros, peak_bytes: None })
    }

    /// Runs a worker once; returns how much it did.
    async fn pass(&self, task: Task) -> Result<u64, String> {
        let failed = |problem: Problem| format!("{} failed: {problem:?}", task.name());
        let done = match task {
            Task::Sealing => {
                let publisher = Publisher::new(&self.app, Arc::new(Discard));
                let passed = outbox::pass_due(&self.app, Some(&publisher), &self.tenant).await.map_err(failed)?;
                passed.sealed.records
            }
            Task::Reconciliation => self.reconcile().await?,
            Task::Folding => {
                let folded = figures::run(&self.app, &self.tenant, FOLDING_PASS).await.map_err(failed)?;
                progress(&format!("{} entries are folded", folded.entries));
                usize::try_from(folded.entries).unwrap_or(usize::MAX)
            }
            Task::Uncredited | Task::Reads | Task::Finding | Task::Few | Task::Figures => 0,
        };
        Ok(done as u64)
    }

    async fn reconcile(&self) -> Result<usize, String> {
        let settings = Settings {
            units_per_second: 1_000_000,
            patience: Duration::from_millis(50),
            index_lag: Duration::from_millis(50),
            directory: self.directory.clone(),
            longest: Duration::from_secs(60 * 60),
            nightly: false,
            ..Settings::of(&self.app)
        };
        let due = Due::everything(self.tenant.clone());
        let done = reconcile::run_as((&self.app, &Outlets::default()), &due, &settings).await;
        let done = done.map_err(|problem| format!("reconciliation failed: {problem:?}"))?;
        if done.reconciled.breaks > 0 {
            return Err(format!("reconciliation found {} breaks in the books", done.reconciled.breaks));
        }
        Ok(done.reconciled.runs)
    }
}

/// Takes every event and keeps none.
struct Discard;

impl EventSink for Discard {
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>> {
        std::future::ready(vec![Sent::Taken; events.len()]).boxed()
    }

    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>> {
        std::future::ready(Err(SinkError(letter.why.clone()))).boxed()
    }
}
