//! A tenant for one test, opened on a running stack: its customers, merchants, cards and money are made through the
//! operator API. A test sees no other test's data.

use super::books;
use super::host::{self, Host};
use super::people::{Customer, Merchant, Operator, Terminal};
use super::tap::{Attempts, Tap};
use super::topup_rig::TestClock;
use super::{Api, Call, Who, approvals, staff};
use crate::audit::Books;
use crate::cloud::gate;
use aws_sdk_dynamodb::Client;
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::migration::{self, Model};
use ledger_core::operation::Operation;
use ledger_core::staff::with_founders;
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::Transaction;
use ledger_local::credential::Credential;
use ledger_local::demo::Demo;
use ledger_local::issuer::Grant;
use ledger_local::stack::simulator_access;
use ledger_local::{clock, seed};
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::ApplyError;
use ledger_runtime::metrics::Counting;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use stripe_simulator::SimulatorConfig;

/// The lifetime of a test's tokens.
const TOKEN_LIFETIME_S: i64 = 12 * 60 * 60;

/// A tenant on a stack.
#[derive(Debug)]
pub struct World {
    /// The tenant's slug.
    pub tenant: String,
    /// The stack's API.
    pub api: Api,
    /// A worker's state over the same table, with its own caches. Its calls are made as a function or as the test: see
    /// [`gate`].
    pub app: App,
    /// The counters of that state.
    pub counting: Counting,
    /// The operator's first member of staff.
    pub operator: Operator,
    /// Another member of staff, for approvals.
    pub second: Operator,
    pub(super) tokens: Tokens,
    dynamodb: Client,
    table: String,
}

/// The source of tokens.
#[derive(Debug)]
pub(super) enum Tokens {
    /// The issuer of a stack in this process, which the world keeps running.
    Host(Arc<Host>),
    /// `/dev/token` of a stack in another process.
    Dev,
}

/// The terms of a test's tenant: the demo's, changed.
pub(super) fn changed_terms(change: impl Fn(&mut TenantTerms)) -> TenantTerms {
    let mut terms = seed::terms().expect("the demo's terms");
    change(&mut terms);
    terms
}

impl World {
    /// A tenant with the demo's terms on the shared stack. No other test may use the slug.
    pub async fn new(tenant: &str) -> Self {
        Self::with_terms(host::shared(), tenant, |_| {}).await
    }

    /// A tenant with the demo's terms on a new stack, for tests that compare every row.
    pub async fn alone(tenant: &str) -> Self {
        Self::with_terms(Host::fresh(), tenant, |_| {}).await
    }

    /// A tenant with changed terms on a stack.
    pub async fn with_terms(host: Arc<Host>, tenant: &str, change: impl Fn(&mut TenantTerms)) -> Self {
        Self::opened(host, tenant, &changed_terms(change), None, Clock::system()).await
    }

    /// A tenant with the demo's terms and a legacy model, in that model's first phase.
    pub async fn legacy(host: Arc<Host>, tenant: &str, model: Model) -> Self {
        Self::of_legacy(host, tenant, model, Clock::system()).await
    }

    /// The same on a stack whose functions use the given clock.
    pub async fn of_legacy(host: Arc<Host>, tenant: &str, model: Model, clock: Clock) -> Self {
        Self::opened(host, tenant, &changed_terms(|_| {}), Some(model), clock).await
    }

