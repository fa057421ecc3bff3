//! A merchant whose period can be closed, and a settlement worker whose calls to the store and to Stripe a test can
//! fail.

use super::psp_tap::PspTap;
use super::tap::{Attempts, Tap};
use super::terms::{timed, timed_with};
use super::topup_rig::TestClock;
use super::world::new_key;
use super::{Answer, Call, Host, Merchant, World, approvals, host};
use crate::audit::opt_number;
use crate::cloud::gate;
use futures::future::BoxFuture;
use jobs::Progress;
use ledger_core::calendar::{BankDeadline, PaymentWindow};
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use ledger_core::money::Share;
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_core::terms::{CashBonusTerms, CeilingTerms, RegistrationNumber, SettlementTerms, TenantTerms};
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_local::settlement::LocalKyc;
use ledger_runtime::app::App;
use ledger_runtime::metrics::Counting;
use ledger_runtime::problem::Problem;
use ledger_runtime::psp::Stripe;
use ledger_runtime::settlement::{Ended, Sagas, SettlementRef, Settler};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe_simulator::Simulator;

/// The most walks that a saga may take when every task can crash.
const WALKS_MAX: usize = 200;
/// The time at which tenants with a schedule begin.
const SCHEDULED_FROM: &str = "2026-11-28T03:00:00Z";

/// A merchant with what settles it.
pub struct Settling {
    /// The tenant.
    pub world: World,
    /// The merchant.
    pub merchant: Merchant,
    /// The KYC check.
    pub kyc: LocalKyc,
    /// The worker's connection to the table.
    pub tap: Tap,
    /// The worker's state.
    pub app: App,
    /// Runs the saga's tasks.
    pub settler: Settler,
    /// The worker's counters.
    pub counting: Counting,
    /// The sagas that the worker started.
    pub sagas: RecordedSagas,
    /// The worker's connection to Stripe.
    pub psp: PspTap,
    /// The worker's clock.
    pub hand: TestClock,
    /// The Stripe simulator.
    pub simulator: Simulator,
    /// The payout destination of new merchants.
    destination: Value,
}

impl Settling {
    /// A merchant of a new tenant, paid by bank file.
    pub async fn new(tenant: &str) -> Self {
        Self::on(host::shared(), tenant, destination()).await
    }

    /// A merchant paid through Stripe, on a stack of its own where only the test delivers events.
    pub async fn by_stripe(tenant: &str) -> Self {
        let shop = Self::on(Host::fresh(), tenant, registered()).await;
        shop.world.hold_deliveries().await;
        shop
    }

    /// A merchant of a new tenant whose terms have a settlement schedule, paid by bank file. Functions and workers go by the
    /// worker's clock, which begins at noon in Japan on 28 November 2026, whenever the test is run.
    ///
    /// # Panics
    /// When the text is no schedule.
    pub async fn scheduled(tenant: &str, schedule: &str) -> Self {
        let (schedule, clock) = (schedule.parse().expect("a schedule"), TestClock::default());
        clock.set(Timestamp::parse(SCHEDULED_FROM).expect("an instant"));
        let (world, clock) = timed_with(clock, tenant, |terms| terms.settlement_schedule = Some(schedule)).await;
        Self::by(clock, (world.host(), world), destination()).await
    }

    /// The same, paid through Stripe, on a stack of its own where only the test delivers events.
    ///
    /// # Panics
    /// When the text is no schedule.
    pub async fn scheduled_by_stripe(tenant: &str, schedule: &str) -> Self {
        let host = Host::fresh();
        let schedule = schedule.parse().expect("a schedule");
        let change = |terms: &mut TenantTerms| terms.settlement_schedule = Some(schedule);
        let shop = Self::of(host.clone(), World::with_terms(host, tenant, change).await, registered()).await;
        shop.world.hold_deliveries().await;
        shop
    }

    /// A merchant of a new tenant whose operator is registered as an issuer of qualified invoices, paid by bank file.
    ///
    /// # Panics
    /// When the text is no registration number.
    pub async fn registered(tenant: &str, number: &str) -> Self {
        let host = host::shared();
        let registration = Some(RegistrationNumber::parse(number).expect("a registration number"));
        let world = World::with_terms(host.clone(), tenant, |terms| {
            let settlement = terms.settlement.take().unwrap_or_else(SettlementTerms::free);
            terms.settlement = Some(SettlementTerms { registration: registration.clone(), ..settlement });
        })
        .await;
        Self::of(host, world, destination()).await
    }

