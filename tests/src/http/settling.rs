//! A shop whose period can be closed, and a worker that runs settlements behind a wire of the test's own:
//! everything outside answers as the test says.

use super::books::Row;
use super::psp_tap::PspTap;
use super::tap::Tap;
use super::topup_rig::Hand;
use super::world::new_key;
use super::{Answer, Call, Host, Merchant, World, host};
use crate::cloud::gate;
use futures::future::BoxFuture;
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use ledger_core::ops::settlement::{Outcome, Step, Task};
use ledger_local::settlement::{LocalFiles, LocalKyc};
use ledger_runtime::app::App;
use ledger_runtime::metrics::Counting;
use ledger_runtime::problem::Problem;
use ledger_runtime::psp::Stripe;
use ledger_runtime::settlement::{Ended, Sagas, SettlementRef, Settler};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use stripe_simulator::Simulator;

/// A walk that crashes at every turn still ends.
const WALKS_MAX: usize = 200;

/// A shop, and those who settle it.
pub struct Settling {
    /// The tenant.
    pub world: World,
    /// The shop.
    pub merchant: Merchant,
    /// Who checks it.
    pub kyc: LocalKyc,
    /// Where its payouts go.
    pub files: LocalFiles,
    /// The worker's wire to the store.
    pub tap: Tap,
    /// The worker's state.
    pub app: App,
    /// What runs its tasks.
    pub settler: Settler,
    /// What the worker counted.
    pub counting: Counting,
    /// Which sagas it started.
    pub sagas: Noted,
    /// The worker's wire to Stripe.
    pub psp: PspTap,
    /// The worker's clock.
    pub hand: Hand,
    /// The Stripe.
    pub simulator: Simulator,
    /// Where shops are paid.
    destination: Value,
}

impl Settling {
    /// A shop that is paid by bank, of a tenant of its own.
    pub async fn new(tenant: &str) -> Self {
        Self::on(host::shared(), tenant, destination()).await
    }

    /// A shop that is paid through Stripe, on a stack of its own: nothing is delivered but what a test delivers.
    pub async fn by_stripe(tenant: &str) -> Self {
        let shop = Self::on(Host::fresh(), tenant, registered()).await;
        shop.world.hold_deliveries().await;
        shop
    }

    async fn on(host: Arc<Host>, tenant: &str, destination: Value) -> Self {
        let world = World::with_terms(host.clone(), tenant, |_| {}).await;
        let (tap, hand) = (Tap::default(), Hand::default());
        let stack = host.stack();
        let psp = PspTap::over(Stripe::new(stack.stripe(), stack.table()).expect("a client of Stripe"));
        let client = tap.client(stack.dynamodb_url(), true).await;
        let (app, counting) = host::app_with((client, stack.table()), hand.clock(), stack.stripe(), psp.clone());
        let (kyc, files) = (LocalKyc::default(), stack.payouts().clone());
        let sagas = Noted::default();
        let settler = Settler::new(&app, Some(Arc::new(kyc.clone())), Some(Arc::new(files.clone())));
        let simulator = stack.simulator().expect("the simulator").clone();
        let merchant = Self::shop(&world, &destination).await;
        Self { world, merchant, kyc, files, tap, app, settler, counting, sagas, psp, hand, simulator, destination }
    }

    /// Another shop from now on.
    pub async fn next_shop(&mut self) {
        self.merchant = Self::shop(&self.world, &self.destination).await;
    }

    async fn shop(world: &World, destination: &Value) -> Merchant {
        let merchant = world.merchant().await;
        world.change(&format!("/v1/admin/merchants/{}", merchant.id), destination).await;
        merchant
    }

    /// Takes a payment of money.
    pub async fn take(&self, amount: &str) -> String {
        let customer = self.world.customer_with(amount).await;
        self.world.api.settle(&customer.pays(&self.merchant, amount)).await.good().text("/payment_id")
    }

    /// Gives some of a payment back.
    pub async fn refund(&self, payment: &str, amount: &str) {
        let _ = self.world.api.settle(&self.merchant.refunds(payment, amount)).await.good();
    }

    /// Credits the shop with what it took.
    pub async fn credit(&self) {
        let _ = self.world.credit().await.expect("a whole run");
    }

    /// The request that closes the period.
    #[must_use]
    pub fn closing(&self) -> Call {
        closing(&self.world, &self.merchant)
    }

    /// Closes the period.
    pub async fn close(&self) -> SettlementRef {
        opened(&self.world, &self.merchant).await
    }

    /// Starts the sagas that are due, and says how many.
    pub async fn start(&self) -> usize {
        let tenant = Tenant::parse(&self.world.tenant).expect("a slug");
        let started = gate::as_function("jobs", jobs::start_settlements(&self.app, &self.sagas, &tenant)).await;
        started.expect("a whole run").started
    }

    /// Runs one task.
    ///
    /// # Errors
    /// The task's own.
    pub async fn run(&self, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
        run_task(&self.settler, at, task).await
    }