    /// Opens a tenant on a host; `model` is the legacy model that it brings.
    pub async fn opened(host: Arc<Host>, name: &str, terms: &TenantTerms, model: Option<Model>, clock: Clock) -> Self {
        let (stack, slug) = (host.stack(), Tenant::parse(name).expect("a slug"));
        let (dynamodb, app, counting) =
            host::clients((stack.dynamodb_url(), stack.table()), stack.stripe(), clock).await;
        let app = app.with_files(Arc::new(stack.downloads().clone()));
        let cx = app.ledger().context(app.now()).expect("a context");
        let config = migration::open_tenant(&slug, terms, model, cx.now).expect("a configuration");
        let owners = [new_id(), new_id()];
        let founders = staff::founders([&owners[0], &owners[1]]);
        let keys = app.ledger().marker_keys().await.expect("keys");
        let config = with_founders(config, &slug, (&founders, &keys), &cx).expect("a configuration");
        gate::as_test(open(&app, &slug, &config)).await;
        let (url, table) = (stack.url(), stack.table().to_owned());
        Self::over((name, &table), &url, (app, counting), dynamodb, (Tokens::Host(host), owners)).await
    }

    /// The demo tenant of a stack in another process.
    pub async fn remote(url: &str, store: (&str, &str)) -> Self {
        let demo = Demo::fixed();
        Self::at(url, store, &demo.tenant, [demo.staff[0].clone(), demo.staff[1].clone()]).await
    }

    /// A tenant of any stack, over its DynamoDB and table, with the ids of two owners of the operator.
    pub async fn at(url: &str, (dynamodb_url, table): (&str, &str), tenant: &str, owners: [String; 2]) -> Self {
        let stripe = simulator_access(url, &SimulatorConfig::default());
        let (dynamodb, app, counting) = host::clients((dynamodb_url, table), &stripe, Clock::system()).await;
        Self::over((tenant, table), url, (app, counting), dynamodb, (Tokens::Dev, owners)).await
    }

    async fn over(
        (tenant, table): (&str, &str),
        url: &str,
        (app, counting): (App, Counting),
        dynamodb: Client,
        (tokens, owners): (Tokens, [String; 2]),
    ) -> Self {
        let [one, two] = owners.map(|id| Operator { id, who: Who::Anonymous });
        let mut world = Self {
            tenant: tenant.to_owned(),
            api: Api::new(url),
            app,
            counting,
            operator: one,
            second: two,
            tokens,
            dynamodb,
            table: table.to_owned(),
        };
        world.operator.who = world.token("admin", &world.operator.id, None).await;
        world.second.who = world.token("admin", &world.second.id, None).await;
        world
    }

    /// A token of this tenant for an API.
    pub async fn token(&self, face: &str, sub: &str, merchant_id: Option<&str>) -> Who {
        match &self.tokens {
            Tokens::Host(_) => self.issue(&self.grant_of(face, sub, merchant_id), clock::epoch_s(), TOKEN_LIFETIME_S),
            Tokens::Dev => {
                let email = staff::email_of(sub);
                let mut body = json!({"tenant": self.tenant, "face": face, "sub": sub, "email": email});
                if let Some(merchant_id) = merchant_id {
                    body["merchant_id"] = json!(merchant_id);
                }
                let issued = self.api.send(&Call::post("/dev/token", &Who::Anonymous, &body)).await.good();
                Who::Bearer(issued.text("/token"))
            }
        }
    }

    /// The stack in this process.
    ///
    /// # Panics
    /// When the stack runs in another process.
    /// The functions' state over a connection that the test controls, by the test's clock.
    pub async fn tapped(&self, tap: &Tap, attempts: Attempts, clock: &TestClock) -> App {
        let (host, table) = (self.host(), self.table.as_str());
        let stack = host.stack();
        tap.app((stack.dynamodb_url(), table), attempts, clock.clock(), stack.stripe()).await.0
    }

    pub(super) fn host(&self) -> Arc<Host> {
        let Tokens::Host(host) = &self.tokens else { panic!("a stack in another process") };
        host.clone()
    }

    /// A token with these claims, issued at `at_s` (Unix seconds) for `lifetime_s` by a stack in this process.
    ///
    /// # Panics
    /// When the stack runs in another process.
    #[must_use]
    pub fn issue(&self, grant: &Grant, at_s: i64, lifetime_s: i64) -> Who {
        Who::Bearer(self.host().stack().issuer().issue(grant, at_s, lifetime_s).expect("a token"))
    }