    /// A merchant of a new tenant whose ceilings are zero until a test sets them and whose cash earns no bonus, paid by bank
    /// file.
    pub async fn without_ceilings(tenant: &str) -> Self {
        let host = host::shared();
        let world = World::with_terms(host.clone(), tenant, |terms| {
            terms.cash_bonus = CashBonusTerms::Never;
            terms.ceilings = CeilingTerms::zero();
        })
        .await;
        Self::of(host, world, destination()).await
    }

    /// The same, whose cash earns a bonus of a tenth once it is covered.
    pub async fn with_bonuses(tenant: &str) -> Self {
        let host = host::shared();
        let world = World::with_terms(host.clone(), tenant, |terms| {
            terms.ceilings = CeilingTerms::zero();
            terms.card_bonus_rate = Share::parse("0.1").expect("a rate");
        })
        .await;
        Self::of(host, world, destination()).await
    }

    async fn on(host: Arc<Host>, tenant: &str, destination: Value) -> Self {
        let world = World::with_terms(host.clone(), tenant, |_| {}).await;
        Self::of(host, world, destination).await
    }

    /// A merchant of a new tenant whose functions and workers go by a clock of the test, paid by bank file.
    pub async fn timed(tenant: &str) -> (Self, TestClock) {
        let (world, clock) = timed(tenant, |_| {}).await;
        let shop = Self::by(clock.clone(), (world.host(), world), destination()).await;
        (shop, clock)
    }

    async fn of(host: Arc<Host>, world: World, destination: Value) -> Self {
        Self::by(TestClock::default(), (host, world), destination).await
    }

    /// With workers that go by a clock.
    async fn by(hand: TestClock, (host, world): (Arc<Host>, World), destination: Value) -> Self {
        let tap = Tap::default();
        let stack = host.stack();
        let psp = PspTap::over(Stripe::new(stack.stripe(), stack.table()).expect("a client of Stripe"));
        let client = tap.client(stack.dynamodb_url(), Attempts::One).await;
        let (app, counting) = host::app_with((client, stack.table()), hand.clock(), stack.stripe(), psp.clone());
        let app = app.with_files(Arc::new(stack.downloads().clone()));
        let kyc = LocalKyc::default();
        let sagas = RecordedSagas::default();
        let settler = Settler::new(&app, Some(Arc::new(kyc.clone())));
        let simulator = stack.simulator().expect("the simulator").clone();
        let merchant = Self::shop(&world, &destination).await;
        Self { world, merchant, kyc, tap, app, settler, counting, sagas, psp, hand, simulator, destination }
    }

    /// Replaces the merchant with a new one.
    pub async fn next_shop(&mut self) {
        self.merchant = Self::shop(&self.world, &self.destination).await;
    }

    async fn shop(world: &World, destination: &Value) -> Merchant {
        let merchant = world.merchant().await;
        pays_to(world, &merchant, destination).await;
        merchant
    }

    /// Takes a payment; returns its id.
    pub async fn take(&self, amount: &str) -> String {
        let customer = self.world.customer_with(amount).await;
        self.world.api.settle(&customer.pays(&self.merchant, amount)).await.good().text("/payment_id")
    }

    /// Refunds part of a payment.
    pub async fn refund(&self, payment: &str, amount: &str) {
        let _ = self.world.api.settle(&self.merchant.refunds(payment, amount)).await.good();
    }

    /// Seals what waits, which credits the merchant.
    pub async fn credit(&self) {
        let _ = self.world.credit().await.expect("the run succeeds");
    }

    /// The request that closes the merchant's period.
    #[must_use]
    pub fn closing(&self) -> Call {
        closing(&self.world, &self.merchant, None)
    }

    /// Closes the merchant's period. It is paid on the first possible day.
    pub async fn close(&self) -> SettlementRef {
        opened(&self.world, &self.merchant).await
    }

    /// Closes the merchant's period, which is paid on a stated day.
    pub async fn close_on(&self, pay_on: &str) -> SettlementRef {
        opened_by(&self.world, &self.merchant, &closing(&self.world, &self.merchant, Some(pay_on))).await
    }