    /// Walks the saga once, as the local stack does, without its pauses.
    pub async fn walk(&self, at: &SettlementRef) -> Ended {
        gate::as_function("settlement", self.settler.walk(at, async |_| {})).await
    }

    /// Runs the saga from the start again and again, each time until a task fails, until it is over. Every
    /// task that succeeds is run twice.
    pub async fn crash_on(&self, at: &SettlementRef) {
        for _ in 0..WALKS_MAX {
            let mut task = Some(Task::Do(Step::Collect));
            while let Some(now) = task {
                let Ok(outcome) = self.run(at, now).await else { break };
                let again = self.run(at, now).await;
                assert!(again.is_err() || again == Ok(outcome) || outcome == Outcome::Again, "{now:?}: {again:?}");
                assert_ne!(outcome, Outcome::Wait, "nobody is waited for");
                task = now.after(outcome);
                if task.is_none() {
                    return;
                }
            }
        }
        panic!("it never ends");
    }

    /// The settlement as the operator sees it.
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

    /// The file of a settlement, if it was stored.
    #[must_use]
    pub fn file(&self, at: &SettlementRef) -> Option<Vec<u8>> {
        self.files.kept().remove(&format!("{}/settlement-{}.txt", self.world.tenant, at.id))
    }

    /// An attribute of the merchant's balance of an asset, `0` if it is not there.
    pub async fn of_balance(&self, asset: &str, attribute: &str) -> String {
        let pk = format!("{}#merchant#{}", self.world.tenant, self.merchant.id);
        let books = self.world.books().await;
        let row: Option<&Row> = books.row(&pk, &format!("BALANCE#{asset}"));
        row.and_then(|row| row.get(attribute)?.as_n().ok()).cloned().unwrap_or_else(|| "0".to_owned())
    }

    /// The shop's payouts at Stripe.
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

/// Takes note of the sagas that are started, and runs none.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<Mutex<Vec<(SettlementRef, u32)>>>);

impl Noted {
    /// Which were started, and for the how manieth time, from 0 on.
    ///
    /// # Panics
    /// Never: nobody panics with it in hand.
    #[must_use]
    pub fn started(&self) -> Vec<(SettlementRef, u32)> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

impl Sagas for Noted {
    fn start<'a>(&'a self, at: &'a SettlementRef, run: u32) -> BoxFuture<'a, Result<(), String>> {
        self.0.lock().expect("nobody panics with it").push((at.clone(), run));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A bank account, as the operator sets it.
#[must_use]
pub fn destination() -> Value {
    json!({"payout_destination": {
        "bank_code": "0009", "bank_name": "ミツイスミトモ", "branch_code": "123", "branch_name": "アオバ",
        "account_type": "ordinary", "account_number": "1234567", "account_holder": "カ）ミドリショウテン",
    }})
}

/// An account that is registered at Stripe, as the operator sets it.
#[must_use]
pub fn registered() -> Value {
    json!({"payout_destination": {"kind": "stripe", "external_account": "ba_1Midori"}})
}

/// A merchant that is paid by bank.
pub async fn payable(world: &World) -> Merchant {
    let merchant = world.merchant().await;
    world.change(&format!("/v1/admin/merchants/{}", merchant.id), &destination()).await;
    merchant
}

/// The path of a settlement of a yen, of which these tasks have been run.
///
/// # Panics
/// When one of them fails.
pub async fn settled(world: &World, tasks: &[Task]) -> String {
    let merchant = payable(world).await;
    let customer = world.customer_with("1").await;
    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.good();
    let _ = world.credit().await.expect("a whole run");
    let at = opened(world, &merchant).await;
    let settler = local_settler(&world.app);
    for task in tasks {
        let _ = run_task(&settler, &at, *task).await.expect("a task");
    }
    format!("/v1/admin/merchants/{}/settlements/{}", merchant.id, at.id)
}

/// A runner of tasks for which every merchant passes its check, and whose files are in memory.
#[must_use]
pub fn local_settler(app: &App) -> Settler {
    Settler::new(app, Some(Arc::new(LocalKyc::default())), Some(Arc::new(LocalFiles::default())))
}

/// Runs one task by a process.
///
/// # Errors
/// The task's own.
pub async fn run_task(settler: &Settler, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
    gate::as_function("settlement", settlement::run(settler, at, task)).await
}

/// Opens a merchant's settlement.
pub async fn opened(world: &World, merchant: &Merchant) -> SettlementRef {
    let id = world.api.settle(&closing(world, merchant)).await.good().text("/settlement_id");
    SettlementRef {
        tenant: Tenant::parse(&world.tenant).expect("a slug"),
        merchant: MerchantId::parse(&merchant.id).expect("an id"),
        id: SettlementId::parse(&id).expect("an id"),
    }
}

fn closing(world: &World, merchant: &Merchant) -> Call {
    let body = json!({"merchant_id": merchant.id, "pay_on": "2026-11-30"});
    Call::post("/v1/admin/settlements", &world.operator.who, &body).key(new_key())
}