    /// The claims of a token of this tenant.
    #[must_use]
    pub fn grant_of(&self, face: &str, sub: &str, merchant_id: Option<&str>) -> Grant {
        Grant {
            tenant: self.tenant.clone(),
            sub: sub.to_owned(),
            face: face.to_owned(),
            merchant_id: merchant_id.map(str::to_owned),
            roles: None,
            email: None,
            email_verified: false,
        }
        .with_email(Some(staff::email_of(sub)))
    }

    /// Opens a customer without money.
    pub async fn customer(&self) -> Customer {
        let id = self.make("/v1/admin/customers", &json!({"name": "Hanako"}), "/customer_id").await;
        Customer { who: self.token("customer", &id, None).await, id }
    }

    /// Opens a customer with money.
    pub async fn customer_with(&self, ecopay: &str) -> Customer {
        let customer = self.customer().await;
        self.adjust(&json!({"customer_id": customer.id}), "credit", ecopay).await;
        customer
    }

    /// Registers a merchant.
    pub async fn merchant(&self) -> Merchant {
        staff::owned_merchant(self).await
    }

    /// The demo's merchant with this id, with the token of its owner.
    pub async fn demo_merchant(&self, id: &str) -> Merchant {
        Merchant { who: self.token("merchant", Demo::fixed().shop_owner(), Some(id)).await, id: id.to_owned() }
    }

    /// Issues a card, with or without an owner, and loads it.
    pub async fn card(&self, owner: Option<&Customer>, ecopay: &str) -> String {
        let body = owner.map_or_else(|| json!({}), |owner| json!({"customer_id": owner.id}));
        let id = self.make("/v1/admin/cards", &body, "/card_id").await;
        if ecopay != "0" {
            self.adjust(&json!({"card_id": id}), "credit", ecopay).await;
        }
        id
    }

    /// Registers a merchant's terminal and enrols it.
    pub async fn terminal(&self, merchant: &Merchant) -> Terminal {
        let id = self.make("/v1/admin/terminals", &json!({"merchant_id": merchant.id}), "/terminal_id").await;
        self.enrol(&id).await
    }

    /// Registers a merchant's terminal, enrols it, and allots cash room to it out of its merchant's.
    pub async fn terminal_with_cash(&self, merchant: &Merchant, room: &str) -> Terminal {
        let terminal = self.terminal(merchant).await;
        let _ = self.allot(&terminal, room).await.good();
        terminal
    }

    /// Enrols a terminal with a new key pair, which begins its next epoch.
    pub async fn enrol(&self, id: &str) -> Terminal {
        let path = format!("/v1/admin/terminals/{id}/enrolment");
        let code = approvals::issued(self, &path).await.text("/code");
        let (private_key, public_key) = Credential::key_pair().expect("a key pair");
        let body = json!({"code": code, "public_key": public_key});
        let enrolled = self.api.send(&Call::post("/v1/terminal/enrolments", &Who::Anonymous, &body)).await.good();
        let epoch = enrolled.json()["epoch"].as_u64().expect("an epoch");
        let credential = Credential { tenant: self.tenant.clone(), terminal_id: id.to_owned(), epoch, private_key };
        let who = Who::Terminal(credential.clone());
        Terminal { id: id.to_owned(), credential, who, sequence: AtomicU64::new(1) }
    }

    /// Adjusts a balance: one member of staff requests, another approves.
    pub async fn adjust(&self, account: &Value, direction: &str, amount: &str) {
        let approve = self.approval(account, direction, amount).await;
        let _ = self.api.settle(&approve).await.good();
    }