    /// The settlement that a response says was opened.
    #[must_use]
    pub fn named_in(&self, answer: &Answer) -> SettlementRef {
        named(&self.world, &self.merchant, &answer.text("/settlement_id"))
    }

    /// Runs the worker of jobs once, over the connection that a test can fail.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn run_jobs(&self) -> Result<Progress, Problem> {
        gate::as_function("jobs", jobs::run_due(&self.app, &self.world.slug())).await
    }

    /// Starts the sagas that are due; returns their number.
    pub async fn start(&self) -> usize {
        let tenant = Tenant::parse(&self.world.tenant).expect("a slug");
        let started = gate::as_function("jobs", jobs::start_settlements(&self.app, &self.sagas, &tenant)).await;
        started.expect("the run succeeds").started
    }

    /// Runs one task.
    ///
    /// # Errors
    /// The task's error.
    pub async fn run(&self, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
        run_task(&self.settler, at, task).await
    }

    /// Walks the saga once as the local stack does, without pauses.
    pub async fn walk(&self, at: &SettlementRef) -> Ended {
        gate::as_function("settlement", self.settler.walk(at, async |_| {})).await
    }

    /// Walks the saga until it is over, from the start after each failed task. Runs every successful task twice.
    pub async fn crash_on(&self, at: &SettlementRef) {
        for _ in 0..WALKS_MAX {
            let mut task = Some(Task::Do(Step::Collect));
            while let Some(now) = task {
                let Ok(outcome) = self.run(at, now).await else { break };
                let again = self.run(at, now).await;
                assert!(again.is_err() || again == Ok(outcome) || outcome == Outcome::Again, "{now:?}: {again:?}");
                assert_ne!(outcome, Outcome::Wait, "no task of this saga waits");
                task = now.after(outcome);
                if task.is_none() {
                    return;
                }
            }
        }
        panic!("the saga did not end within {WALKS_MAX} walks");
    }

    /// The operator's view of the settlement.
    pub async fn view(&self, at: &SettlementRef) -> Value {
        let path = format!("/v1/admin/merchants/{}/settlements/{}", at.merchant, at.id);
        self.world.api.send(&Call::get(&path, &self.world.operator.who)).await.good().json()
    }

    /// An operator's request about the settlement.
    #[must_use]
    pub fn about(&self, at: &SettlementRef, verb: &str, body: &Value) -> Call {
        let path = format!("/v1/admin/merchants/{}/settlements/{}/{verb}", at.merchant, at.id);
        Call::post(&path, &self.world.operator.who, body).key(new_key())
    }

    /// An attribute of the merchant's balance item of an asset; `0` if it is absent.
    pub async fn of_balance(&self, asset: &str, attribute: &str) -> String {
        let pk = format!("{}#merchant#{}", self.world.tenant, self.merchant.id);
        let books = self.world.books().await;
        let row = books.row(&pk, &format!("BALANCE#{asset}"));
        row.map_or(Decimal::ZERO, |row| opt_number(row, attribute)).to_string()
    }

    /// The merchant's payouts at Stripe.
    #[must_use]
    pub fn payouts(&self) -> Vec<Value> {
        let mut all = self.simulator.payouts();
        all.retain(|payout| payout["metadata"]["ecopay_merchant"] == self.merchant.id);
        all
    }

    /// Sends a request that must succeed.
    pub async fn good(&self, call: &Call) -> Answer {
        self.world.api.settle(call).await.good()
    }
}

/// Records which sagas are started, and runs none.
#[derive(Clone, Debug, Default)]
pub struct RecordedSagas(Arc<Mutex<Vec<(SettlementRef, u32)>>>);

impl RecordedSagas {
    /// The started sagas, each with its number of earlier starts.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    #[must_use]
    pub fn started(&self) -> Vec<(SettlementRef, u32)> {
        self.0.lock().expect("no test panics while it holds the lock").clone()
    }
}

impl Sagas for RecordedSagas {
    fn start<'a>(&'a self, at: &'a SettlementRef, run: u32) -> BoxFuture<'a, Result<(), String>> {
        self.0.lock().expect("no test panics while it holds the lock").push((at.clone(), run));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A bank account as payout destination, in the operator's request.
#[must_use]
pub fn destination() -> Value {
    json!({"payout_destination": {
        "bank_code": "0009", "bank_name": "ミツイスミトモ", "branch_code": "123", "branch_name": "アオバ",
        "account_type": "ordinary", "account_number": "1234567", "account_holder": "カ）ミドリショウテン",
    }})
}

/// An account registered at Stripe as payout destination, in the operator's request.
#[must_use]
pub fn registered() -> Value {
    json!({"payout_destination": {"kind": "stripe", "external_account": "ba_1Midori"}})
}

/// A day on which a merchant that is paid by bank file can be paid, also if another person decides a day later.
///
/// # Panics
/// When the bank holidays of the day are not known.
#[must_use]
pub fn payment_day(world: &World) -> BusinessDate {
    let a_day_later = world.app.now().plus(Duration::from_secs(24 * 60 * 60));
    PaymentWindow::of_bank(a_day_later, &BankDeadline::DEFAULT).expect("known bank holidays").first
}

/// A merchant that is paid by bank file. Where its destination was approved, the day after that has passed.
pub async fn payable(world: &World) -> Merchant {
    let merchant = world.merchant().await;
    pays_to(world, &merchant, &destination()).await;
    merchant
}

/// Sets where a merchant is paid. Where that was approved, the day after it has passed.
pub async fn pays_to(world: &World, merchant: &Merchant, destination: &Value) {
    world.change(&format!("/v1/admin/merchants/{}", merchant.id), destination).await;
    let pk = format!("{}#merchant#{}", world.tenant, merchant.id);
    let mut profile = world.books().await.row(&pk, "PROFILE").cloned().expect("a merchant");
    if profile.remove("payout_from").is_some() {
        world.plant_as_written(profile).await;
    }
}

/// The path of a settlement of one yen, for which these tasks have been run.
///
/// # Panics
/// When a task fails.
pub async fn settled(world: &World, tasks: &[Task]) -> String {
    settled_on(world, tasks, None).await
}

/// The same, paid on a stated day.
pub async fn settled_on(world: &World, tasks: &[Task], pay_on: Option<&str>) -> String {
    let merchant = payable(world).await;
    let customer = world.customer_with("1").await;
    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    let at = opened_by(world, &merchant, &closing(world, &merchant, pay_on)).await;
    let settler = local_settler(&world.app);
    for task in tasks {
        let _ = run_task(&settler, &at, *task).await.expect("a task");
    }
    format!("/v1/admin/merchants/{}/settlements/{}", merchant.id, at.id)
}

/// A runner of tasks for which every merchant passes KYC.
#[must_use]
pub fn local_settler(app: &App) -> Settler {
    Settler::new(app, Some(Arc::new(LocalKyc::default())))
}

/// Runs one task under the settlement function's role.
///
/// # Errors
/// The task's error.
pub async fn run_task(settler: &Settler, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
    gate::as_function("settlement", settlement::run(settler, at, task)).await
}

/// Closes the period of a merchant, which is paid on the first possible day; returns the settlement.
pub async fn opened(world: &World, merchant: &Merchant) -> SettlementRef {
    opened_by(world, merchant, &closing(world, merchant, None)).await
}

async fn opened_by(world: &World, merchant: &Merchant, call: &Call) -> SettlementRef {
    let answer = approvals::approve(world, world.api.settle(call).await.good()).await;
    // A settlement that another person approves has the approval's id.
    let id = answer.text(if answer.status == 202 { "/approval_id" } else { "/settlement_id" });
    named(world, merchant, &id)
}

fn named(world: &World, merchant: &Merchant, id: &str) -> SettlementRef {
    SettlementRef {
        tenant: Tenant::parse(&world.tenant).expect("a slug"),
        merchant: MerchantId::parse(&merchant.id).expect("an id"),
        id: SettlementId::parse(id).expect("an id"),
    }
}

/// The request that closes the period of a merchant, which is paid on a stated day or on the first possible one.
#[must_use]
pub fn closing(world: &World, merchant: &Merchant, pay_on: Option<&str>) -> Call {
    let body = json!({"merchant_id": merchant.id, "pay_on": pay_on});
    Call::post("/v1/admin/settlements", &world.operator.who, &body).key(new_key())
}