    /// The request that approves a newly requested adjustment.
    pub async fn approval(&self, account: &Value, direction: &str, amount: &str) -> Call {
        let mut body = json!({
            "direction": direction, "amount": amount, "reason_code": "opening", "note": "for a test",
        });
        for (name, id) in account.as_object().expect("customer_id or card_id") {
            body[name] = id.clone();
        }
        let asked = Call::post("/v1/admin/adjustments", &self.operator.who, &body).key(new_key());
        self.approving(&asked).await
    }

    /// Grants points or regional currency.
    pub async fn grant(&self, customer: &Customer, asset: &str, amount: &str) {
        let body = json!({"customer_id": customer.id, "asset": asset, "amount": amount, "reason": "for a test"});
        let _ = self.operator("/v1/admin/grants", &body).await;
    }

    /// Sends a POST of the operator that must succeed, and approves it as the second one if that is needed.
    pub async fn operator(&self, path: &str, body: &Value) -> super::Answer {
        let answer = self.api.settle(&Call::post(path, &self.operator.who, body).key(new_key())).await.good();
        approvals::approve(self, answer).await
    }

    /// Sends a PATCH of the operator that must succeed, and approves it as the second one if that is needed.
    pub async fn change(&self, path: &str, body: &Value) {
        let answer = self.api.settle(&Call::patch(path, &self.operator.who, body).key(new_key())).await.good();
        let _ = approvals::approve(self, answer).await;
    }

    /// A customer's balance of an asset in the customer API.
    pub async fn balance(&self, customer: &Customer, asset: &str) -> String {
        let balances = self.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
        let all = balances["balances"].as_array().expect("balances").iter();
        let of = all.filter(|balance| balance["asset"] == asset).map(|balance| balance["balance"].as_str());
        of.flatten().next().unwrap_or_else(|| panic!("no {asset} in {balances}")).to_owned()
    }

    /// A card's balance in the operator API.
    pub async fn card_balance(&self, card: &str) -> String {
        let call = Call::get(&format!("/v1/admin/cards/{card}"), &self.operator.who);
        self.api.send(&call).await.good().text("/balance")
    }

    /// The test's own client of the table.
    #[must_use]
    pub fn table(&self) -> &Client {
        &self.dynamodb
    }

    /// The table's name.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.table
    }

    /// The tenant's rows as stored.
    pub async fn books(&self) -> Books {
        books::read(&self.dynamodb, &self.table, &self.tenant).await
    }

    /// Reads the books and audits them.
    pub async fn check_books(&self) -> Books {
        let books = self.books().await;
        books.check();
        // A stack in another process may credit while its rows are read.
        if let Tokens::Host(_) = &self.tokens {
            books.check_credited();
        }
        books
    }

    /// The tenant, as the core names it.
    ///
    /// # Panics
    /// Never: the tenant was opened.
    #[must_use]
    pub fn slug(&self) -> Tenant {
        Tenant::parse(&self.tenant).expect("a slug")
    }

    async fn make(&self, path: &str, body: &Value, id: &str) -> String {
        self.operator(path, body).await.text(id)
    }
}

/// Opens a tenant. On a busy machine a write may outlast its request's timeout, so an unknown outcome is retried.
async fn open(app: &App, tenant: &Tenant, config: &Transaction) {
    let mut unknown = 0;
    loop {
        match app.ledger().apply(tenant, Operation::CustomerOpen, config).await {
            Ok(()) => return,
            Err(ApplyError::Rejected(why)) if why.failure == Failure::AlreadyExists && unknown > 0 => return,
            Err(ApplyError::Problem(why)) if why.code() == "outcome_unknown" && unknown < 5 => unknown += 1,
            Err(why) => panic!("cannot open the tenant: {why:?}"),
        }
    }
}

/// A fresh id: a UUIDv7 with the current time.
#[must_use]
pub fn new_id() -> String {
    let now = Clock::system().now();
    Entropy::system().uuid_v7(now).expect("the system has randomness").to_string()
}

/// A fresh idempotency key, as recommended: a UUIDv7.
#[must_use]
pub fn new_key() -> String {
    new_id()
}
